"""Streams in the gateway's own chunks: their order, their seams, what is held back, and clients who go."""

import asyncio
import json
import socket
import time
from urllib.parse import urlsplit
from uuid import UUID

import pytest

from agentcore import verify
from dashboard.gateway.models import GatewayCall
from dashboard.gateway.recording.pending_turn import NotStoredError
from dashboard.gateway.recording.recorder import Recorder
from dashboard.gateway.serving import gateway_call, response_writer
from dashboard.turns.history import recording_of
from dashboard.turns.models import Turn
from tests.dashboard.gateway.served.conftest import turn_of
from tests.dashboard.gateway.served.gate import gateway_served
from tests.dashboard.gateway.served.upstream import DONE, Reply, called, chunk, said, whole
from tests.dashboard.website import until

LOOK = {"name": "look", "description": "Looks.", "parameters": {"type": "object", "properties": {}}}
TOOLS = [{"type": "function", "function": LOOK}]
USAGE = b'data: {"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 5}}\n\n'


@pytest.fixture
def impatient(settings) -> None:
    """Providers may be silent for a moment only. To be asked for before the gateway."""
    settings.SILENCE_SECONDS = 0.3


def shape(answer):
    """What each event of a stream is, in order."""
    words = []
    for event in answer.events:
        if event == "[DONE]":
            words.append("done")
            continue
        body = json.loads(event)
        if "error" in body:
            words.append("error")
        elif not body["choices"]:
            words.append("usage")
        else:
            (choice,) = body["choices"]
            words.append(choice["finish_reason"] or " ".join(choice["delta"]))
    return words


def test_a_stream_is_ordered_and_every_chunk_has_the_same_id(gate, upstream, continued):
    upstream.says([*said("Hel", "lo.")[:-1], USAGE, DONE])
    for usage in (False, True):
        options = {"stream_options": {"include_usage": True}} if usage else {}
        answer = gate.ask(model="continued", stream=True, **options)
        assert shape(answer) == ["role content refusal", "content", "content", "stop", *(["usage"] * usage), "done"]
        assert len({(chunk["id"], chunk["created"], chunk["model"], chunk["object"]) for chunk in answer.chunks}) == 1
        assert answer.chunks[0]["model"] == "continued"
        nulls = [chunk.get("usage", "absent") for chunk in answer.chunks if chunk["choices"]]
        assert set(nulls) == ({None} if usage else {"absent"})
        if usage:
            assert answer.chunks[-1]["usage"]["total_tokens"] == 8
        assert answer.headers["content-type"].startswith("text/event-stream")
        (comment,) = answer.comments
        assert comment == f'whystop turn={turn_of(answer).id} attempts=1 verdict="Completed in 1 call."'
        assert answer.body.decode().rstrip().endswith("data: [DONE]")


def test_a_truncated_answer_is_streamed_as_if_it_had_never_been_truncated(gate, upstream, continued):
    first = said("Agents stop for reasons, ", "and most of", reason="length")
    second = said("for reasons, and ", "most of those ", "are dull.")
    upstream.says(first, second)
    answer = gate.ask(model="continued", stream=True)
    assert answer.text == "Agents stop for reasons, and most of those are dull."
    assert answer.finish_reasons == ["stop"]
    assert shape(answer).count("role content refusal") == 1
    turn = turn_of(answer)
    assert (turn.output_text, turn.attempts) == (answer.text, 2)
    assert verify(recording_of(turn)).verified
    assert upstream.asked[1]["messages"][1] == {"role": "assistant", "content": "Agents stop for reasons, and most of"}


def test_an_answer_that_stays_truncated_says_so(gate, upstream, continued):
    upstream.says(*(said(f"part {n}, ", reason="length") for n in range(9)))
    for stream in (True, False):
        if not stream:
            upstream.says(*(whole(f"part {n}, ", "length") for n in range(9)))
        answer = gate.ask(model="continued", stream=stream)
        text = answer.text if stream else answer.choice["message"]["content"]
        assert text == "part 0, part 1, part 2, part 3, "
        assert (answer.finish_reasons if stream else [answer.choice["finish_reason"]]) == ["length"]
        assert "max_continuations" in (answer.comments[0] if stream else answer.headers["x-whystop-verdict"])


