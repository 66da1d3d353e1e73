"""Watched calls of an OpenAI-style upstream go through as they are: up and down, byte for byte, and honestly ended."""

import json
import re

from agentcore import verify
from dashboard.gateway.models import GatewayCall
from dashboard.turns.history import raw_response_of, recording_of
from dashboard.turns.models import Attempt
from tests.dashboard.gateway.served.conftest import turn_of
from tests.dashboard.gateway.served.upstream import DONE, Reply, called, chunk, said, whole

HELLO = [{"role": "user", "content": "Hello?"}]
IMAGE = {
    "role": "user",
    "content": [{"type": "text", "text": "What?"}, {"type": "image_url", "image_url": {"url": "u"}}],
}


def without_our_comment(body: bytes) -> bytes:
    return re.sub(rb": whystop [^\n]*\n\n", b"", body)


def test_the_clients_request_is_forwarded_unchanged(gate, upstream, watched):
    upstream.says(whole())
    asked = {
        "messages": [{"role": "developer", "content": "Be brief.", "name": "host"}, IMAGE],
        "temperature": 0.3,
        "logit_bias": {"50256": -100},
        "something_new": {"nested": [1, 2.5, None]},
        "tools": [{"type": "function", "function": {"name": "look", "strict": True}}],
        "parallel_tool_calls": False,
        "max_completion_tokens": 33,
    }
    assert gate.ask(model="watched", **asked).status == 200
    assert upstream.asked == [{**asked, "model": "m"}]


def test_the_upstreams_stream_is_returned_byte_for_byte(gate, upstream, watched):
    stream = [
        chunk({"role": "assistant", "content": "", "odd": 1}),
        chunk({"content": "Hel"}, new={"a": [1]}),
        *said("lo.")[1:],
    ]
    usage = b'data: {"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 5}}\n\n'
    forms = {
        "plain": stream,
        "usage": [*stream[:-1], usage, DONE],
        "comments": [b": PROCESSING\n\n", *stream],
        "no closing event": stream[:-1],
        "windows": [piece.replace(b"\n", b"\r\n") for piece in stream],
        "split": [bytes([byte]) for byte in b"".join(stream)],
        "at once": [b"".join(stream)],
        "no last newline": [*stream[:-1], b"data: [DONE]"],
        "a large piece": [stream[0], chunk({"content": "x" * 1_000_000}), *stream[-2:]],
    }
    for form, pieces in forms.items():
        upstream.says(pieces)
        answer = gate.ask(model="watched", stream=True)
        sent = b"".join(pieces)
        assert without_our_comment(answer.body) == sent, form
        assert any(comment.startswith("whystop turn=") for comment in answer.comments), form
        turn = turn_of(answer)
        assert raw_response_of(Attempt.objects.get(turn_id=turn.id)) == sent, form
        assert verify(recording_of(turn)).verified, form
        assert turn.status == "completed", form


def test_a_complete_answer_with_its_headers_is_returned_byte_for_byte(gate, upstream, watched):
    body = json.dumps({**json.loads(whole()), "service_tier": "x"}, indent=2).encode()
    named = {
        "x-request-id": "r1",
        "x-ratelimit-remaining-tokens": "7",
        "openai-processing-ms": "3",
        "set-cookie": "a=b",
    }
    upstream.says(Reply([body], content_type="application/json; charset=utf-8", headers=named))
    answer = gate.ask(model="watched")
    assert answer.body == body
    assert answer.headers["content-type"] == "application/json; charset=utf-8"
    assert answer.headers["x-request-id"] == "r1"
    assert answer.headers["x-ratelimit-remaining-tokens"] == "7"
    assert "set-cookie" not in answer.headers
    assert answer.headers["x-whystop-attempts"] == "1"
    assert answer.headers["x-whystop-verdict"] == "Completed in 1 call."


def test_several_choices_and_logprobs_are_always_observed_only(gate, upstream, continued):
    two = [chunk({"content": word}, index=index) for word in "ab" for index in (0, 1)]
    ends = [chunk({}, "length", index=0), chunk({"content": "c"}, index=1), chunk({}, "stop", index=1), DONE]
    upstream.says([*two, *ends])
    answer = gate.ask(model="continued", n=2, stream=True)
    assert without_our_comment(answer.body) == b"".join([*two, *ends])
    assert GatewayCall.objects.get(turn_id=turn_of(answer).id).mode == "observe"
    assert len(upstream.asked) == 1
    upstream.says(whole("ab", "length"))
    answer = gate.ask(model="continued", logprobs=True, top_logprobs=2)
    assert answer.body == whole("ab", "length")
    assert upstream.asked[0]["logprobs"] is True


