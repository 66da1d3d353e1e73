"""Why the model stopped, and what its client is told: every ending × dialect × mode × whole or streamed.

What an OpenAI-style upstream says goes through as it is where the call is only watched; all else is the one table of
`dashboard.gateway.wire.finish_reasons`. Whatever is told, the history verifies.
"""

import pytest

from agentcore import verify
from agentcore.providers import PROVIDERS
from dashboard.gateway.models import GatewayCall
from dashboard.turns.history import recording_of
from tests.dashboard.gateway.served.conftest import turn_of
from tests.dashboard.gateway.served.gate import Answer
from tests.nightly import nightly

CALCULATOR = {"name": "calculator", "description": "Computes.", "parameters": {"type": "object", "properties": {}}}
TOOLS = [{"type": "function", "function": CALCULATOR}]

#: Model of the simulator → what is told when it is continued, and where that differs when it is only watched.
TOLD = {
    "sim-tools": ("tool_calls", None),
    "sim-cut-tool": ("tool_calls", "length"),
    "sim-malformed": ("tool_calls", None),
    "sim-refuse": ("content_filter", None),
    "sim-refusal": ("content_filter", None),
    "sim-blocked": ("content_filter", None),
    "sim-hangup": ("length", None),
    "sim-odd": ("length", None),
    "sim-empty": ("stop", None),
    "sim-no-reason": ("length", None),
    "sim-429": (429, None),
    "sim-500": (502, None),
    "sim-overloaded": (503, None),
    "sim-html": (502, None),
}
#: What an upstream of the client's own dialect said goes through.
WATCHED = {
    "sim-refusal": "stop",
    "sim-blocked": 400,
    "sim-odd": "solar_flare",
    "sim-no-reason": None,
    "sim-500": 500,
}
#: Dialects that cannot say it: (dialect, model) → what is told, continued or watched.
ELSE = {
    ("gemini", "sim-cut-tool"): ("tool_calls", 502),  # MALFORMED_FUNCTION_CALL, without the call
    ("gemini", "sim-malformed"): ("tool_calls", 502),
    ("ollama", "sim-malformed"): ("stop", "stop"),  # its parser gives such a call back as text
}


def expected(dialect, model, mode, *, stream):
    if mode == "observe" and dialect == "openai" and model in WATCHED:
        return WATCHED[model]
    if mode == "observe" and dialect == "openai" and model == "sim-hangup" and stream:
        return "error event"
    if (dialect, model) == ("gemini", "sim-no-reason") and stream:
        return "length"  # nothing but its reason says that a stream of this dialect has ended
    if (dialect, model, mode) == ("bedrock", "sim-malformed", "observe") and not stream:
        return 502  # a whole answer does not hold what could not be parsed
    continued, watched = ELSE.get((dialect, model), TOLD[model])
    return watched if mode == "observe" and watched is not None else continued


def told(answer: Answer):
    if answer.status != 200:
        assert answer.json["error"]["message"]
        return answer.status
    if not answer.headers["content-type"].startswith("text/event-stream"):
        return answer.choice["finish_reason"]
    if any("error" in chunk for chunk in answer.chunks):
        assert "[DONE]" not in answer.events
        return "error event"
    assert answer.events[-1] == "[DONE]"
    return answer.finish_reasons[-1] if answer.finish_reasons else None


#: Those whose forms are least alike; the others differ from one of them in words, which their codecs' tests hold.
OF_EACH_KIND = {"openai", "openai_responses", "anthropic", "gemini"}


@pytest.mark.parametrize("dialect", [one if one in OF_EACH_KIND else nightly(one) for one in PROVIDERS])
def test_every_ending_is_reported_to_the_client_as_tabulated(gate, agent_at, connected, dialect):
    connection = connected(dialect)
    for model in TOLD:
        for mode in ("observe", "continue"):
            agent = agent_at(model, dialect, connection=connection, name=f"{model}-{mode}", gateway_mode=mode)
            for stream in (False, True):
                tools = {"tools": TOOLS, "max_tokens": 60} if TOLD[model][0] == "tool_calls" else {}
                answer = gate.ask(model=agent.name, stream=stream, **tools)
                case = (model, mode, "stream" if stream else "whole", answer.body[-2000:])
                assert told(answer) == expected(dialect, model, mode, stream=stream), case
                turn = turn_of(answer)
                assert verify(recording_of(turn)).verified, case
                assert turn.verdict, case
                assert GatewayCall.objects.get(turn_id=turn.id).status == answer.status, case


def test_a_pause_is_resumed_in_both_modes(gate, agent_at, connected):
    connection = connected("anthropic")
    for mode in ("observe", "continue"):
        agent = agent_at("sim-pause", connection=connection, name=mode, gateway_mode=mode)
        for stream in (False, True):
            answer = gate.ask(model=agent.name, stream=stream)
            assert told(answer) == "stop"
            turn = turn_of(answer)
            assert (turn.status, turn.attempts) == ("completed", 2)
            assert verify(recording_of(turn)).verified
            assert turn.output_text == (answer.text if stream else answer.choice["message"]["content"])


def test_a_full_context_is_length_with_text_and_an_error_without(gate, agent_at, connected):
    """Bedrock names it as a reason, after text; OpenAI answers with an error."""
    for dialect, status in (("bedrock", "length"), ("openai", 400)):
        connection = connected(dialect)
        for mode in ("observe", "continue"):
            agent = agent_at("sim-context", connection=connection, name=f"{dialect}-{mode}", gateway_mode=mode)
            for stream in (False, True):
                answer = gate.ask(model=agent.name, stream=stream)
                assert told(answer) == status
                if status == 400:
                    assert answer.json["error"]["code"] == "context_length_exceeded"


def test_the_text_of_a_blocked_answer_is_withheld(gate, agent_at):
    agent_at("sim-refuse", name="helper")
    message = gate.ask(model="helper").choice["message"]
    assert (message["content"], message["refusal"]) == (None, None)
    agent_at(
        "sim-refusal",
        name="other",
        connection=agent_at("sim-essay", name="third", dialect="openai_responses").connection,
    )
    message = gate.ask(model="other").choice["message"]
    assert message["content"] is None
    assert "heron" in message["refusal"]
