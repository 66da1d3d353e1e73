"""What a provider sends is told whole: a text that repeats itself comes back with every copy, whole and streamed."""

import json

import pytest

from dashboard.turns.models import Turn
from tests.dashboard.gateway.served.conftest import turn_of
from tests.dashboard.gateway.served.upstream import Upstream, said, whole
from tests.together import together

TEXTS = {
    "array": json.dumps([{"ok": True}] * 61),
    "csv": "day,failures\n" + "2026-11-23,0,0\n" * 30 + "2026-11-24,1,0\n",
    "rule": "|----------|----------|\n" * 6 + "end",
    "laughs": "ha " * 60 + "end",
    "log": "GET /health 200 in 3 ms\n" * 25 + "GET /crash 500\n",
}
STEP = 97  #: characters of each answer


@pytest.fixture
def patient(continued, agent_at, policy_named):
    """An agent that continues as often as it takes."""
    limits = {"max_continuations": 30, "max_total_completion_tokens": 100_000}
    return agent_at("m", connection=continued.connection, name="patient", policy=policy_named(limits=limits))


def pieces_of(text: str) -> list[str]:
    return [text[at : at + STEP] for at in range(0, len(text), STEP)]


@pytest.mark.django_db(transaction=True)
@together
@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("name", TEXTS)
def test_a_provider_that_repeats_nothing_loses_nothing(gate, upstream: Upstream, patient, stream, name):
    pieces = pieces_of(TEXTS[name])
    reasons = ["length"] * (len(pieces) - 1) + ["stop"]
    replies = [
        said(*(piece[at : at + 5] for at in range(0, len(piece), 5)), reason=reason) if stream else whole(piece, reason)
        for piece, reason in zip(pieces, reasons, strict=True)
    ]
    upstream.says(*replies)
    answer = gate.ask(model=patient.name, stream=stream)
    text = answer.text if stream else answer.json["choices"][0]["message"]["content"]
    turn = turn_of(answer)
    assert text == turn.output_text == TEXTS[name]
    assert turn.continuations == len(pieces) - 1
    assert "ambiguous_seam" in turn.lint


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("cut", "told"),
    [
        ('One moment. <tool_call>{"name": "look", "argu', "One moment. Nothing there."),
        ('{"name": "look", "parameters": {"wh', "Nothing there."),
    ],
)
def test_markup_of_a_truncated_tool_call_is_never_sent_as_text(gate, upstream: Upstream, continued, cut, told):
    look = {"name": "look", "parameters": {"type": "object", "properties": {}}}
    upstream.says(said(*(cut[at : at + 4] for at in range(0, len(cut), 4)), reason="length"), said("Nothing there."))
    answer = gate.ask(model="continued", stream=True, tools=[{"type": "function", "function": look}])
    assert answer.text == told
    turn = Turn.objects.get(id=turn_of(answer).id)
    assert (turn.status, turn.tool_repairs) == ("completed", 1)
