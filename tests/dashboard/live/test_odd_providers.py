"""Servers that answer in ways nobody promised: every one ends in a clear word, and nothing that came is lost."""

import asyncio
import gzip
import json
import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from aiohttp import web
from django.conf import settings

from agentcore.replay import verify
from dashboard.agents.models import Connection
from dashboard.agents.selectors import project_default
from dashboard.agents.services import connection_create
from dashboard.live import body_reader
from dashboard.live.services import turn_start
from dashboard.policies.policy_creation import policy_create
from dashboard.turns.history import recording_of
from dashboard.turns.models import Turn
from tests.dashboard.driving import AgentOf, drive

pytestmark = pytest.mark.django_db(transaction=True)

DONE = b"data: [DONE]\n\n"


def event(delta: dict[str, Any], reason: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": reason}
    return b"data: " + json.dumps({"choices": [choice]}, ensure_ascii=False).encode() + b"\n\n"


def call(name: str, arguments: str) -> bytes:
    calls = [{"index": 0, "id": "c1", "function": {"name": name, "arguments": arguments}}]
    return event({"tool_calls": calls}) + event({}, "tool_calls") + DONE


STREAMS = {
    "no closing event": event({"content": "whole"}) + event({}, "stop"),
    "no reason": event({"content": "half"}) + DONE,
    "neither": event({"content": "half"}),
    "error in the stream": event({"content": "half"}) + b'data: {"error": {"message": "overloaded", "code": 503}}\n\n',
    "split characters": event({"content": "naïve 😀 é"}) + event({}, "stop") + DONE,
    "two megabytes": event({"content": "x" * 2_000_000}) + event({}, "stop") + DONE,
    "unstorable characters": event({"content": "a\u0000b"}) + event({}, "stop") + DONE,
    "malformed call": call("calculator", '{"expression": 1,}'),
    "left open": event({"content": "whole"}) + event({}, "stop") + DONE,
    "refusal": event({"refusal": "I cannot."}) + event({}, "stop") + DONE,
    "nearly json": event({"content": 'Here: {"answer": 42,}'}) + event({}, "stop") + DONE,
    "nearly json, cut": event({"content": '{"answer": 42, "more": "and'}) + event({}, "length") + DONE,
    "says the same again": event({"content": "the very same sentence again."}) + event({}, "length") + DONE,
}
BODIES = {
    "empty": web.Response,
    "no content": lambda: web.Response(status=204),
    "redirect": lambda: web.Response(status=302, headers={"Location": "http://127.0.0.1:1/"}),
    "html with 500": lambda: web.Response(status=500, text="<html>boom</html>"),
    "html with 200": lambda: web.Response(text="<html>\n<b>boom</b>", content_type="text/html"),
    "429 without a time": lambda: web.json_response({"error": {"message": "slow down"}}, status=429),
    "gzip": lambda: web.Response(
        body=gzip.compress(event({"content": "whole"}) + event({}, "stop") + DONE),
        headers={"Content-Encoding": "gzip", "Content-Type": "text/event-stream"},
    ),
    "a whole answer": lambda: web.json_response(
        {"choices": [{"index": 0, "message": {"content": "whole"}, "finish_reason": "stop"}]}
    ),
    "a full window": lambda: web.json_response(
        {
            "choices": [{"index": 0, "message": {"content": "half"}, "finish_reason": "length"}],
            "usage": {"prompt_tokens": 95, "completion_tokens": 5},
        }
    ),
    "context full": lambda: web.json_response(
        {"error": {"message": "maximum context length is 8192 tokens", "code": "context_length_exceeded"}}, status=400
    ),
}


async def answer(request: web.Request) -> web.StreamResponse:
    model = (await request.json())["model"]
    if model in BODIES:
        return BODIES[model]()
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
    await response.prepare(request)
    data = STREAMS.get(model) or event({"content": "whole"}) + event({}, "stop")
    pieces = [data[i : i + 1] for i in range(len(data))] if model == "split characters" else [data]
    for piece in pieces:
        await response.write(piece)
    if model in ("cut after the reason", "cut in the middle"):
        await asyncio.sleep(0.05)
        assert request.transport is not None
        request.transport.abort()
    while model == "left open" and request.transport is not None and not request.transport.is_closing():
        await asyncio.sleep(0.02)
    await response.write_eof()
    return response


@pytest.fixture(scope="module")
def odd_url() -> Iterator[str]:
    loop = asyncio.new_event_loop()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        application = web.Application(client_max_size=2**24)
        application.router.add_post("/chat/completions", answer)
        runner = web.AppRunner(application)
        loop.run_until_complete(runner.setup())
        loop.run_until_complete(web.SockSite(runner, listener).start())
        thread = threading.Thread(target=loop.run_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        asyncio.run_coroutine_threadsafe(runner.cleanup(), loop).result(10)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)
        loop.close()


@pytest.fixture
def odd(odd_url: str) -> Connection:
    return connection_create(project=project_default(), name="odd", provider="openai", base_url=odd_url)


@pytest.mark.parametrize(
    ("model", "status", "terminal_reason", "said", "words"),
    [
        ("no closing event", "completed", "completed", "whole", "Completed in 1 call."),
        (
            "no reason",
            "completed",
            "completed",
            "half",
            "No stop reason is recorded, so the answer may be cut off.",
        ),
        ("neither", "partial", "provider_error", "half", "broke off"),
        ("error in the stream", "partial", "provider_error", "half", "overloaded. The partial answer is kept."),
        ("split characters", "completed", "completed", "naïve 😀 é", ""),
        (
            "two megabytes",
            "partial",
            "output_cap",
            "x" * 120_000,
            "Cut off at 120,000 characters: Max output characters (max_total_output_chars) was reached.",
        ),
        ("unstorable characters", "completed", "completed", "a\ufffdb", ""),
        ("malformed call", "partial", "tool_repair_failed", "", "was malformed and did not run"),
        ("refusal", "aborted", "safety_blocked", "", "Refused by the model."),
        ("says the same again", "partial", "repetition", "the very same sentence again.", "added nothing new"),
        ("empty", "failed", "provider_error", "", "empty body"),
        ("no content", "failed", "provider_error", "", "empty body"),
        ("redirect", "failed", "provider_error", "", "correct its address"),
        ("html with 500", "failed", "provider_error", "", "boom"),
        (
            "html with 200",
            "failed",
            "provider_error",
            "",
            "The answer of connection “odd” cannot be read. The provider answered with neither an event stream nor "
            "JSON; it begins with “<html> <b>boom</b>”. Check the base URL.",
        ),
        ("429 without a time", "failed", "provider_error", "", "slow down."),
        ("gzip", "completed", "completed", "whole", ""),
        ("a whole answer", "completed", "completed", "whole", ""),
        (
            "context full",
            "aborted",
            "context_window_exceeded",
            "",
            "A higher Max tokens per call (max_tokens) would not have helped.",
        ),
        ("cut after the reason", "completed", "completed", "whole", ""),
    ],
)
def test_an_unusual_answer_ends_with_a_clear_reason(
    agent_of: AgentOf, odd: Connection, model: str, status: str, terminal_reason: str, said: str, words: str
):
    agent = agent_of(model, name="odd", connection=odd, max_tokens=60, tools=["calculator"])
    turn: Turn = drive(turn_start(agent=agent, input_text="go"))
    assert (turn.status, turn.terminal_reason, turn.output_text) == (status, terminal_reason, said)
    assert words in turn.verdict
    assert verify(recording_of(turn)).verified


@pytest.mark.parametrize(
    ("window", "status", "attempts"), [(None, "partial", 4), (100, "aborted", 1), (101, "partial", 4)]
)
def test_an_answer_truncated_by_a_full_context_window_is_not_continued(
    agent_of: AgentOf, odd_url: str, window: int | None, status: str, attempts: int
):
    connection = connection_create(
        project=project_default(), name="narrow", provider="openai", base_url=odd_url, context_window=window
    )
    agent = agent_of("a full window", name="odd", connection=connection, max_tokens=60)
    turn: Turn = drive(turn_start(agent=agent, input_text="go"))
    assert (turn.status, turn.attempts, turn.raw_stop_reason) == (status, attempts, "length")
    assert turn.output_text.startswith("half")
    assert (turn.model_stop_reason == "context_window_exceeded") is (window == 100)
    assert verify(recording_of(turn)).verified


def test_a_connection_that_stays_open_after_the_end_is_not_waited_for(
    agent_of: AgentOf, odd: Connection, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(body_reader, "AFTER_ITS_END", 0.05)
    turn: Turn = drive(turn_start(agent=agent_of("left open", name="odd", connection=odd), input_text="go"))
    assert (turn.status, turn.output_text) == ("completed", "whole")
    assert turn.duration_ms is not None
    assert turn.duration_ms < 1000 * settings.SILENCE_SECONDS


@pytest.mark.parametrize(
    ("model", "recovery", "status", "envelope", "paths"),
    [
        ("nearly json", ["jsonrepair"], "completed", {"answer": 42}, ["jsonrepair"]),
        ("nearly json", ["markdown-fence", "brace-walker"], "failed", None, []),
        ("nearly json, cut", ["jsonrepair"], "failed", None, []),
    ],
)
def test_almost_valid_json_is_repaired_where_the_policy_allows_it_and_nothing_was_truncated(
    agent_of: AgentOf, odd: Connection, model: str, recovery: list[str], status: str, envelope: Any, paths: list[str]
):
    rules = {"limits": {"schema_rounds": 0}, "envelope": {"recovery": recovery}}
    version = policy_create(project=project_default(), name="mending", **rules)
    schema = {"type": "object", "required": ["answer"]}
    agent = agent_of(model, name="odd", connection=odd, policy=version.policy, envelope_schema=schema)
    turn: Turn = drive(turn_start(agent=agent, input_text="go"))
    assert (turn.status, turn.envelope, turn.envelope_retries) == (status, envelope, 0)
    recording = recording_of(turn)
    observed = [seen for record in recording.records for seen in record.observed]
    assert [seen["path"] for seen in observed if seen["type"] == "envelope.recovery.applied"] == paths
    assert verify(recording).verified
