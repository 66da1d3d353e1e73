"""From the end of a turn back to the provider's own word."""

import pytest

from agentcore.error_policy import ErrorPolicy
from agentcore.errors import ErrorType
from agentcore.events import Breakpoint
from agentcore.messages import ReasonSighting
from agentcore.policy import limit_in_words
from agentcore.reasons import NormalizedStopReason
from agentcore.replay import Recording, fold
from agentcore.resource import resource_of
from agentcore.states import State
from agentcore.values import replace
from agentcore.why import Derivation, Kind, derive, lines_of
from tests.agentcore.machine.stories import STORIES
from tests.agentcore.playbook import (
    Playbook,
    cancelled,
    ended,
    error,
    operator,
    play,
    released,
    said,
    truncated,
    woke_up,
)
from tests.together import together

#: What may stand right under what.
UNDER = {
    Kind.TERMINAL: {Kind.TRANSITION, Kind.CLAIM},
    Kind.CLAIM: {Kind.INPUT},
    Kind.TRANSITION: {Kind.EVALUATION, Kind.INPUT},
    Kind.EVALUATION: {Kind.CLAUSE, Kind.INPUT},
    Kind.CLAUSE: set(),
    Kind.INPUT: {Kind.PROVIDER_WORD},
    Kind.PROVIDER_WORD: set(),
}


def why(book: Playbook) -> Derivation:
    found = derive(book.stored())
    assert found is not None
    return found


@together
@pytest.mark.parametrize("story", STORIES)
def test_every_ended_turn_has_a_derivation_and_no_other_turn_does(story):
    book = story()
    found = derive(book.recording)
    assert (found is not None) == (book.snapshot.end is not None)
    if found is None:
        return
    assert found == derive(book.stored()), "what a database gives back tells the same"
    assert found.resource == resource_of(book.snapshot)
    assert (found.loop_reason, found.terminal_reason) == (book.end.stop_reason, book.end.terminal_reason)
    for node in found.tree.walk():
        assert {child.kind for child in node.because} <= UNDER[node.kind]
        assert node.words
        assert not node.words.endswith(".")


@together
@pytest.mark.parametrize("story", STORIES)
def test_the_providers_stop_reason_is_reached_wherever_it_was_received(story):
    book = story()
    found = derive(book.recording)
    if found is not None and found.raw_model_reason is not None:
        words = [node.fact("raw") for node in found.tree.walk() if node.kind is Kind.PROVIDER_WORD]
        assert words[:1] == [found.raw_model_reason]


def test_a_partial_ending_leads_back_to_the_limit_that_decided_it():
    found = why(play(*(truncated(text) for text in "abcd")))
    assert list(lines_of(found.tree)) == [
        "ended: complete, with status partial and terminal reason retry_limit",
        "└─ by: continue_pending → abort_partial, trigger retry_limit, then complete with a notice",
        "   └─ because: The rules for truncated answers forbade another call: 3 of 3 continuations used",
        "      ├─ under: Max continuations (max_continuations) is 3",
        "      ├─ from: 3 of 3 continuations used",
        "      └─ from: the model stopped: max_tokens, at 10 of 60 tokens: below the cap",
        "         └─ provider: said “length”",
    ]
    assert (found.resource, found.clause) == ("max_continuations", "limits.max_continuations")
    assert (found.seq, found.number) == (5, 13)


def test_the_three_reasons_are_kept_apart():
    found = why(play(truncated("a"), max_total_completion_tokens=5))
    assert (found.loop_reason, found.resource) == ("token_limit", "max_total_completion_tokens")
    assert (found.model_reason, found.raw_model_reason) == ("max_tokens", "length")
    whole = why(play(ended("done")))
    assert (whole.loop_reason, whole.resource, whole.clause) == ("completed", None, None)


def test_all_binding_limits_are_clauses_and_the_named_one_comes_first():
    found = why(play(truncated("a"), max_continuations=0, max_total_tokens=3))
    clauses = [node.name for node in found.tree.walk() if node.kind is Kind.CLAUSE]
    assert clauses == ["limits.max_continuations", "limits.max_total_tokens"]
    assert found.resource == "max_continuations"


def test_the_specs_key_is_shown_beside_a_limit():
    found = why(play(truncated("a"), max_continuations=0))
    clause = next(node for node in found.tree.walk() if node.kind is Kind.CLAUSE)
    assert (clause.fact("value"), clause.fact("spec_key")) == (0, "continuation_max_attempts")


def test_an_estimate_is_marked_as_one():
    found = why(play(truncated("a", tokens=None), max_total_completion_tokens=60))
    used = next(fact for node in found.tree.walk() for fact in node.facts if fact.name == "used")
    assert (used.value, used.estimated, used.shown) == (60, True, "about 60 completion tokens")


def test_a_limit_changed_by_an_operator_is_attributed_to_them():
    held = Breakpoint(state=State.CONTINUE_PENDING.value)
    found = why(play(truncated("a"), released(limits={"max_continuations": 0}), breakpoints=(held,)))
    clause = next(node for node in found.tree.walk() if node.kind is Kind.CLAUSE)
    assert clause.fact("changed_by") == "ada"
    assert clause.words == "Max continuations (max_continuations) is 0, as ada set it while the turn ran"


def test_an_intermediate_hold_decides_nothing():
    held = Breakpoint(state=State.ABORT_PARTIAL.value)
    found = why(play(truncated("a"), released(), max_continuations=0, breakpoints=(held,)))
    assert found.tree.because[0].fact("trigger") == "retry_limit"
    assert found.tree.because[0].fact("then") == "complete"


