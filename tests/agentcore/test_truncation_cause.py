"""What cut an answer is told by its tokens: its own cap, reasoning before it, or no number of ours."""

from copy import copy
from dataclasses import replace
from functools import partial

import pytest

from agentcore import (
    ChatRequest,
    ChatResponse,
    NormalizedStopReason,
    Snapshot,
    StopReason,
    TokenUsage,
    TurnStatus,
    verify,
)
from agentcore.lint import lint
from agentcore.messages import NO_CAP
from agentcore.providers import get_provider
from agentcore.replay import Certainty, Why, what_if
from agentcore.resource import resource_of
from agentcore.truncation_cause import below_cap, eaten
from agentcore.verdict import verdict
from agentcore.why import derive
from agentcore.why.tree import Kind
from tests.agentcore.playbook import (
    Playbook,
    call,
    cut_call,
    ended,
    error,
    malformed_call,
    responded,
    truncated,
)
from tests.agentcore.playbook import (
    play as played,
)
from tests.together import together

R = NormalizedStopReason
WATCHED = {"watched": True, "revision": 1, "max_continuations": 0, "max_tool_repair_attempts": 0}


def cut(text: str = "Half", *, output: int | None, reasoning: int = 0, thought: str = "", **more) -> ChatResponse:
    usage = None if output is None else TokenUsage(20, output, reasoning)
    said = {"stop_reason": R.MAX_TOKENS, "raw_stop_reason": "length", "reasoning_content": thought, **more}
    return ChatResponse(text, usage=usage, **said)


play = partial(played, revision=1)


def replace_snapshot(book: Playbook, snapshot: Snapshot) -> Playbook:
    other = copy(book)
    object.__setattr__(other, "snapshot", snapshot)
    return other


def words_of(book: Playbook) -> str:
    found = derive(book.recording)
    assert found is not None
    return " / ".join(node.words for node in found.tree.walk())


@together
@pytest.mark.parametrize(
    ("response", "below"),
    [
        (cut(output=482), True),
        (cut(output=4000), False),
        (cut(output=3999), False),  # counts differ by the token that ended the answer
        (cut(output=3700), False),
        (cut(output=None), False),
        (cut(output=482, reasoning=3600), False),  # reasoning that may stand beside the count
        (cut(output=482, reasoning=300), True),
        (cut(output=482, thought="t" * 16_000), False),  # shown, and not counted
        (cut("", output=5), False),  # hidden reasoning may have used the rest
        (cut(output=0), False),
        (cut(output=482, resume_token="on"), False),
        (ChatResponse("Half", usage=TokenUsage(20, 482), stop_reason=R.END_TURN), False),
    ],
)
def test_an_answer_is_below_its_cap_only_where_its_count_proves_it(response, below):
    assert below_cap(response, 4000) is below


@together
@pytest.mark.parametrize(
    ("response", "all_of_it"),
    [
        (cut("", output=400, reasoning=400), True),
        (cut("", output=400), True),
        (cut("", output=None, thought="Let me think."), True),
        (cut("", output=None), False),
        (cut("  ", output=400), False),
        (cut("So", output=400, reasoning=390), False),
        (ChatResponse("", usage=TokenUsage(1, 9, 9), stop_reason=R.END_TURN), False),
    ],
)
def test_reasoning_used_up_the_cap_where_tokens_were_used_without_text(response, all_of_it):
    assert eaten(response, 400) is all_of_it


FULL = (
    "The context window was full, or the server has a limit of its own. "
    "The recording does not show what would have helped."
)


def test_a_truncation_below_the_cap_of_an_observed_call_names_no_limit_of_ours():
    book = play(responded(cut(output=482)), **{**WATCHED, "max_tokens": 4000})
    assert (book.end.status, book.end.stop_reason) == (TurnStatus.PARTIAL, StopReason.FINISH_REASON)
    assert (book.end.terminal_reason, resource_of(book.snapshot)) == ("cut_below_cap", None)
    assert verdict(book.snapshot) == f"Cut off at 482 of 4,000 tokens, below Max tokens per call (max_tokens). {FULL}"
    assert "max_continuations" not in words_of(book)
    assert "the model stopped: max_tokens, at 482 of 4,000 tokens: below the cap" in words_of(book)
    assert lint(book.snapshot.response, 4000) == ()


