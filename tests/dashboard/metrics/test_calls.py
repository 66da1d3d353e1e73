"""The gateway's calls: each counted once, under labels that nobody can multiply, and logged as fields."""

from dataclasses import replace
from uuid import uuid4

import pytest
from structlog.testing import capture_logs

from agentcore.messages import ReasonSighting
from agentcore.reasons import NormalizedStopReason
from dashboard.metrics import calls, labels
from dashboard.metrics.calls import CallSeen, count_call, trail_words
from dashboard.metrics.counters import REGISTRY

TRAIL = (
    ReasonSighting("chunk", "length", NormalizedStopReason.MAX_TOKENS, 1),
    ReasonSighting("final_object", None, NormalizedStopReason.UNKNOWN, 0),
)
CALL = CallSeen(
    turn_id=uuid4(),
    caller="notebook",
    mode="continue",
    provider="openai",
    shown="simulator",
    model="counted-here",
    status=200,
    finish_reason="stop",
    source="chunk",
    trail=TRAIL,
    stream=True,
    continued=True,
    disconnected=False,
    overhead_us=1_500,
)


@pytest.fixture(autouse=True)
def nothing_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(labels, "_known", {})


def counted(**labels: str) -> float:
    whole = {"provider": "openai", "model": "counted-here", "mode": "continue", "source": "chunk", **labels}
    return REGISTRY.get_sample_value("whystop_gateway_calls_total", whole) or 0.0


def took(name: str, **labels: str) -> float:
    return REGISTRY.get_sample_value(f"whystop_gateway_overhead_seconds_{name}", labels) or 0.0


def test_a_call_is_counted_by_its_returned_reason_and_its_cause():
    before = counted(finish_reason="stop")
    spent = took("sum", mode="continue", form="stream")
    count_call(CALL)
    assert counted(finish_reason="stop") == before + 1
    assert took("sum", mode="continue", form="stream") == pytest.approx(spent + 0.0015)


def test_a_call_without_a_reason_counts_as_none_and_an_unknown_reason_as_other():
    before = counted(finish_reason="none", source="none"), counted(finish_reason="other")
    count_call(replace(CALL, finish_reason=None, source="", status=502))
    count_call(replace(CALL, finish_reason="because"))
    assert (counted(finish_reason="none", source="none"), counted(finish_reason="other")) == (
        before[0] + 1,
        before[1] + 1,
    )


def test_a_call_is_logged_as_fields_with_its_trail(caplog: pytest.LogCaptureFixture):
    caplog.set_level("INFO", calls.LOGGER)
    with capture_logs() as lines:
        count_call(CALL)
    (line,) = lines
    assert line["event"] == "gateway_call"
    assert line["turn"] == str(CALL.turn_id)
    assert (line["finish_reason"], line["source"], line["caller"]) == ("stop", "chunk", "notebook")
    assert line["provider"] == "simulator"
    assert line["trail"] == "chunk:length=max_tokens final_object:=unknown"
    assert trail_words(()) == "none"


def test_below_its_level_nothing_is_logged(caplog: pytest.LogCaptureFixture):
    caplog.set_level("WARNING", calls.LOGGER)
    with capture_logs() as lines:
        count_call(CALL)
    assert lines == []
