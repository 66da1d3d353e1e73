"""What of recorded turns needs judges that are busy, or more of their time than one request has."""

import json
import threading
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import pytest

from dashboard.agents.schema_validation.judge_overload import BUSY, SPENT_BY_REQUEST, JudgesBusy, JudgingSpent
from dashboard.ingest import services
from dashboard.ingest.logs import services as logs
from dashboard.ingest.span_store import Trace
from dashboard.ingest.turn_files import import_runner
from dashboard.ingest.turn_files.import_lock import ImportBusyError
from dashboard.tools.mcp import responses


def raising(error: BaseException) -> Any:
    def fails(*_: object, **__: object) -> Any:
        raise error

    return fails


def trace() -> Trace:
    made = Trace(uuid4())
    made.seen.append(SimpleNamespace(span=SimpleNamespace(id="00f067aa0ba902b7")))  # type: ignore[arg-type]
    return made


def test_a_trace_beyond_the_budget_is_told_as_unread_and_keeps_no_other_back(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(services, "turns_of", raising(JudgingSpent()))
    costly = trace()
    assert services._turns(costly, "sender") is None
    assert costly.unread == {"00f067aa0ba902b7"}
    assert costly.costly


def test_a_trace_for_which_judges_are_busy_is_neither_stored_nor_unread(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(services, "turns_of", raising(JudgesBusy()))
    with pytest.raises(JudgesBusy):
        services._turns(trace(), "sender")


def test_a_record_of_a_log_beyond_the_budget_is_refused_by_its_line(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(logs, "turns_of", raising(JudgingSpent()))
    episode: Any = SimpleNamespace(key="k", seen=[], parents={}, line=7)
    made, _, faults = logs._made({uuid4(): episode}, uuid4(), uuid4(), {})
    assert made == {}
    assert [(fault.line, fault.words) for fault in faults] == [(7, SPENT_BY_REQUEST)]


def said(*lines: Any) -> Any:
    return SimpleNamespace(stdout=[json.dumps(line).encode() for line in lines])


def test_an_import_that_finds_judges_busy_is_to_be_tried_again():
    with pytest.raises(ImportBusyError, match="Try again"):
        import_runner._heard(said({"busy": BUSY}), threading.Event())


def test_of_a_zip_what_was_done_before_is_told():
    refused = {"name": "a.json", "faults": [["", "no"]]}
    found = import_runner._heard(said({"bundle": True}, refused, {"busy": BUSY}), threading.Event())
    assert [(one.name, one.faults[0][1]) for one in found.outcomes] == [("a.json", "no"), (import_runner.REST, BUSY)]


def test_a_server_whose_tools_cost_too_much_offers_the_rest(monkeypatch: pytest.MonkeyPatch):
    def judged(schema: Any) -> None:
        if schema.get("title") == "costly":
            raise JudgingSpent

    monkeypatch.setattr(responses, "json_schema_valid", judged)
    tools: Any = [responses.Tool(name=name, input_schema={"title": name}) for name in ("plain", "costly")]
    offer = responses.offered(tools)
    assert [tool["name"] for tool in offer.tools] == ["plain"]
    assert offer.left_out == [f"costly: {SPENT_BY_REQUEST}"]