def test_a_binding_continuation_limit_is_named_and_the_remedy_is_said_only_to_continue_it():
    book = play(responded(cut(output=482)), max_tokens=4000, max_continuations=0)
    assert (book.end.terminal_reason, resource_of(book.snapshot)) == ("retry_limit", "max_continuations")
    assert verdict(book.snapshot) == (
        "Cut off at 482 of 4,000 tokens, below Max tokens per call (max_tokens), and not continued because Max "
        f"continuations (max_continuations) is 0. 482 of 16,000 completion tokens used. {SERVER}"
        "With 1 continuation it would have continued. The recording does not show how it would have ended."
    )
    assert "the model stopped: max_tokens, at 482 of 4,000 tokens: below the cap" in words_of(book)


def test_the_normalized_reason_is_not_changed_by_the_cause():
    book = play(responded(cut(output=482)), max_tokens=4000, max_continuations=0)
    assert (book.snapshot.model_stop_reason, book.snapshot.raw_stop_reason) == ("max_tokens", "length")


def test_continues_below_the_cap_while_continuations_are_left_because_a_server_may_have_its_own_limit():
    book = play(*(responded(cut(f"part {n}. ", output=482)) for n in range(4)), max_tokens=4000)
    assert (book.end.terminal_reason, resource_of(book.snapshot)) == ("retry_limit", "max_continuations")
    told = verdict(book.snapshot)
    assert told.startswith(
        "Cut off 4 times, the last time at 482 of 4,000 tokens, below Max tokens per call (max_tokens), then "
        "stopped at "
    )
    assert "With 4 continuations it would have continued" in told


def test_truncations_at_the_cap_are_told_apart_from_the_last_one_below_it():
    book = play(*(responded(cut(f"part {n}. ", output=n)) for n in (400, 401, 400, 14)), max_tokens=400)
    assert verdict(book.snapshot).startswith(
        "Cut off 3 times by Max tokens per call (max_tokens), then at 14 of 399 tokens, below Max tokens per call, and "
        "stopped at Max continuations (max_continuations: 3 of 3)"
    )


def test_an_answer_that_the_rest_of_a_total_cut_names_the_total():
    book = play(
        *(responded(cut(f"part {n}. ", output=n)) for n in (400, 400, 200)),
        max_tokens=400,
        max_total_completion_tokens=1000,
    )
    assert verdict(book.snapshot).startswith(
        "Cut off twice by Max tokens per call (max_tokens), then by Max completion tokens per turn "
        "(max_total_completion_tokens), which left 200 tokens for the last call: 1,000 of 1,000 completion tokens used."
    )
    assert resource_of(book.snapshot) == "max_total_completion_tokens"
    assert verify(book.recording).verified


def test_the_total_is_named_of_a_fork_that_was_stored_before_calls_noted_their_limits():
    book = play(responded(cut("Half", output=60)), max_total_completion_tokens=80, max_continuations=1)
    stored = replace(book.snapshot, call=replace(book.snapshot.call, bound=None), cut_by=())
    ended_book = replace_snapshot(book, stored) >> responded(cut(" more", output=20))
    assert "by Max completion tokens per turn (max_total_completion_tokens), which left 20 tokens" in verdict(
        ended_book.snapshot
    )


def test_no_helpful_number_is_named_where_continuing_added_nothing():
    book = play(responded(cut(output=482)), responded(cut(" ", output=9)), max_tokens=4000, max_continuations=1)
    assert book.end.terminal_reason == "retry_limit", "blanks are no text, so reasoning may have used the cap"
    book = play(responded(cut(output=482)), responded(cut("Half", output=9)), max_tokens=4000, max_continuations=1)
    assert (book.end.terminal_reason, resource_of(book.snapshot)) == ("retry_limit", "max_continuations")
    again = "A long enough text that is said twice over."
    book = play(*(responded(cut(again, output=482)) for _ in "ab"), max_tokens=4000, max_continuations=1)
    told = verdict(book.snapshot)
    assert told.startswith(
        "Cut off twice, the last time at 482 of 4,000 tokens, below Max tokens per call (max_tokens), then stopped at "
    )
    assert told.endswith(FULL)


def test_a_truncated_observed_answer_is_attributed_to_the_cap_and_to_no_continuation_limit():
    book = play(truncated("Half", tokens=60), **WATCHED)
    assert (book.end.status, book.end.stop_reason) == (TurnStatus.PARTIAL, StopReason.FINISH_REASON)
    assert (book.end.terminal_reason, resource_of(book.snapshot)) == ("max_tokens", "max_tokens")
    assert verdict(book.snapshot) == (
        "Cut off by Max tokens per call (max_tokens), with 60 of 60 tokens used; this call was only "
        "observed. The recording does not show how many more tokens it needed."
    )
    found = derive(book.recording)
    assert found is not None
    assert found.resource == "max_tokens"
    assert "continuations" not in words_of(book)
    assert "max_continuations" not in {node.name for node in found.tree.walk() if node.kind is Kind.CLAUSE}


