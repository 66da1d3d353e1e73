"""stop-reason-state-machine: the structured events of a turn, each with its fields."""

from collections.abc import Callable
from typing import Any

import pytest

from agentcore.messages import CallIssue
from dashboard.turns.record_reader import records_of
from tests.agentcore.playbook import (
    Playbook,
    blocked,
    call,
    called,
    cut_call,
    ended,
    malformed_call,
    started,
    tools_returned,
    truncated,
    unknown,
)
from tests.dashboard.driving import Play
from tests.spec.rules import rule

EVENTS = "stop-reason-state-machine §Observability Requirements"
PLACE = {"turn_id": "turn", "iteration": 1}
Story = Callable[[], Playbook]


def asked(**limits: Any) -> Playbook:
    return Playbook(max_tokens=10, **limits) >> started()


@rule(EVENTS, "`stop_reason_observed`: provider, model, normalized reason, raw reason, turn id, iteration")
def test_stop_reason_observed_has_its_fields() -> None:
    story = Playbook(provider="openai", model="m") >> started() >> truncated("a")
    assert story.observed("stop_reason_observed") == [
        {"provider": "openai", "model": "m", "normalized_reason": "max_tokens", "raw_reason": "length", **PLACE}
    ]


@rule(EVENTS, "`stop_reason_observed` is emitted once per answer, with the answer's iteration")
def test_every_answer_is_observed_once() -> None:
    story = asked() >> truncated("a", tokens=2) >> called(call()) >> tools_returned() >> ended("b")
    seen = story.observed("stop_reason_observed")
    assert [(one["normalized_reason"], one["iteration"]) for one in seen] == [
        ("max_tokens", 1),
        ("tool_call", 1),
        ("end_turn", 2),
    ]


@rule(EVENTS, "`stop_reason_observed` keeps an unknown word")
def test_an_unknown_reason_is_observed_verbatim() -> None:
    (seen,) = (asked() >> unknown("solar_flare", "a")).observed("stop_reason_observed")
    assert (seen["normalized_reason"], seen["raw_reason"]) == ("unknown", "solar_flare")


@rule(EVENTS, "`continuation_attempt`: attempt index, cumulative output tokens and characters, budget remaining")
def test_continuation_attempt_has_its_fields() -> None:
    story = asked() >> truncated("four", tokens=10) >> truncated("more", tokens=10)
    told = [
        {"attempt": 1, "cumulative_output_tokens": 10, "cumulative_output_chars": 4, "budget_remaining": 30, **PLACE},
        {"attempt": 2, "cumulative_output_tokens": 20, "cumulative_output_chars": 8, "budget_remaining": 20, **PLACE},
    ]
    assert story.observed("continuation_attempt") == told


TERMINATIONS: dict[str, Story] = {
    "completed": lambda: asked() >> truncated("a") >> ended("b"),
    "retry_limit": lambda: asked(max_continuations=0) >> truncated("a"),
    "budget_exhausted": lambda: asked(max_total_completion_tokens=10) >> truncated("a", tokens=10),
    "safety_blocked": lambda: asked() >> truncated("a") >> blocked(),
}


@rule(EVENTS, "`continuation_terminated`: the terminal reason, which includes the document's four")
@pytest.mark.parametrize("reason", TERMINATIONS)
def test_continuation_terminated_has_its_reason(reason: str) -> None:
    assert TERMINATIONS[reason]().observed("continuation_terminated") == [{"terminal_reason": reason, **PLACE}]


@rule(EVENTS, "`continuation_terminated` is emitted for truncated answers only")
def test_an_answer_without_truncation_has_no_continuation_terminated() -> None:
    assert (asked() >> ended("a")).observed("continuation_terminated") == []


REPAIRS: dict[str, tuple[Story, CallIssue, bool, bool]] = {
    "repaired": (lambda: asked() >> cut_call() >> called(call()), CallIssue.TRUNCATED, True, True),
    "repair failed": (lambda: asked() >> cut_call() >> cut_call(), CallIssue.TRUNCATED, True, False),
    "not attempted": (
        lambda: asked(max_tool_repair_attempts=0) >> malformed_call(),
        CallIssue.MALFORMED,
        False,
        False,
    ),
}


@rule(EVENTS, "`tool_payload_repair`: parse issue, whether a repair was attempted, whether it succeeded")
@pytest.mark.parametrize("repair", REPAIRS)
def test_tool_payload_repair_has_its_fields(repair: str) -> None:
    story, issue, attempted, success = REPAIRS[repair]
    assert story().observed("tool_payload_repair") == [
        {"issue": issue, "repair_attempted": attempted, "success": success, **PLACE}
    ]


@rule(EVENTS, "Every event of a turn is stored with its record")
@pytest.mark.django_db(transaction=True)
def test_events_are_stored_with_their_records(play: Play) -> None:
    turn = play("sim-essay", overrides={"max_tokens": 150})
    seen = [one for record in records_of(turn.id) for one in record.observed]
    told = {one["type"] for one in seen}
    assert told >= {"stop_reason_observed", "continuation_attempt", "continuation_terminated"}
    assert {one["turn_id"] for one in seen} == {str(turn.id)}
