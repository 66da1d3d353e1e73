"""stop-reason-state-machine: when an answer is continued, the moves of the diagram, and the hard limits."""

from collections.abc import Callable
from typing import Any

import pytest

from agentcore import AttemptKind, Limits, NormalizedStopReason, State, StopReason, Trigger, TurnStatus
from agentcore.commands import CallModel
from agentcore.policy import SPEC_KEYS
from dashboard.agents.policies import draft_policy
from dashboard.agents.policy_validation import limits_clean
from tests.agentcore.playbook import (
    Playbook,
    blocked,
    call,
    call_model,
    called,
    cut_call,
    ended,
    finish,
    started,
    stopped,
    tools_returned,
    truncated,
    unknown,
)
from tests.spec.rules import Kind, rule

R = NormalizedStopReason
GOALS = "stop-reason-state-machine §Goals"
DIAGRAM = "stop-reason-state-machine §State diagram"
HARD_LIMITS = "stop-reason-state-machine §Hard limits"
CONFIG = "stop-reason-state-machine §Config layer"


def calls_made(story: Playbook) -> int:
    return sum(isinstance(step.command, CallModel) for step in story.steps)


def cut_for_ever(text: str = "more ", **limits: Any) -> Playbook:
    """A turn whose every answer is cut, at ten tokens a call, until it ends."""
    story = Playbook(max_tokens=10, **limits) >> started()
    for number in range(50):
        if not isinstance(story.command, CallModel):
            return story
        story = story >> truncated(f"{number} {text}")
    raise AssertionError("fifty answers were cut, and the turn goes on")


# Goals ----------------------------------------------------------------------------------------------------------------


@rule(GOALS, "Only a truncated answer is continued; no other reason leads to a continuation")
@pytest.mark.parametrize("reason", list(R))
def test_only_a_truncated_answer_is_continued(reason: R) -> None:
    story = Playbook() >> started() >> stopped(reason, "word", "some text")
    continued = isinstance(story.command, CallModel) and story.command.kind is AttemptKind.CONTINUATION
    assert continued is (reason is R.MAX_TOKENS)


@rule(GOALS, "Retries are bounded")
@pytest.mark.parametrize("limit", [0, 1, 5])
def test_the_number_of_continuations_is_limited(limit: int) -> None:
    story = cut_for_ever(max_continuations=limit, max_total_completion_tokens=10_000)
    assert calls_made(story) == 1 + limit


@rule(GOALS, "Total output growth is bounded")
def test_the_growth_of_the_output_is_limited() -> None:
    story = cut_for_ever("x" * 98, max_continuations=99, max_total_completion_tokens=10_000, max_total_output_chars=250)
    assert len(story.end.output_text) == 250


@rule(GOALS, "A tool call with incomplete JSON never runs")
def test_a_partial_tool_call_is_never_run() -> None:
    story = asked() >> cut_call("Let me see. ") >> cut_call()
    assert State.EXECUTE_TOOLS not in {target for _, _, target in story.moves}


# The diagram ----------------------------------------------------------------------------------------------------------

ARROWS: list[tuple[tuple[State, Trigger, State], Callable[[], Playbook]]] = [
    ((State.REQUEST, Trigger.RESPONDED, State.EVALUATE_STOP), lambda: asked() >> ended("a")),
    ((State.EVALUATE_STOP, Trigger.END_TURN, State.COMPLETE), lambda: asked() >> ended("a")),
    ((State.EVALUATE_STOP, Trigger.TOOL_CALL, State.EXECUTE_TOOLS), lambda: asked() >> called(call())),
    ((State.EVALUATE_STOP, Trigger.MAX_TOKENS, State.CONTINUE_PENDING), lambda: asked() >> truncated("a")),
    ((State.EVALUATE_STOP, Trigger.SAFETY_BLOCKED, State.ABORT), lambda: asked() >> blocked()),
    (
        (State.EVALUATE_STOP, Trigger.CONTEXT_WINDOW_EXCEEDED, State.ABORT),
        lambda: asked() >> stopped(R.CONTEXT_WINDOW_EXCEEDED, "model_context_window_exceeded", "a"),
    ),
    ((State.EVALUATE_STOP, Trigger.UNKNOWN_FATAL, State.ABORT), lambda: asked() >> unknown("strange")),
    (
        (State.CONTINUE_PENDING, Trigger.UNDER_LIMITS, State.REQUEST_CONTINUATION),
        lambda: asked() >> truncated("a"),
    ),
    (
        (State.REQUEST_CONTINUATION, Trigger.RESPONDED, State.EVALUATE_STOP),
        lambda: asked() >> truncated("a") >> ended("b"),
    ),
    (
        (State.CONTINUE_PENDING, Trigger.RETRY_LIMIT, State.ABORT_PARTIAL),
        lambda: asked(max_continuations=0) >> truncated("a"),
    ),
    (
        (State.CONTINUE_PENDING, Trigger.BUDGET_EXHAUSTED, State.ABORT_PARTIAL),
        lambda: asked(max_total_completion_tokens=1) >> truncated("a"),
    ),
    (
        (State.ABORT_PARTIAL, Trigger.RETURN_PARTIAL_WITH_NOTICE, State.COMPLETE),
        lambda: asked(max_continuations=0) >> truncated("a"),
    ),
    (
        (State.EVALUATE_CONTINUATION, Trigger.CONTINUE, State.REQUEST),
        lambda: asked() >> called(call()) >> tools_returned(),
    ),
]