def clauses_of(book: Playbook) -> list[str]:
    found = derive(book.recording)
    assert found is not None
    return [node.name for node in found.tree.walk() if node.kind is Kind.CLAUSE]


def test_a_truncated_observed_answer_without_usage_is_attributed_to_the_cap_alone():
    book = play(responded(cut(output=None)), **WATCHED, max_total_completion_tokens=10)
    assert resource_of(book.snapshot) == "max_tokens"
    assert clauses_of(book) == ["limits.max_tokens"]
    assert "about 60 of 60 tokens of one call used" in words_of(book)
    book = play(responded(cut(output=None)), **{**WATCHED, "revision": 7})
    assert book.end.notice == (
        "This answer is incomplete: cut off by max_tokens; a call that is only watched is not continued."
    )


def test_an_error_that_reports_a_budget_used_up_before_any_text_is_reported_as_such():
    refused = error(stop_reason=R.MAX_TOKENS)
    book = play(refused, refused, revision=7)
    assert book.end.terminal_reason == "repetition"
    assert "max_tokens was used up in 2 answers running, and no text came" in book.end.notice
    assert verdict(book.snapshot) == (
        "Cut off: Max tokens per call (max_tokens) was used up in two answers in a row, as the provider's "
        "error says, and no text came. A higher Max tokens per call (max_tokens) may help."
    )
    assert "nothing new" not in words_of(book)
    assert verify(book.recording).verified
    assert "added nothing new" in verdict(play(refused, refused).snapshot), "by the rules of revision 1"


@pytest.mark.parametrize("partial", [None, "Half"])
def test_an_observed_truncation_reported_by_an_error_is_attributed_to_the_cap(partial):
    """OpenAI's 400: "Could not finish the message because max_tokens or model output limit was reached"."""
    book = play(error(stop_reason=R.MAX_TOKENS, partial=partial), **{**WATCHED, "revision": 7})
    assert (book.end.stop_reason, book.end.terminal_reason) == (StopReason.FINISH_REASON, "max_tokens")
    assert resource_of(book.snapshot) == "max_tokens"
    assert clauses_of(book) == ["limits.max_tokens"]
    assert verdict(book.snapshot).startswith("Cut off by Max tokens per call (max_tokens)")
    assert verify(book.recording).verified


ENVELOPE = {**WATCHED, "revision": 7, "schema_rounds": 0, "envelope_schema": {"required": ["a"]}}


@together
@pytest.mark.parametrize(
    ("answer", "code", "resource", "because"),
    [
        (
            truncated('{"b', tokens=60),
            "envelope_truncation_unrecoverable",
            "max_tokens",
            "60 of 60 tokens used; an observed call",
        ),
        (responded(cut("{", output=482)), "envelope_truncation_unrecoverable", None, "482 of 4,000 tokens, below"),
        (ended('{"b": 1}'), "envelope_invalid", None, "an observed call is not requested again"),
        (ended("None of it."), "envelope_invalid", None, "an observed call is not requested again"),
    ],
)
def test_an_observed_envelope_is_attributed_to_no_round_limit(answer, code, resource, because):
    cap = 4000 if "below" in because else 60
    book = play(answer, **ENVELOPE, max_tokens=cap)
    assert (book.end.status, book.end.stop_reason) == (TurnStatus.FAILED, StopReason.FINISH_REASON)
    assert (book.end.terminal_reason, resource_of(book.snapshot)) == (code, resource)
    told = verdict(book.snapshot)
    assert because in told
    assert "retries" not in told
    assert clauses_of(book) == ([f"limits.{resource}"] if resource else [])
    assert verify(book.recording).verified


def test_an_observed_envelope_of_older_rules_is_judged_as_before():
    book = play(truncated('{"b', tokens=60), **{**ENVELOPE, "revision": 6})
    assert (book.end.stop_reason, resource_of(book.snapshot)) == (StopReason.RETRY_LIMIT, "max_tokens")
    assert verify(book.recording).verified