def test_the_trail_of_a_stop_reason_is_kept_with_the_most_severe_first():
    seen = (
        ReasonSighting("chunk", "stop", NormalizedStopReason.END_TURN, 1),
        ReasonSighting("native", "max_output_tokens", NormalizedStopReason.MAX_TOKENS, 5),
    )
    response = replace(truncated("a").response, reason_trail=seen, raw_stop_reason="stop")
    found = why(play(replace(truncated("a"), response=response), max_continuations=0))
    word = next(node for node in found.tree.walk() if node.kind is Kind.PROVIDER_WORD)
    assert word.words == "said “stop”, in native, then chunk"
    assert [(fact.name, fact.value) for fact in word.facts[2:]] == [("native", "max_output_tokens"), ("chunk", "stop")]


def test_an_error_is_reported_in_the_providers_words_below_the_decision_of_the_policy():
    limited = error(ErrorType.RATE_LIMIT, kind="rate_limit", status=429, code="slow_down")
    found = why(play(limited, woke_up(), limited, error_policy=ErrorPolicy.retry_all(2)))
    assert (found.resource, found.clause) == ("max_retries", "error_policy.max_retries")
    assert list(lines_of(found.tree))[3:] == [
        f"      ├─ under: {limit_in_words('max_retries')} is 2",
        "      ├─ from: 2 of 2 failures in a row",
        "      └─ from: the call failed: rate limit",
        "         └─ provider: 429 slow_down: “It broke.”",
    ]
    stopped = why(play(limited))
    assert (stopped.resource, stopped.clause) == (None, "error_policy.on_rate_limit_error")
    assert any("under: On rate limit error (on_rate_limit_error) is stop" in line for line in lines_of(stopped.tree))
    unhealable = why(play(error(retryable=False), error_policy=ErrorPolicy.retry_all(9)))
    assert (unhealable.resource, unhealable.clause) == (None, None)


def test_the_canceller_is_an_input():
    found = why(play(truncated("a"), cancelled("b")))
    assert [node.words for node in found.tree.because[0].because] == [
        "cancelled by ada",
        "the model stopped: cancelled",
    ]


def test_an_operators_answer_is_not_attributed_to_the_provider():
    held = Breakpoint(state=State.CONTINUE_PENDING.value)
    book = play(truncated("a"), operator(answer=said("b")), released(), breakpoints=(held,))
    book = book >> replace(ended("b"), response=book.command.answer)
    assert list(lines_of(why(book).tree))[-1].endswith("provider: none: ada answered in the model's place")


def test_a_turn_recorded_by_another_core_is_explained_from_its_records():
    book = play(*(truncated(text) for text in "abcd"))
    spans = tuple(replace(span, known=False) for span in fold(book.recording))
    found = derive(book.recording, spans)
    assert found is not None
    assert (found.resource, found.clause) == ("max_continuations", "limits.max_continuations")


def test_a_fork_that_starts_after_its_parents_decision_is_explained_from_its_own_records():
    held = Breakpoint(state=State.ABORT_PARTIAL.value)
    parent = play(truncated("a"), max_continuations=0, breakpoints=(held,))
    child = parent >> released()
    found = derive(Recording(child.policy, parent.snapshot, child.records[-1:]))
    assert found is not None
    assert (found.resource, found.clause) == ("max_continuations", None)
    assert list(lines_of(found.tree))[-1].endswith("provider: said “length”")


def in_other_words(recording: Recording) -> Recording:
    """The recording with other sentences at every evaluation: what is derived must not hang on our wording."""

    def other(transition):
        outcome = transition.get("outcome")
        if outcome is None:
            return transition
        evaluations = [{**one, "reason": "said otherwise"} for one in outcome["evaluations"]]
        return {**transition, "outcome": {**outcome, "evaluations": evaluations}}

    records = tuple(replace(each, transitions=tuple(map(other, each.transitions))) for each in recording.records)
    return replace(recording, records=records)


def clauses(recording: Recording) -> list[str]:
    found = derive(recording)
    assert found is not None
    return [node.name for node in found.tree.walk() if node.kind is Kind.CLAUSE]


@together
@pytest.mark.parametrize("revision", [None, 1, 4, 5, 9])
def test_the_ceiling_of_the_connection_is_a_clause_whatever_the_wording_of_the_evaluation(revision):
    schema = {"type": "object", "required": ["a"]}
    book = play(truncated('{"a": "'), envelope_schema=schema, ceiling=60, revision=revision)
    if revision is None:  # these rules doubled the budget once, up to the ceiling
        book = book >> truncated('{"a": "')
    assert book.end
    assert "connection.max_output_tokens" in clauses(in_other_words(book.stored()))


@together
@pytest.mark.parametrize("revision", [None, 1, 4, 5, 9])
def test_the_retry_limit_is_a_clause_whatever_the_wording_of_the_evaluation(revision):
    limited = error(ErrorType.RATE_LIMIT, status=429)
    book = play(limited, woke_up(), limited, error_policy=ErrorPolicy.retry_all(2), revision=revision)
    assert book.end
    assert clauses(in_other_words(book.stored())) == clauses(book.stored())
    assert "error_policy.max_retries" in clauses(book.stored())


def test_a_history_without_transitions_has_no_derivation():
    book = play(ended("done"))
    bare = (*book.records[:-1], replace(book.records[-1], transitions=()))
    assert derive(Recording(book.policy, book.recording.base_snapshot, bare)) is None
