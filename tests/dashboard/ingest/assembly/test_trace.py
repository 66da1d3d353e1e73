"""What the recorded exports of real instrumentations become, turn by turn."""

from collections import Counter

import pytest

from agentcore.replay import Record, Recording, verify
from agentcore.snapshot import Snapshot
from dashboard.ingest.assembly.trace import TraceTurn, turns_of
from dashboard.ingest.conventions.span_reader import seen
from dashboard.ingest.services import base_policy
from tests.dashboard.ingest import exports
from tests.dashboard.ingest.export_outcomes import BECOMES, Becomes
from tests.together import together

#: Said of every export of an instrumentation, and so not each time.
ALWAYS = {"told_twice", "loop_reason", "loop_failed"}


def made_of(name: str) -> list[TraceTurn]:
    taken = exports.export(name)
    (trace,) = {span.trace for span in taken.spans}
    told = [seen(span, [log for log in taken.logs if log.span == span.id]) for span in taken.spans]
    parents = {span.id: span.parent for span in taken.spans}
    return turns_of(trace, [one for one in told if one], parents, base_policy(), lambda *_: [])


def became(made: TraceTurn) -> Becomes:
    snapshot, last = made.history.snapshot, made.history.turn.steps[-1]
    assert snapshot.end is not None
    answer, spent = last.answer, snapshot.own
    whole = [call.name for call in answer.tool_calls]
    broken = [f"{call.name}!" for call in answer.broken_tool_calls]
    counted = all(step.call.usage is not None for step in made.history.turn.steps)
    return Becomes(
        snapshot.end.status.value,
        snapshot.model_stop_reason,
        snapshot.raw_stop_reason,
        len(made.history.turn.steps),
        (*whole, *broken),
        (spent.input_tokens, spent.output_tokens) if counted else None,
        tuple(sorted({note.code for note in made.notes} - ALWAYS)),
    )


@together
@pytest.mark.parametrize("name", sorted(BECOMES))
def test_an_export_becomes_the_turns_listed_in_the_map(name: str) -> None:
    assert [became(made) for made in made_of(name)] == BECOMES[name]


def test_every_recorded_export_is_in_the_table() -> None:
    assert sorted(BECOMES) == exports.names()
    assert len(exports.names()) + sum(path.name.endswith(".logs.json") for path in exports.FOLDER.iterdir()) == 87 + 4


@together
@pytest.mark.parametrize("name", sorted(BECOMES))
def test_the_history_of_an_export_verifies(name: str) -> None:
    for made in made_of(name):
        history = made.history
        records = tuple(Record.of(n, told.event, told.moved) for n, told in enumerate(history.told, start=1))
        assert verify(Recording(history.policy, Snapshot(), records)).verified


def test_a_call_reported_by_sdk_and_instrumentation_is_one_attempt() -> None:
    twice = [made for name in BECOMES if "anthropic" in name for made in made_of(name)]
    spans = Counter(span for made in twice for step in made.history.turn.steps for span in step.call.spans)
    assert set(spans.values()) == {1}
    assert all(len(step.call.spans) == 2 for made in twice for step in made.history.turn.steps)


def test_the_reasons_of_the_loop_and_of_its_calls_are_both_kept() -> None:
    (made,) = made_of("vercel-ai-sdk-agent")
    assert [step.answer.raw_stop_reason for step in made.history.turn.steps] == ["tool-calls", "stop"]
    assert made.history.turn.loop is not None
    assert made.history.turn.loop.word == "stop"


def test_every_finish_reason_is_in_the_trail_with_its_source() -> None:
    (made,) = made_of("openllmetry-anthropic-trunc")
    trail = [(sighting.source, sighting.raw) for sighting in made.history.turn.steps[0].answer.reason_trail]
    assert trail[:2] == [
        ("anthropic.message.stop_reason", "max_tokens"),
        ("gen_ai.response.finish_reasons", "length"),
    ]