def test_a_truncated_observed_tool_call_is_attributed_to_the_cap():
    book = play(cut_call("Let me. ", tokens=60), **WATCHED)
    assert (book.end.terminal_reason, resource_of(book.snapshot)) == ("max_tokens", "max_tokens")
    assert verdict(book.snapshot).startswith(
        "Cut off by Max tokens per call (max_tokens) in a tool call, which did not run"
    )
    assert "repair" not in words_of(book).replace("repair_pending", "")
    book = play(cut_call("Let me. ", tokens=10), **WATCHED)
    assert (book.end.terminal_reason, resource_of(book.snapshot)) == ("max_tokens", None)
    assert verdict(book.snapshot).startswith("Cut off at 10 of 60 tokens, below Max tokens per call (max_tokens), in a")


def test_a_malformed_observed_tool_call_is_attributed_to_no_limit():
    book = play(malformed_call(), **WATCHED)
    assert (book.end.terminal_reason, resource_of(book.snapshot)) == ("broken_tool_call", None)
    assert "malformed" in verdict(book.snapshot)


def test_a_policy_without_continuations_is_named_as_before():
    book = play(truncated("Half", tokens=60), max_continuations=0)
    assert (book.end.terminal_reason, resource_of(book.snapshot)) == ("retry_limit", "max_continuations")


def test_a_what_if_of_an_observed_turn_is_judged_by_the_given_limits():
    book = play(*(truncated(text, tokens=60) for text in "ab"), **{**WATCHED, "max_continuations": 1})
    assert (book.end.terminal_reason, resource_of(book.snapshot)) == ("retry_limit", "max_tokens")
    assert "program" in verdict(book.snapshot)
    policy = replace(book.policy, limits=replace(book.policy.limits, max_continuations=1, max_steps=3))
    final = what_if(book.recording, policy).final
    assert resource_of(final) == "max_continuations"
    assert "then stopped at Max continuations (max_continuations: 1 of 1)" in verdict(final)


def test_a_truncation_with_a_complete_handed_out_tool_call_is_reported():
    book = play(responded(cut("", output=60, tool_calls=(call(),))), client_tools=True, **WATCHED)
    assert book.end.status is TurnStatus.COMPLETED
    assert verdict(book.snapshot) == (
        "Completed in 1 call; the last answer was cut off by Max tokens per call (max_tokens) after complete tool "
        "calls, which were returned."
    )


def test_a_budget_used_up_by_reasoning_is_reported_as_such():
    eating = [responded(cut("", output=cap, reasoning=cap)) for cap in (60, 120)]
    book = play(*eating)
    assert book.end.terminal_reason == "repetition"
    assert book.end.notice == (
        "This answer is incomplete: reasoning used up max_tokens in 2 answers running, and no text came."
    )
    assert verdict(book.snapshot) == (
        "Cut off: reasoning used up Max tokens per call (max_tokens) in two answers in a row, the last time "
        "120 of 120 tokens, where Max tokens per call was raised from 60, and no text came. A higher "
        "Max tokens per call (max_tokens) may help."
    )
    assert "with 120 of 120 tokens used for reasoning, and no text" in words_of(book)
    assert "nothing new" not in words_of(book)


def test_a_single_observed_answer_used_up_by_reasoning_is_reported_as_such():
    book = play(responded(cut("", output=60, reasoning=60)), **WATCHED)
    assert verdict(book.snapshot).startswith(
        "Cut off: reasoning used up Max tokens per call (max_tokens) before any text came, with 60 of 60 tokens"
    )


def test_turns_recorded_before_rules_were_numbered_are_reported_as_before():
    book = play(responded(cut(output=482)), max_tokens=4000, max_continuations=0, revision=None)
    assert (book.end.terminal_reason, resource_of(book.snapshot)) == ("retry_limit", "max_continuations")
    assert verdict(book.snapshot).startswith("Cut off by Max tokens per call (max_tokens)")


def test_a_total_that_leaves_less_than_the_provider_accepts_says_so():
    book = play(truncated("a", tokens=10), output_floor=16, max_total_completion_tokens=20)
    assert (book.end.terminal_reason, resource_of(book.snapshot)) == ("budget_exhausted", "max_total_completion_tokens")
    told = "10 of 20 completion tokens used, and this provider accepts no Max tokens per call below 16."
    assert told in verdict(book.snapshot)
    whole = play(truncated("a", tokens=20), output_floor=16, max_total_completion_tokens=20)
    assert "this provider accepts no" not in verdict(whole.snapshot)


def test_a_complete_answer_is_not_examined():
    assert verdict(play(ended("done")).snapshot) == "Completed in 1 call."


UNCAPPED = {
    "revision": 8,
    "max_tokens": 16_384,
    "extra": {"uncapped": NO_CAP},
}  # as the gateway asks where nobody sets a cap
SERVER = "The context window was full, or the server has a limit of its own. "
MAY_HELP = "Setting Max tokens per call may help: without it, many servers apply a low default limit."


