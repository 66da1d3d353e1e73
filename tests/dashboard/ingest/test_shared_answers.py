"""A call that two traces tell of, by a vendor's own tracing and by an instrumentation, is one attempt."""

import random
from dataclasses import replace
from itertools import permutations
from typing import Any
from uuid import UUID

import pytest

from dashboard.accounts.models import User
from dashboard.agents.selectors import project_default
from dashboard.ingest.conventions.answer_ids import is_issued
from dashboard.ingest.conventions.spans import Span
from dashboard.ingest.models import Ingested, Piece
from dashboard.ingest.services import LargeError, ingest
from dashboard.timeline.services import turns_erase
from dashboard.turns.models import Turn
from tests.dashboard.ingest import exports

pytestmark = pytest.mark.django_db

SECOND = 10**9
START = 1_790_000_000 * SECOND
ANSWER = "chatcmpl-B9MHDbslfkBeAs8l4bebGdFOJ6PeG"
VENDOR, OTHER = "vendor.sdk", "opentelemetry.instrumentation.openai_v2"


def told(
    trace: int, scope: str = VENDOR, *, answer: str = ANSWER, at: float = 0, parent: str = "", **more: Any
) -> Span:
    """A call as `scope` tells it, in a trace of this number, that begins `at` seconds after the first."""
    start = START + int(at * SECOND)
    attributes = {
        "gen_ai.operation.name": "chat", "gen_ai.request.model": "gpt-x", "gen_ai.response.id": answer,
        "gen_ai.response.finish_reasons": ["stop"], "gen_ai.usage.output_tokens": 17, "gen_ai.usage.input_tokens": 21,
        **{name.replace("__", "."): value for name, value in more.items()},
    }  # fmt: skip
    span = f"{trace:02x}{start % 10**14:014x}"[:16]
    return Span(f"{trace:032x}", span, parent, "chat", start, start + SECOND, scope, attributes=attributes)


def agent(trace: int, span: str = "a" * 16) -> Span:
    about = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "thinker"}
    return Span(f"{trace:032x}", span, "", "agent", START - SECOND, START + 60 * SECOND, VENDOR, attributes=about)


def attempts() -> list[int]:
    return sorted(Turn.objects.values_list("attempts", flat=True))


def test_two_roots_of_one_answer_are_one_attempt_that_references_the_other() -> None:
    exports.send(told(1))
    first = Turn.objects.get().id
    exports.send(told(2, OTHER, at=0.1))
    turn = Turn.objects.get()
    assert (turn.id, turn.attempts, turn.ingested.instrumentations) == (first, 1, [VENDOR, OTHER])
    (words,) = (note["words"] for note in turn.ingested.notes if note["code"] == "told_twice")
    assert f"{2:032x} came as a trace of its own" in words


def test_calls_of_an_agent_absorb_lone_roots_in_any_order_and_twice() -> None:
    ids = [f"resp_{place}{'abcdefghij' * 2}" for place in range(3)]
    calls = [told(1, answer=one, at=3 * place, parent="a" * 16) for place, one in enumerate(ids)]
    lone = [told(10 + place, OTHER, answer=one, at=3 * place + 0.1) for place, one in enumerate(ids)]
    late = Span(f"{10:032x}", "b" * 16, lone[0].id, "GET", START, START + 1)  # nothing about a model
    parts = [agent(1), *calls, *lone, late]
    exports.send(*parts)
    expected = exports.stored()
    assert len(expected["Turn"]) == 3
    assert [len(row["spans"]) for row in expected["Ingested"]] == [2, 2, 2]
    chance = random.Random(41)
    for _ in range(12):
        exports.emptied()
        for part in chance.sample(parts, len(parts)) + chance.sample(parts, 2):
            exports.send(part)
        assert exports.stored() == expected


def test_three_reports_of_one_call_are_one_in_any_order() -> None:
    parts = [told(1), told(2, OTHER, at=0.1), told(3, "third", at=0.2)]
    expected = None
    for order in permutations(parts):
        for part in order:
            exports.send(part)
        expected = expected or exports.stored()
        assert exports.stored() == expected
        exports.emptied()
    assert expected is not None
    assert len(expected["Turn"]) == 1


def test_a_lone_call_that_gains_an_agent_span_is_a_turn_again() -> None:
    own = told(2, OTHER, at=0.1, parent="c" * 16)
    parts = [agent(1), told(1, parent="a" * 16), own, agent(2, "c" * 16)]
    for part in parts[:3]:
        exports.send(part)
    assert len(attempts()) == 1
    exports.send(parts[3])
    assert len(attempts()) == 2, "each has a loop of its own"


