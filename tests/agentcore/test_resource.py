"""Which limit ended a turn, for every way a turn can end."""

from collections.abc import Callable
from functools import partial

import pytest

from agentcore.error_policy import ErrorPolicy
from agentcore.errors import ErrorType
from agentcore.events import APPROVAL_TIME_LIMIT, Approvals, OperatorActed, OperatorAction
from agentcore.reasons import NormalizedStopReason
from agentcore.resource import APPROVAL_SECONDS, RESOURCES, no_retry_helps, resource_in, resource_of
from agentcore.snapshot import Snapshot
from agentcore.states import State
from agentcore.values import replace
from tests.agentcore.machine.stories import SCHEMA, STORIES
from tests.agentcore.playbook import (
    Playbook,
    blocked,
    call,
    called,
    cancelled,
    cut_call,
    ended,
    error,
    play,
    stopped,
    tools_returned,
    truncated,
    woke_up,
)
from tests.together import together

TWICE = {"error_policy": ErrorPolicy.retry_all(2)}
Ends = list[tuple[Playbook, str, str | None]]


def ends(play: Callable[..., Playbook]) -> Ends:
    """A turn, its terminal reason, and what ran out."""
    return [
        (play(*(truncated(text) for text in "abcd")), "retry_limit", "max_continuations"),
        (play(truncated("a", tokens=60), watched=True, revision=1, max_continuations=0), "max_tokens", "max_tokens"),
        (play(truncated("a"), max_total_completion_tokens=5), "budget_exhausted", "max_total_completion_tokens"),
        (
            play(truncated("a"), output_floor=16, max_total_completion_tokens=20),
            "budget_exhausted",
            "max_total_completion_tokens",
        ),
        (play(truncated("a"), max_total_tokens=5), "budget_exhausted", "max_total_tokens"),
        (play(cut_call(), max_total_tokens=5), "budget_exhausted", "max_total_tokens"),
        (play(truncated("abc"), max_total_output_chars=2), "output_cap", "max_total_output_chars"),
        (play(ended("abc"), max_total_output_chars=2), "output_cap", "max_total_output_chars"),
        (play(truncated(), truncated()), "repetition", None),
        (play(cut_call(), cut_call()), "tool_repair_failed", "max_tool_repair_attempts"),
        (play(called(call()), max_steps=1), "forbidden", "max_steps"),
        (play(called(call()), tools_returned(), max_seconds=1.5), "forbidden", "max_seconds"),
        (
            play(truncated("{"), envelope_schema=SCHEMA, schema_rounds=0),
            "envelope_truncation_unrecoverable",
            "schema_rounds",
        ),
        (play(ended("{}"), envelope_schema=SCHEMA, schema_rounds=0), "envelope_invalid", "schema_rounds"),
        (
            play(truncated("{"), envelope_schema=SCHEMA, ceiling=60),
            "envelope_truncation_unrecoverable",
            "max_output_tokens",
        ),
        (
            play(stopped(NormalizedStopReason.CONTEXT_WINDOW_EXCEEDED, "x", "{"), envelope_schema=SCHEMA),
            "envelope_truncation_unrecoverable",
            None,
        ),
        (play(blocked(), envelope_schema=SCHEMA), "envelope_refusal", None),
        (play(error(), woke_up(), error(), **TWICE), "provider_error", "max_retries"),
        (play(error(), max_total_tokens=5), "provider_error", None),
        (play(error(ErrorType.TIMEOUT), max_seconds=0.5), "provider_error", "max_seconds"),
        (play(error(retryable=False), **TWICE), "provider_error", None),
        (play(error(), woke_up(), error(retryable=False), **TWICE), "provider_error", None),
        (play(error(), woke_up(), error(retry_after=900.0), **TWICE), "provider_error", None),
        (play(error(), woke_up(), error(retry_after=2.0), **TWICE), "provider_error", "max_retries"),
        (play(error(stop_reason=NormalizedStopReason.CONTEXT_WINDOW_EXCEEDED)), "context_window_exceeded", None),
        (play(blocked(), max_total_tokens=1), "safety_blocked", None),
        (play(ended("a"), max_total_tokens=1), "completed", None),
        (play(truncated("a"), cancelled(), max_continuations=1), "cancelled", None),
        (play(called(call()), finish_reasons=(NormalizedStopReason.TOOL_CALL,)), "forbidden", None),
    ]


NOW = ends(play)
APPROVALS = {"approvals": Approvals(("calculator",), 30)}
EXPIRED = (called(call()), OperatorActed(0.0, APPROVAL_TIME_LIMIT, OperatorAction.REFUSE), tools_returned())
#: Which calls nobody approved in time is not in a judgement.
UNJUDGED: Ends = [
    (play(*EXPIRED, **APPROVALS), "forbidden", APPROVAL_SECONDS),
    (play(*EXPIRED, **APPROVALS, error_policy=ErrorPolicy.retry_tool_errors(1)), "forbidden", APPROVAL_SECONDS),
    (play(called(call()), cancelled(by=APPROVAL_TIME_LIMIT), **APPROVALS), "cancelled", APPROVAL_SECONDS),
    (play(called(call()), cancelled(by="ada"), **APPROVALS), "cancelled", None),
]
#: The same by rules that name some limits in words alone.
EARLIER = ends(partial(play, revision=4))


@together
@pytest.mark.parametrize(("book", "terminal_reason", "resource"), [*NOW, *UNJUDGED, *EARLIER])
def test_an_exhausted_resource_is_named_by_its_policy_key(book: Playbook, terminal_reason: str, resource: str | None):
    assert (book.end.terminal_reason, resource_of(book.snapshot)) == (terminal_reason, resource)


@together
@pytest.mark.parametrize(("book", "resource"), [(book, resource) for book, _, resource in NOW])
def test_the_wording_of_an_evaluation_does_not_decide_which_limit_it_was(book: Playbook, resource: str | None):
    last, end = book.snapshot, replace(book.end, error_message="…")
    said = [{**each, "reason": "…"} for each in last.outcome.to_dict()["evaluations"]]
    outcome = {**last.outcome.to_dict(), "evaluations": said}
    floor, hopeless = last.setup.output_floor, no_retry_helps(replace(last, end=end))
    reasons = (end.terminal_reason, end.stop_reason.value, last.model_stop_reason)
    assert resource_in(outcome, *reasons, floor=floor, hopeless=hopeless) == resource


def test_every_resource_ends_a_turn_in_these_tests():
    assert {resource for _, _, resource in [*NOW, *UNJUDGED] if resource} == set(RESOURCES)


@together
@pytest.mark.parametrize("story", STORIES)
def test_every_snapshot_has_a_resource_or_none(story):
    snapshot = story().snapshot
    assert resource_of(snapshot) in (None, *RESOURCES)
    if snapshot.state not in (State.COMPLETE, State.ABORT):
        assert resource_of(snapshot) is None


def test_a_turn_that_has_not_started_has_exhausted_nothing():
    assert resource_of(Snapshot()) is None