@pytest.mark.parametrize(
    ("used", "place"),
    [
        (482, "at 482 tokens, with Max tokens per call (max_tokens) not set"),
        (None, "with Max tokens per call (max_tokens) not set"),
    ],
)
def test_a_truncation_without_a_cap_is_not_attributed_to_an_unset_number(used: int | None, place: str):
    watched = play(responded(cut(output=used)), **{**WATCHED, **UNCAPPED})
    assert watched.end.terminal_reason == "cut_below_cap"
    assert verdict(watched.snapshot) == f"Cut off {place}. {SERVER}{MAY_HELP}"
    assert f"the model stopped: max_tokens, {place}" in words_of(watched)
    book = play(responded(cut(output=used)), **UNCAPPED, max_continuations=0)
    assert verdict(book.snapshot).startswith(
        f"Cut off {place}, and not continued because Max continuations (max_continuations) is 0."
    )
    for each in (watched, book):
        assert "16,384" not in verdict(each.snapshot) + words_of(each)


def test_the_tokens_of_several_truncations_without_a_cap_are_those_of_the_last():
    book = play(*(responded(cut(f"part {n}. ", output=60 + n)) for n in range(4)), **UNCAPPED)
    assert verdict(book.snapshot).startswith(
        "Cut off 4 times, the last time at 63 tokens, with Max tokens per call (max_tokens) not set, "
    )
    book = play(*(responded(cut(f"part {n}. ", output=None)) for n in range(4)), **UNCAPPED)
    assert verdict(book.snapshot).startswith(
        "Cut off 4 times, with Max tokens per call (max_tokens) not set, then stopped at "
    )


def test_usage_of_a_call_without_a_cap_is_estimated_from_its_text_where_none_was_counted():
    book = play(responded(cut("four score", output=None)), **UNCAPPED, max_continuations=0)
    assert (book.snapshot.spent.output_tokens, book.snapshot.spent.estimated) == (3, True)
    capped = play(responded(cut("four score", output=None)), max_tokens=400, max_continuations=0)
    assert capped.snapshot.spent.output_tokens == 400


def test_reasoning_does_not_use_up_an_unset_cap():
    book = play(responded(cut("", output=None, thought="Let me think.")), **UNCAPPED, max_continuations=0)
    assert not book.snapshot.eaten
    assert "Reasoning used up max_tokens" not in verdict(book.snapshot)


def test_turns_of_earlier_releases_keep_their_stored_wording():
    book = play(responded(cut(output=482)), **{**WATCHED, "max_tokens": 16_384, "extra": {"uncapped": True}})
    assert "cut off at 482 of 16,384 tokens, below max_tokens" in str(book.snapshot.outcome)


@pytest.mark.parametrize("used", [482, None])
def test_a_what_if_cannot_tell_where_a_call_without_a_cap_would_have_ended_under_one(used: int | None):
    book = play(responded(cut("word " * 300, output=used)), **UNCAPPED, max_continuations=0)
    recording = book.recording
    for cap in (100, 2_000):
        found = what_if(recording, replace(recording.policy, max_tokens=cap))
        assert (found.certainty, found.why) == (Certainty.UNDECIDABLE, Why.CUT_BELOW_CAP)


def test_an_answer_that_ended_without_a_cap_ends_under_a_sufficient_one():
    said = ChatResponse("word " * 300, usage=TokenUsage(20, 482), stop_reason=R.END_TURN, raw_stop_reason="stop")
    uncapped = play(responded(said), **UNCAPPED, max_continuations=0).recording
    capped = play(responded(said), max_tokens=16_384, max_continuations=0, revision=8).recording
    for cap, status in ((2_000, "completed"), (100, "partial")):
        found, other = (what_if(each, replace(each.policy, max_tokens=cap)) for each in (uncapped, capped))
        assert found.records[-1].command["status"] == status
        assert found.certainty is other.certainty is not Certainty.UNDECIDABLE


def test_a_cap_that_is_set_is_sent():
    setup = Playbook(**UNCAPPED).setup
    asked = setup.asking(max_tokens=2_000, model=None, system_prompt=None)
    sent = [
        get_provider("openai").encode_request(ChatRequest("m", (), 2_000, extra=each.extra)) for each in (setup, asked)
    ]
    assert [body.get("max_tokens") for body in sent] == [None, 2_000]
    assert setup.asking(max_tokens=None, model="other", system_prompt=None).extra == setup.extra