def test_a_call_is_sent_once_it_is_complete_and_never_before(gate, upstream, continued):
    def call(arguments, **more):
        return chunk(
            {"tool_calls": [{"index": 0, **more, "function": {**more.get("function", {}), "arguments": arguments}}]}
        )

    begun = call('{"far', id="c1", type="function", function={"name": "look"})
    cut = [chunk({"role": "assistant", "content": "Let me "}), begun, call('": tr'), chunk({}, "length"), DONE]
    mended = [chunk({"content": "see."}), begun, call('": true}'), chunk({}, "tool_calls"), DONE]
    upstream.says(cut, mended)
    answer = gate.ask(model="continued", stream=True, tools=TOOLS)
    assert shape(answer) == ["role content refusal", "content", "content", "tool_calls", "tool_calls", "done"]
    assert answer.text == "Let me see."
    (called_,) = [delta["tool_calls"] for delta in answer.deltas if "tool_calls" in delta]
    assert called_ == [
        {"index": 0, "id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"far": true}'}}
    ]
    assert turn_of(answer).tool_repairs == 1


def test_a_call_that_stays_broken_is_never_sent(gate, upstream, continued):
    broken = whole(None, "length", tool_calls=called('{"far'))
    upstream.says(broken)
    answer = gate.ask(model="continued", tools=TOOLS)
    assert (answer.status, answer.json["error"]["code"]) == (502, "tool_repair_failed")
    assert answer.headers["x-should-retry"] == "false"
    upstream.says(whole("Let me", "length", tool_calls=called('{"far')))
    answer = gate.ask(model="continued", tools=TOOLS)
    assert answer.choice["finish_reason"] == "length"
    assert "tool_calls" not in answer.choice["message"]


def test_an_error_before_the_first_text_has_its_own_status_even_for_a_stream(gate, upstream, continued):
    error = Reply(
        [b'{"error": {"message": "Slow down.", "code": "rate_limit_exceeded"}}'],
        429,
        "application/json",
        {"retry-after": "3"},
    )
    in_stream = [b'data: {"error": {"message": "It broke."}}\n\n']
    for reply, status in ((error, 429), (in_stream, 502)):
        upstream.says(reply)
        answer = gate.ask(model="continued", stream=True)
        assert (answer.status, answer.headers["content-type"]) == (status, "application/json")
        assert answer.headers["x-whystop-turn"]
    upstream.says([*said("Half")[:2], b'data: {"error": {"message": "It broke."}}\n\n'])
    answer = gate.ask(model="continued", stream=True)
    assert (answer.text, answer.finish_reasons, answer.events[-1]) == ("Half", ["length"], "[DONE]")


def test_a_failed_call_is_retried_and_continues_where_it_broke_off(gate, upstream, watched, agent_at, policy_named):
    agent_at(
        "m", connection=watched.connection, name="stubborn", policy=policy_named(error_policy={"preset": "retry_all"})
    )
    upstream.says(Reply(said("Agents stop ")[:2], breaks=True), said("for reasons."))
    answer = gate.ask(model="stubborn", stream=True)
    assert (answer.text, answer.finish_reasons) == ("Agents stop for reasons.", ["stop"])
    assert turn_of(answer).attempts == 2


def test_an_empty_answer_at_the_cap_is_an_error_that_is_not_retried(gate, upstream, continued):
    upstream.says(whole("", "length"))
    answer = gate.ask(model="continued")
    assert (answer.status, answer.json["error"]["param"]) == (400, "max_tokens")
    assert answer.json["error"]["message"].startswith("Could not finish the message because max_tokens")


def test_a_silent_stream_is_kept_alive(gate, upstream, continued, watched, monkeypatch):
    monkeypatch.setattr(response_writer, "SILENCE_SECONDS", 0.1)
    for model in ("continued", "watched"):
        upstream.says(Reply(said("Hello."), pause=0.25))
        answer = gate.ask(model=model, stream=True)
        assert "keep-alive" in answer.comments
        assert (answer.text, answer.finish_reasons) == ("Hello.", ["stop"])
        upstream.says(Reply([b'{"error": {"message": "No."}}'], 500, "application/json", pause=0.25))
        answer = gate.ask(model=model, stream=True)
        assert answer.status == 200
        assert shape(answer) == ["error"]
        upstream.says(Reply([whole()], content_type="application/json", pause=0.25))
        answer = gate.ask(model=model, stream=True)
        assert (answer.text, answer.finish_reasons, answer.events[-1]) == ("Hello.", ["stop"], "[DONE]")


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("model", ["continued", "watched"])
def test_a_provider_that_stalls_mid_answer_is_given_up_and_its_text_kept(
    impatient, gate, upstream, continued, watched, model: str, stream: bool
):
    upstream.says(Reply(said("Half", " of it")[:3], waits=True))
    answer = gate.ask(model=model, stream=stream)
    turn = turn_of(answer)
    assert (turn.status, turn.output_text) == ("partial", "Half of it")
    assert "sent nothing for 0.3 s (WHYSTOP_SILENCE_SECONDS)" in turn.verdict
    if not stream:
        (choice,) = answer.json["choices"]
        assert (choice["message"]["content"], choice["finish_reason"]) == ("Half of it", "length")
    elif model == "continued":
        assert (answer.text, answer.finish_reasons, answer.events[-1]) == ("Half of it", ["length"], "[DONE]")
    else:
        assert (answer.text, shape(answer)[-1]) == ("Half of it", "error")


def test_a_client_that_disconnects_ends_the_call_and_the_text_is_kept(gate, upstream, continued, watched):
    for model in ("continued", "watched"):
        for stream in (True, False):
            upstream.left = 0
            upstream.says(Reply(said("Half", " of it")[:3], waits=True))
            with socket.create_connection(("127.0.0.1", urlsplit(gate.address).port or 0)) as client:
                client.sendall(_request(gate.token, model, stream=stream))
                until(lambda: upstream.asked)
                if stream:
                    while b"of it" not in client.recv(65536):
                        pass
                else:
                    time.sleep(0.3)
            until(lambda: upstream.left == 1)
            until(lambda: Turn.objects.filter(status="cancelled").exists())
            turn = Turn.objects.get(status="cancelled")
            assert (turn.output_text, turn.terminal_reason) == ("Half of it", "cancelled")
            assert "disconnected" in turn.notice
            assert verify(recording_of(turn)).verified
            until(lambda: GatewayCall.objects.get(turn_id=turn.id).disconnected)  # noqa: B023
            Turn.objects.update(status="completed")


def test_a_disconnect_while_the_end_is_being_stored_is_counted_and_charged_once(gate, upstream, watched, monkeypatch):
    counted, committed = [], Recorder.committed

    async def slow(recorder: Recorder, turn_id: UUID) -> None:
        await asyncio.sleep(0.5)
        await committed(recorder, turn_id)

    monkeypatch.setattr(gateway_call, "count_call", counted.append)
    monkeypatch.setattr(Recorder, "committed", slow)
    upstream.says(said("All", " of it"))
    with socket.create_connection(("127.0.0.1", urlsplit(gate.address).port or 0)) as client:
        client.sendall(_request(gate.token, "watched", stream=True))
        while b"of it" not in client.recv(65536):
            pass
        until(lambda: counted)
    until(lambda: GatewayCall.objects.filter(disconnected=True).exists())
    assert GatewayCall.objects.get().client_finish_reason == "stop"
    assert [(seen.status, seen.finish_reason) for seen in counted] == [(200, "stop")]
    assert Turn.objects.get().status == "completed"


def test_a_client_in_mid_answer_is_told_when_the_gateway_stops(token, upstream, continued):
    upstream.says(Reply(said("Half", " of it")[:3], waits=True))
    with gateway_served() as address:
        client = socket.create_connection(("127.0.0.1", urlsplit(address).port or 0))
        client.sendall(_request(token, "continued", stream=True))
        while b"of it" not in client.recv(65536):
            pass
    with client:
        rest = b"".join(iter(lambda: client.recv(65536), b""))
    assert b'"gateway_stops"' in rest
    assert b"[DONE]" not in rest
    turn = Turn.objects.get()
    assert (turn.status, turn.output_text) == ("cancelled", "Half of it")
    assert "which is stopping" in turn.notice


def _request(token, model, *, stream):
    body = json.dumps({"model": model, "stream": stream, "messages": [{"role": "user", "content": "Why?"}]})
    named = f"host: x\r\nauthorization: Bearer {token}\r\ncontent-length: {len(body)}\r\n\r\n"
    return f"POST /v1/chat/completions HTTP/1.1\r\n{named}{body}".encode()


@pytest.mark.parametrize("model", ["continued", "watched"])
def test_the_end_of_an_answer_waits_until_the_turn_is_stored(gate, upstream, continued, watched, model, monkeypatch):
    stored, committed = [], Recorder.committed

    async def slowly(self, turn_id):
        await committed(self, turn_id)
        stored.append(Turn.objects.filter(id=turn_id).acount)
        seen.append("stored")

    seen: list[str] = []
    monkeypatch.setattr(Recorder, "committed", slowly)
    for stream in (True, False):
        upstream.says(said("Hello.") if stream else whole())
        answer = gate.ask(model=model, stream=stream)
        assert answer.status == 200
        assert turn_of(answer).status == "completed"
    assert seen == ["stored", "stored"]


def test_an_answer_that_cannot_be_stored_is_refused(gate, upstream, continued, watched, monkeypatch):
    async def never(_self, _turn_id):
        raise NotStoredError("It is away.")

    monkeypatch.setattr(Recorder, "committed", never)
    for model in ("continued", "watched"):
        upstream.says(whole())
        answer = gate.ask(model=model)
        assert (answer.status, answer.json["error"]["code"]) == (503, "not_recorded")
        upstream.says(said("Hello."))
        answer = gate.ask(model=model, stream=True)
        assert shape(answer)[-1] == "error"
        assert answer.finish_reasons == []
        assert "[DONE]" not in answer.events