def asked(**limits: Any) -> Playbook:
    return Playbook(**limits) >> started()


@rule(DIAGRAM, "Every arrow of the diagram is a transition of the machine")
@pytest.mark.parametrize(("arrow", "story"), ARROWS, ids=[f"{s}-{t}-{e}" for (s, t, e), _ in ARROWS])
def test_every_arrow_of_the_diagram_is_a_transition(
    arrow: tuple[State, Trigger, State], story: Callable[[], Playbook]
) -> None:
    assert arrow in story().moves


@rule(DIAGRAM, "A truncated answer that may not be continued is returned unchanged, with a separate notice")
def test_a_partial_answer_is_returned_with_a_notice() -> None:
    story = asked(max_continuations=0) >> truncated("half an answer")
    assert story << finish("half an answer", StopReason.RETRY_LIMIT, TurnStatus.PARTIAL, "retry_limit")
    assert "incomplete" in story.end.notice


@rule(DIAGRAM, "Tool results are appended to the conversation before the next request")
def test_tool_results_are_in_the_next_request() -> None:
    story = asked() >> called(call(id="a")) >> tools_returned() << call_model(AttemptKind.AFTER_TOOLS)
    assert [(m.role, m.tool_call_id) for m in story.command.request.messages][1:] == [
        ("assistant", None),
        ("tool", "a"),
    ]


# Hard limits ----------------------------------------------------------------------------------------------------------


@rule(HARD_LIMITS, "max_continuations_per_turn is 3", Kind.DEFAULT)
def test_three_continuations_are_made_by_default() -> None:
    assert Limits().max_continuations == 3
    story = cut_for_ever(max_total_completion_tokens=10_000)
    assert calls_made(story) == 1 + 3
    assert story << finish(stop_reason=StopReason.RETRY_LIMIT, terminal="retry_limit")


@rule(HARD_LIMITS, "max_total_completion_tokens_per_turn is four times the first max_tokens", Kind.DEFAULT)
def test_four_times_the_first_max_tokens_may_be_spent_by_default() -> None:
    story = cut_for_ever(max_continuations=99)
    assert (story.snapshot.completion_budget, story.snapshot.spent.output_tokens) == (4 * 10, 4 * 10)
    assert story << finish(stop_reason=StopReason.TOKEN_LIMIT, terminal="budget_exhausted")


@rule(HARD_LIMITS, "The token total can be configured")
def test_the_token_total_can_be_configured() -> None:
    story = cut_for_ever(max_continuations=99, max_total_completion_tokens=70)
    assert story.snapshot.spent.output_tokens == 70
    assert story << finish(terminal="budget_exhausted")


@rule(HARD_LIMITS, "max_total_output_chars_per_turn is 120,000", Kind.DEFAULT)
def test_the_default_limit_is_120_000_characters() -> None:
    assert Limits().max_total_output_chars == 120_000
    story = Playbook() >> started() >> ended("x" * 120_001)
    assert story << finish("x" * 120_000, StopReason.GUARD, TurnStatus.PARTIAL, "output_cap")
    assert Playbook() >> started() >> ended("x" * 120_000) << finish("x" * 120_000, status=TurnStatus.COMPLETED)


# Configuration --------------------------------------------------------------------------------------------------------

KEYS = {
    "continuation_max_attempts": "max_continuations",
    "continuation_max_output_chars": "max_total_output_chars",
    "continuation_max_total_completion_tokens": "max_total_completion_tokens",
    "continuation_tool_repair_attempts": "max_tool_repair_attempts",
}


@rule(CONFIG, "Each of the four keys sets its limit")
@pytest.mark.parametrize(("key", "limit"), KEYS.items())
def test_a_key_of_the_document_sets_the_corresponding_limit(key: str, limit: str) -> None:
    assert SPEC_KEYS == KEYS
    assert limits_clean({key: 7}) == {limit: 7}
    assert getattr(draft_policy({"limits": limits_clean({key: 7})}).limits, limit) == 7