@pytest.mark.parametrize(
    "other",
    [
        told(2, VENDOR, at=0.1),
        told(2, OTHER, at=1.5),
        told(2, OTHER, at=0.1, gen_ai__usage__output_tokens=18),
        told(2, OTHER, at=0.1, gen_ai__request__model="claude-x"),
        told(2, OTHER, at=0.1, answer="chatcmpl-B9MHDbslfkBeAs8l4bebGdFOJ6PeX"),
        replace(told(2, OTHER, at=0.1), service="another"),
    ],
    ids=["the same instrumentation", "after it", "other counts", "another model", "another answer", "another program"],
)
def test_contradicting_reports_stay_two_calls(other: Span) -> None:
    exports.send(replace(told(1), service="app"), other)
    assert attempts() == [1, 1]


def test_an_unnamed_program_may_be_a_named_one() -> None:
    exports.send(replace(told(1), service="app"), replace(told(2, OTHER, at=0.1), service="unknown_service:python"))
    assert attempts() == [1]


def test_differing_requests_or_answers_stay_two_calls() -> None:
    for name in ("gen_ai.prompt.0", "gen_ai.completion.0"):
        role = "user" if "prompt" in name else "assistant"
        said = ({f"{name}.role": role, f"{name}.content": words} for words in ("One", "Two"))
        one, two = (
            replace(span, attributes={**span.attributes, **more}) for span, more in zip(PAIR, said, strict=True)
        )
        exports.send(one, two)
        assert attempts() == [1, 1], name
        exports.emptied()


PAIR = told(1), told(2, OTHER, at=0.1)


def test_two_simultaneous_calls_with_one_cached_id_are_not_matched() -> None:
    """It is not known which account is of which call."""
    exports.send(told(1), told(2, OTHER, at=0.1), told(3, at=0.2), told(4, OTHER, at=0.3))
    assert attempts() == [1, 1, 1, 1]


def test_consecutive_calls_with_one_cached_id_are_separate_attempts() -> None:
    exports.send(told(1), told(2, OTHER, at=0.1), told(3, at=20), told(4, OTHER, at=20.1))
    assert attempts() == [1, 1]


def test_an_id_repeated_by_a_server_eventually_joins_nothing() -> None:
    many = [told(place, at=20 * place) for place in range(1, 9)]
    exports.send(*PAIR)
    assert attempts() == [1]
    for span in many[1:]:
        exports.send(replace(span, trace=f"{int(span.trace, 16) + 50:032x}"))
    assert attempts() == [1] * 9
    exports.emptied()
    exports.send(*PAIR, *(replace(span, trace=f"{int(span.trace, 16) + 50:032x}") for span in many[1:]))
    assert attempts() == [1] * 9


@pytest.mark.parametrize(
    ("told_id", "issued"),
    [
        (ANSWER, True), ("msg_01XFDUDYJgAACzvnptvVoYEL", True), ("resp_67ccd2bed1ec8190b14f964abc054267", True),
        ("cmpl-5f2a0c1be4d94f6c8a3e7b9d0f112233", True), ("chatcmpl-123", False), ("chatcmpl-cached-answer", False),
        ("0000000000000000000000", False), ("", False),
    ],
)  # fmt: skip
def test_ids_given_by_a_provider_are_recognized(told_id: str, issued: bool) -> None:
    assert is_issued(told_id) is issued


def test_a_lone_call_is_as_much_work_as_the_trace_it_belongs_to() -> None:
    calls = [told(1, at=3 * place, answer=f"{ANSWER}{place}", parent="a" * 16) for place in range(5)]
    exports.send(agent(1), *calls)
    lone, project = exports.taken_of([told(2, OTHER, at=0.1, answer=f"{ANSWER}0")]), project_default().pk
    with pytest.raises(LargeError):
        ingest(project_id=project, taken=lone, by=None, most=5)
    assert not Piece.objects.filter(trace=f"{2:032x}").exists()
    ingest(project_id=project, taken=lone, by=None, most=7)
    assert sum(len(spans) for spans in Ingested.objects.values_list("spans", flat=True)) == 6


def test_another_senders_report_is_another_turn() -> None:
    exports.send(PAIR[0], sender=UUID(int=1))
    exports.send(PAIR[1], sender=UUID(int=2))
    assert attempts() == [1, 1]


def test_erasing_a_turn_erases_both_reports() -> None:
    user = User.objects.create_user("ada")
    exports.send(*PAIR, told(7, answer="chatcmpl-OtherAnswer1234567890"))
    gone = Ingested.objects.get(trace=f"{1:032x}").turn_id
    turns_erase(project=project_default(), chosen=[gone], by=user)
    assert {piece.trace.int for piece in Piece.objects.all()} == {7}
