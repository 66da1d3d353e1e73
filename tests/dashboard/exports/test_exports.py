"""Turns of any filter as a file, by page, API and command."""

import asyncio
import gc
import io
import json
import logging
import tracemalloc
from collections.abc import AsyncIterator, Iterator
from http.client import IncompleteRead
from io import StringIO
from itertools import repeat
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone
from structlog.testing import capture_logs

from dashboard.accounts import session_watch
from dashboard.accounts.audit import views as audit_views
from dashboard.accounts.audit.models import Entry
from dashboard.accounts.models import ApiToken, User
from dashboard.accounts.services import bootstrap_token_ensure
from dashboard.accounts.session_watch import AccessEndedError, Ticket
from dashboard.agents.selectors import project_default
from dashboard.exports import formats, turn_rows
from dashboard.exports import parquet as writing
from dashboard.exports.columns import ATTEMPT, NO_REASONING, TOKENS, TURN
from dashboard.exports.formats import _sent, file_of
from dashboard.live.services import turn_start
from dashboard.live.stream_limits import Caller
from dashboard.turns.filters import TimelineFilters
from dashboard.turns.models import Attempt
from tests.dashboard.api.test_timeline import make_turns
from tests.dashboard.driving import AgentOf, Play, drive
from tests.dashboard.test_damaged_turns import damaged
from tests.dashboard.website import TOKEN, until, website

pytestmark = pytest.mark.django_db(transaction=True)
NAMES = [column.name for column in TURN]


def file(named: str, **filters: object) -> bytes:
    return b"".join(file_of(project=project_default(), filters=TimelineFilters(**filters), named=named))


def lines(**filters: object) -> list[dict]:
    return [json.loads(line) for line in file("jsonl", **filters).splitlines()]


def parquet(source: io.BytesIO | Path) -> Any:
    """pyarrow is loaded where it is needed alone, as in service. It starts a thread, so `split_workers` cannot."""
    from pyarrow.parquet import ParquetFile

    return ParquetFile(source)


def rows(content: bytes) -> list[dict]:
    return parquet(io.BytesIO(content)).read().to_pylist()


def peak(named: str) -> int:
    """The most bytes that Python had at once while a file of all turns was written."""
    tracemalloc.start()
    for _ in file_of(project=project_default(), filters=TimelineFilters(), named=named):
        pass
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return most


def turns_with_an_attempt(count: int, **said: object) -> None:
    called = {
        "kind": "initial",
        "iteration": 1,
        "provider": "openai",
        "model": "m",
        "request": {},
        "request_sha256": "",
    }
    for turn_id in make_turns(*["a"] * count, output_text="cut", attempts=1):
        Attempt.objects.create(turn_id=turn_id, index=1, request_url="", started_at=timezone.now(), **called, **said)


def test_a_line_describes_a_turn_and_each_of_its_attempts(play: Play):
    turn = play("sim-essay", max_tokens=60)
    (line,) = lines()
    assert list(line) == NAMES
    assert [line["id"], line["status"], line["output_text"]] == [str(turn.id), turn.status, turn.output_text]
    assert line["attempts"] == len(line["attempt_list"]) == turn.attempts > 1
    assert "".join(attempt["text"] for attempt in line["attempt_list"]).startswith(turn.output_text[:40])
    assert {attempt["raw_stop_reason"] for attempt in line["attempt_list"]} == {"length"}
    assert line["attempt_list"][0]["usage"]["output_tokens"] == 60


def test_parquet_has_the_same_content_as_jsonl(play: Play, agent_of: AgentOf):
    play("sim-essay", max_tokens=60)
    drive(turn_start(agent=agent_of("sim-tools", tools=["calculator"]), input_text="2 + 2"))
    for line, row in zip(lines(), rows(file("parquet")), strict=True):
        assert row["created_at"].isoformat() == line["created_at"]
        assert [row["id"], row["verdict"], row["lint"]] == [line["id"], line["verdict"], line["lint"]]
        told = [(one["text"], one["usage"], one["tool_calls"]) for one in line["attempt_list"]]
        read = [(one["text"], one["usage"], json.loads(one["tool_calls"])) for one in row["attempt_list"]]
        assert told == [
            (text, {name: usage[name] for name in line["attempt_list"][0]["usage"]}, calls)
            for text, usage, calls in read
        ]