def test_upstream_errors_are_returned_to_the_client_unless_we_caused_them(gate, upstream, watched):
    body = json.dumps({"error": {"message": "No.", "type": "t", "param": "p", "code": "c"}}).encode()
    for status in (400, 404, 408, 409, 413, 422, 429, 500, 503, 529):
        for stream, kind in ((False, "application/json"), (True, "application/json"), (True, "text/event-stream")):
            upstream.says(Reply([body], status=status, content_type=kind, headers={"retry-after": "7"}))
            answer = gate.ask(model="watched", stream=stream)
            assert (answer.status, answer.body, answer.headers["retry-after"]) == (status, body, "7")
    for status in (401, 403, 302):
        upstream.says(Reply([body], status=status, content_type="application/json", headers={"location": "/x"}))
        answer = gate.ask(model="watched")
        assert answer.status == 502
        assert answer.json["error"]["type"] == "upstream_error"


def test_an_invalid_answer_is_never_returned_as_a_valid_one(gate, upstream, watched):
    html = b"<!doctype html><html><body>Welcome!</body></html>"
    for stream in (False, True):
        for reply in (
            Reply([html], content_type="text/html"),
            Reply([b""], content_type="application/json"),
            Reply([b'{"hello": "you"}'], content_type="application/json"),
            Reply([whole()[:40]], content_type="application/json", breaks=True),
        ):
            upstream.says(reply)
            answer = gate.ask(model="watched", stream=stream)
            assert (answer.status, answer.json["error"]["type"]) == (502, "upstream_error"), reply


def test_an_interrupted_body_is_returned_as_far_as_it_arrived(gate, upstream, watched):
    cut = whole("Half of what I wanted to")[:-150]
    upstream.says(Reply([cut], content_type="application/json", breaks=True))
    answer = gate.ask(model="watched")
    if answer.status == 200:
        assert answer.choice["finish_reason"] == "length"
        assert "Half of what I wanted to".startswith(answer.choice["message"]["content"])


def test_a_stream_that_breaks_off_ends_with_an_error_and_without_a_finish_reason(gate, upstream, watched):
    for pieces in (said("Half", " of")[:3], [*said("Half", " of")[:3], b'data: {"choices": [{"del']):
        for breaks in (True, False):
            upstream.says(Reply(pieces, breaks=breaks))
            answer = gate.ask(model="watched", stream=True)
            *events, last = answer.events
            assert json.loads(last)["error"]["type"] == "upstream_error"
            assert "[DONE]" not in events
            assert '"finish_reason": "' not in answer.body.decode()
            turn = turn_of(answer)
            assert (turn.output_text, turn.status) == ("Half of", "partial")


def test_a_received_finish_reason_counts_even_if_the_connection_broke(gate, upstream, watched):
    upstream.says(Reply(said("Hello.")[:-1], breaks=True))
    answer = gate.ask(model="watched", stream=True)
    assert answer.finish_reasons == ["stop"]
    assert turn_of(answer).status == "completed"


def test_a_complete_answer_to_a_streaming_request_is_returned_unchanged(gate, upstream, watched):
    upstream.says(whole())
    answer = gate.ask(model="watched", stream=True)
    assert (answer.body, answer.headers["content-type"]) == (whole(), "application/json")


def test_forced_calls_that_end_in_stop_are_returned_and_recorded_as_calls(gate, upstream, watched):
    body = whole(None, "stop", tool_calls=called('{"a": 1}'))
    upstream.says(body)
    choice = {"type": "function", "function": {"name": "look"}}
    answer = gate.ask(model="watched", tools=[{"type": "function", "function": {"name": "look"}}], tool_choice=choice)
    assert answer.body == body
    turn = turn_of(answer)
    assert (turn.model_stop_reason, turn.raw_stop_reason, turn.status) == ("tool_call", "stop", "completed")
    assert GatewayCall.objects.get(turn_id=turn.id).client_finish_reason == "stop"


def test_an_agent_adds_its_prompt_and_its_cap(gate, upstream, watched, agent_at):
    agent_at(
        "m2", connection=watched.connection, name="told", gateway_mode="observe", system_prompt="Be kind.", max_tokens=9
    )
    upstream.says(whole())
    gate.ask(model="told", messages=HELLO)
    gate.ask(model="told", messages=HELLO, max_completion_tokens=5)
    kind = {"role": "system", "content": "Be kind."}
    assert upstream.asked == [
        {"model": "m2", "messages": [kind, *HELLO], "max_tokens": 9},
        {"model": "m2", "messages": [kind, *HELLO], "max_completion_tokens": 5},
    ]
    upstream.says(whole())
    gate.ask(model=f"{watched.connection.name}/m", messages=HELLO, logprobs=True)
    assert upstream.asked == [{"model": "m", "messages": HELLO, "logprobs": True}]
