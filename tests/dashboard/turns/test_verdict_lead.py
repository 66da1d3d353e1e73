from agentcore.error_policy import ErrorPolicy
from agentcore.errors import ErrorType
from agentcore.snapshot import Snapshot
from dashboard.turns.reason_looks import reason_label
from dashboard.turns.verdicts import verdict_lead
from tests.agentcore.playbook import Playbook, cut_call, ended, error, started, truncated, unknown


def after(*events: object, **given: object) -> Snapshot:
    book = Playbook(**given) >> started()
    for event in events:
        book = book >> event
    return book.snapshot


def test_the_leading_words_and_the_remedy_are_separated():
    parted = verdict_lead(after(truncated("a", tokens=60), max_continuations=0), "", "retry_limit")
    assert parted.first == "Cut off"
    assert parted.rest.startswith(
        " by Max tokens per call (max_tokens), and not continued because Max continuations (max_continuations) is 0."
    )
    assert parted.helps == (
        "With 1 continuation it would have continued. The recording does not show how it would have ended."
    )
    assert parted.whole.endswith("would have ended."), "what to do next is told by the suggestion"


def test_a_truncated_tool_call_is_told_as_other_truncations_are():
    told = verdict_lead(after(cut_call(), cut_call()), "", "tool_repair_failed")
    assert (told.first, told.look) == ("Cut off", "max_tokens")
    cut = " at 10 of 120 tokens, below Max tokens per call (max_tokens), in a tool call, which did not run"
    assert told.rest.startswith(cut)


def test_no_headline_starts_with_a_code():
    cut = after(truncated('{"a'), envelope_schema={"required": ["a"]}, schema_rounds=0)
    assert verdict_lead(cut, "", "envelope_truncation_unrecoverable").whole.startswith(
        "Failed without a valid envelope after 1 call: "
    )
    assert (reason_label("envelope_invalid"), reason_label("envelope_refusal")) == ("invalid envelope", "refused")


def test_a_truncation_looks_the_same_in_the_verdict_and_in_the_list():
    assert verdict_lead(after(truncated("a", tokens=60), max_continuations=0), "", "retry_limit").look == "max_tokens"
    assert verdict_lead(after(ended("done")), "", "completed").look == ""
    late = after(error(ErrorType.TIMEOUT), error_policy=ErrorPolicy.retry_all(5), max_seconds=0.5)
    assert verdict_lead(late, "", "provider_error").look == "time_limit", "the provider did not fail"


def test_an_end_that_is_not_certain_has_the_look_of_the_list_and_is_not_green():
    for last in (unknown("solar_flare", "done"), unknown(None, "done"), ended("done", tokens=60)):
        told = verdict_lead(after(last, max_tokens=60), "", "completed")
        assert (told.first, told.look) == ("Completed", "doubtful"), told


def test_where_reasoning_used_the_cap_no_limit_is_named_first():
    once, twice = truncated("", tokens=60), truncated("", tokens=120)
    for snapshot, reason, first in (
        (after(once, max_continuations=0), "retry_limit", "Cut off"),
        (after(once, max_total_completion_tokens=60), "budget_exhausted", "Cut off"),
        (after(once, max_continuations=0, watched=True), "max_tokens", "Cut off"),
        (after(once, twice), "repetition", "Cut off"),
    ):
        told = verdict_lead(snapshot, "", reason)
        assert (told.first, told.look) == (first, "reasoning_ate_budget"), reason
        assert told.whole.count("reasoning used up Max tokens per call") == 1
    idle = truncated("", tokens=4)
    assert verdict_lead(after(idle, idle), "", "repetition").look == "max_tokens"


def test_a_turn_without_an_end_in_its_history_has_its_stored_sentence():
    told = verdict_lead(after(), "the worker was lost.", "interrupted")
    assert told.whole == "Interrupted: the worker was lost."
    assert verdict_lead(after(ended("done")), "older words", "completed").whole == "Completed in 1 call."