def test_parquet_has_its_columns_even_without_turns():
    table = parquet(io.BytesIO(file("parquet", agent=("nobody",)))).read()
    assert (table.num_rows, table.column_names) == (0, NAMES)
    inside = table.schema.field("attempt_list").type.value_type
    assert [field.name for field in inside] == [column.name for column in ATTEMPT]


@pytest.mark.parametrize("kind", ["usage", "envelope", "policy", "answers", "nodes"])
def test_a_damaged_turn_does_not_break_the_file(play: Play, kind: str):
    turn = play("sim-essay", max_tokens=60)
    play("sim-echo")
    with damaged(turn, kind):
        assert len(rows(file("parquet"))) == len(lines()) == 2


def test_a_number_that_does_not_fit_its_column_is_omitted():
    usage = writing._value("usage", {"input_tokens": 10**30, "output_tokens": "7", "cached_tokens": 3})
    assert usage == dict.fromkeys([*TOKENS, NO_REASONING]) | {"cached_tokens": 3}


def test_a_file_has_every_turn_once_across_pages_and_row_groups(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(writing, "GROUP_TURNS", 100)
    made = make_turns(*["a"] * 230, status="completed")
    make_turns("a", status="failed")
    content = file("parquet", status=("completed",), sort="took", fold="runs")
    assert [row["id"] for row in rows(content)] == made[::-1]
    assert parquet(io.BytesIO(content)).num_row_groups == 3


@pytest.mark.nightly  # by day the test below measures it with large answers, and the one above reads many pages
@pytest.mark.parametrize("named", ["jsonl", "parquet"])
def test_memory_does_not_grow_with_the_file(named: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(writing, "GROUP_CHARACTERS", 500_000)

    make_turns(*["a"] * 200, output_text="word " * 4_000)
    peak(named)  # what is loaded once
    before = peak(named)
    make_turns(*["a"] * 800, output_text="word " * 4_000)
    assert peak(named) < 1.3 * before


@pytest.mark.parametrize("named", ["jsonl", "parquet"])
@pytest.mark.parametrize(
    "said",
    [
        {"text": "word " * 100_000},
        {"tool_calls": [{"name": "look", "arguments": "a" * 500_000}]},
        {"error": {"message": "a" * 500_000}},
        {"raw": b"a" * 500_000, "raw_text": "a" * 500_000},
    ],
    ids=["a text", "tool calls", "an error", "a raw answer"],
)
def test_the_number_of_large_answers_in_memory_is_limited(
    named: str, said: dict[str, object], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(writing, "GROUP_CHARACTERS", 500_000)
    monkeypatch.setattr(turn_rows, "MOST", 2_000_000)
    turns_with_an_attempt(1)
    peak(named)  # what is loaded once
    turns_with_an_attempt(12, **said)
    before = peak(named)
    turns_with_an_attempt(36, **said)
    assert peak(named) < 1.3 * before + 1_000_000


def test_unusual_texts_are_exported_unchanged():
    odd = 'a"\\\n\u2028\u0085\x1f 😀'
    make_turns("a", output_text=odd, lint=["output_at_cap"], envelope={"a": odd})
    (line,), (row,) = lines(), rows(file("parquet"))
    assert line["output_text"] == row["output_text"] == odd
    assert json.loads(row["envelope"]) == line["envelope"] == {"a": odd}


def test_the_command_exports_a_file_of_a_filter(tmp_path: Path):
    make_turns("a", "b")
    target = tmp_path / "turns.parquet"
    call_command(
        "export", "--format", "parquet", "--filter", "agent=b", "--output", str(target), stdout=(out := StringIO())
    )
    assert out.getvalue() == f"Wrote {target.stat().st_size:,} bytes to {target}.\n"
    assert [row["agent"] for row in parquet(target).read().to_pylist()] == ["b"]
    assert [path.name for path in tmp_path.iterdir()] == ["turns.parquet"]
    assert list(Entry.objects.values_list("action", "via", "target")) == [("export", "command", f"agent=b {target}")]


def test_the_command_reports_an_invalid_filter_or_path(tmp_path: Path):
    with pytest.raises(CommandError, match="There is no filter “agnet”"):
        call_command("export", "--filter", "agnet=b")
    with pytest.raises(CommandError, match="cannot be written: No such file"):
        call_command("export", "--output", str(tmp_path / "none" / "file"))


def test_the_page_and_the_api_stream_the_same_file(browser: Client):
    import http.client

    make_turns("a", "b", "b")
    expected = file("jsonl", agent=("b",))
    cookie = f"whystop_session={browser.cookies['whystop_session'].value}"
    with website() as address:
        for path in ("/api/v1/turns/export?agent=b", "/timeline/export?format=jsonl&query=agent%3Db"):
            asked = http.client.HTTPConnection(address.removeprefix("http://"))
            asked.request("GET", path, headers={"Cookie": cookie})
            answer = asked.getresponse()
            assert (answer.status, answer.getheader("content-type")) == (200, "application/x-ndjson")
            assert answer.getheader("content-disposition").endswith('.jsonl"')
            assert answer.read() == expected
            asked.close()


def test_an_invalid_parameter_exports_nothing(browser: Client):
    told = browser.get("/api/v1/turns/export?formt=parquet&format=csv&sort=took").json()
    assert {fault["field"] for fault in told["errors"]} == {"formt", "format", "sort"}
    answer = browser.get("/timeline/export?format=csv", follow=True)
    assert "Choose a format: jsonl, parquet." in answer.content.decode()


def test_a_user_without_permission_to_export_gets_no_file_and_no_button(client: Client):
    client.force_login(User.objects.create_user("nobody"))
    from dashboard.accounts import roles

    user = User.objects.get(username="nobody")
    assert not roles.may(user, roles.EXPORT)
    assert client.get("/timeline/export?format=jsonl").status_code == 403
    assert client.get("/api/v1/turns/export").status_code == 403
    assert "export-all" not in client.get("/").content.decode()


def test_the_timeline_offers_both_formats_with_its_filters(browser: Client):
    html = browser.get("/?agent=b").content.decode()
    assert '<input type="hidden" name="query" value="agent=b" form="export">' in html
    assert html.count('form="export" name="format"') == 2


def test_the_document_names_every_column_with_its_meaning():
    text = Path("docs/how-to/exports.md").read_text(encoding="utf-8")
    for column in (*TURN, *ATTEMPT):
        assert f"| `{column.name}` | {column.kind} | {column.meaning} |" in text


async def read_slowly(pieces: AsyncIterator[bytes]) -> None:
    async for _ in pieces:
        await asyncio.sleep(0.01)


async def test_a_file_breaks_off_when_the_access_of_its_reader_ends(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(session_watch, "LOOK_SECONDS", 0.02)

    def endless() -> Iterator[bytes]:
        while True:
            yield b"line\n"

    with pytest.raises(AccessEndedError):
        await read_slowly(_sent(endless(), Caller(1), Ticket(0)))


async def test_the_audit_log_export_breaks_off_when_access_ends(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(session_watch, "LOOK_SECONDS", 0.02)
    with pytest.raises(AccessEndedError):
        await read_slowly(audit_views._sent(b"line\n", repeat(b"line\n"), Ticket(0)))


# Django leaves the file with a request's body to the collector if the answer fails.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("path", ["/api/v1/turns/export", "/audit/file"])
def test_a_file_that_breaks_off_with_its_readers_access_is_one_log_line(path: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(formats, "file_of", lambda **_: repeat(b"line\n" * 1_000))
    monkeypatch.setattr(audit_views, "_pieces", lambda *_, **__: repeat(b"line\n" * 1_000))
    monkeypatch.setattr(session_watch, "LOOK_SECONDS", 0.05)
    bootstrap_token_ensure(TOKEN)
    complaints = list[logging.LogRecord]()
    server = logging.getLogger("uvicorn.error")
    keeping = type("Keeping", (logging.Handler,), {"emit": lambda _, record: complaints.append(record)})(
        logging.WARNING
    )
    with capture_logs() as told, website() as address:
        server.addHandler(keeping)
        try:
            with urlopen(Request(address + path, headers={"Authorization": f"Bearer {TOKEN}"})) as answer:
                assert answer.read(10)
                ApiToken.objects.update(revoked_at=timezone.now())
                with pytest.raises(IncompleteRead):
                    answer.read()
            until(lambda: any(line["event"] == "download_ended" for line in told) or bool(complaints), 20)
        finally:
            server.removeHandler(keeping)
    gc.collect()
    assert complaints == []
    assert [(line["log_level"], line["path"], line["why"]) for line in told if line["event"] == "download_ended"] == [
        ("info", path, "The access of its reader ended.")
    ]
