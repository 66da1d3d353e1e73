"""Turns on a real llama.cpp server: continued by prefill and by a hint, cut, JSON, tools, killed."""

import json
import threading
import time
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from django.db import connections

from agentcore import Certainty
from agentcore.messages import ChatRequest, ChatResponse, Continuation, Message, Role
from agentcore.providers import get_provider
from agentcore.reasons import NormalizedStopReason
from agentcore.verdict import verdict
from dashboard.agents.models import Connection
from dashboard.agents.probes import Finding
from dashboard.agents.services import agent_create
from dashboard.live.probe_service import connection_probe
from dashboard.live.services import turn_start
from dashboard.replay.rerun_service import turn_rerun
from dashboard.replay.services import turn_what_if
from dashboard.turns.models import Piece, Turn
from tests.dashboard.driving import drive
from tests.real_server.conftest import Dialed, served

pytestmark = pytest.mark.django_db(transaction=True)

STORY = "one two three four five six seven eight nine ten eleven twelve what was it again and so on to the very end."
WHOLE = 23  #: tokens


def played(connection: Connection, max_tokens: int, question: str = "Tell me.", **agent: Any) -> Turn:
    made = agent_create(
        project=connection.project, name="tiny", connection=connection, model="tiny", max_tokens=max_tokens, **agent
    )
    return drive(turn_start(agent=made, input_text=question))


def asked(address: str, request: ChatRequest) -> ChatResponse:
    """One call, read by our codec as a stream or as one body."""
    codec = get_provider("openai")
    body = json.dumps(codec.encode_request(request)).encode()
    headers = {"content-type": "application/json"}
    with urllib.request.urlopen(urllib.request.Request(f"{address}/chat/completions", body, headers)) as answer:
        data = answer.read()
    if not request.stream:
        return codec.decode_response(json.loads(data), max_tokens=request.max_tokens)
    decoder = codec.stream_decoder(max_tokens=request.max_tokens)
    decoder.feed(data)
    return decoder.close()


@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])
def test_a_truncated_answer_is_continued_exactly_by_prefill(real_server: str, stream: bool) -> None:
    question = (Message(Role.USER, "Tell me."),)
    text, reason, calls = "", NormalizedStopReason.MAX_TOKENS, 0
    while reason is NormalizedStopReason.MAX_TOKENS:
        goes_on = Continuation(text, "Go on.") if text else None
        request = ChatRequest("tiny", question, 7, stream=stream, continuation=goes_on, extra={"prefill": True})
        answer = asked(real_server, request)
        assert stream or answer.usage is not None
        text, reason, calls = text + answer.text, answer.stop_reason, calls + 1
    assert (text, reason, calls) == (STORY, NormalizedStopReason.END_TURN, 4)


def test_a_tested_connection_continues_exactly_and_its_numbers_come_true(dialed: Dialed) -> None:
    connection = dialed()
    probe = connection_probe(connection=connection, model="tiny")
    assert (probe.finding, probe.way) == (Finding.CONTINUES, "prefill"), probe
    turn = played(connection, 7)
    assert (turn.status, turn.attempts, turn.output_text) == ("completed", 4, STORY)
    # This server counts the end mark against the cap, though not as a token used; and it reports no usage in streams.
    for cap, attempts in ((WHOLE + 1, 1), (WHOLE, 2), (12, 2)):
        imagined = turn_what_if(turn=turn, overrides={"max_tokens": cap}).recording
        child = drive(turn_rerun(turn=turn, overrides={"max_tokens": cap}))
        assert (child.attempts, child.output_text) == (attempts, STORY)
        if imagined.certainty in (Certainty.CERTAIN, Certainty.RECORDED):
            assert imagined.final is not None
            assert imagined.final.spent.attempts == attempts


def test_after_a_hint_the_model_restarts_and_nothing_is_claimed(dialed: Dialed) -> None:
    turn = played(dialed(), 15)
    assert turn.attempts > 1
    final = turn_what_if(turn=turn, overrides={}).recording.final
    assert final is not None
    assert "one call would have been enough" not in verdict(final)
    assert "one two" not in turn.output_text[3:], "no doubled words"


def test_a_json_grammar_restarts_at_each_continuation(real_server: str) -> None:
    """Why structured output is never continued by joining: the end is told as `stop`, and the whole is no JSON."""
    question = (Message(Role.USER, "Tell me."),)
    extra = {"prefill": True, "temperature": 0, "response_format": {"type": "json_object"}}
    whole = asked(real_server, ChatRequest("tiny", question, 100, stream=False, extra=extra))
    assert len(json.loads(whole.text)["points"]) == 21
    cut = asked(real_server, ChatRequest("tiny", question, 10, stream=False, extra=extra))
    assert cut.stop_reason is NormalizedStopReason.MAX_TOKENS
    goes_on = Continuation(cut.text, "Go on.")
    more = asked(real_server, ChatRequest("tiny", question, 100, stream=False, continuation=goes_on, extra=extra))
    assert more.text.lstrip().startswith("{"), "a new object, not the rest of the array"
    with pytest.raises(json.JSONDecodeError):
        json.loads(cut.text + more.text)


def test_a_json_schema_refused_by_this_server_is_reported(dialed: Dialed) -> None:
    turn = played(dialed(), 100, envelope_schema={"type": "object"})
    assert (turn.status, turn.terminal_reason) == ("failed", "provider_error")


def test_a_tool_is_called_and_its_result_answered(dialed: Dialed) -> None:
    turn = played(dialed("llama"), 60, tools=["calculator"])
    assert (turn.status, turn.output_text) == ("completed", "The tool says forty-two.")
    assert turn.attempts == 2


def stored_so_far() -> str:
    """What was stored of an answer while it streams."""
    return "".join(Piece.objects.order_by("n").values_list("text", flat=True))


def test_a_server_killed_mid_stream_leaves_its_partial_output(dialed: Dialed, model_file: Path) -> None:
    begun = "Monday, Tuesday, Wednesday,"
    with served(model_file) as (address, process):
        connection = dialed(address=address)

        def kill() -> None:
            until = time.monotonic() + 30
            while begun not in stored_so_far() and time.monotonic() < until:
                time.sleep(0.05)
            process.kill()
            connections.close_all()

        killing = threading.Thread(target=kill)
        killing.start()
        turn = played(connection, 4000, "Go on for ever.")
        killing.join()
    assert turn.status in ("failed", "partial")
    assert turn.output_text.startswith(begun)
