"""Every way a turn can end (design, "How a turn ends"), played by the machine, with the sentence an operator reads."""

from hashlib import sha256

import pytest

from agentcore.error_policy import ErrorPolicy
from agentcore.error_text import notice_text
from agentcore.errors import ErrorType
from agentcore.events import APPROVAL_TIME_LIMIT, Approvals, OperatorActed, OperatorAction
from agentcore.machine.advance import advance
from agentcore.policy import Policy
from agentcore.reasons import NormalizedStopReason
from agentcore.replay import fork, what_if
from agentcore.values import replace
from agentcore.verdict import verdict
from agentcore.version import VERSION
from tests.agentcore.playbook import (
    Playbook,
    blocked,
    call,
    called,
    cancelled,
    cut_call,
    ended,
    error,
    malformed_call,
    operator,
    paused,
    play,
    stopped,
    tool_failed,
    tools_returned,
    truncated,
    unknown,
    woke_up,
    worded,
)
from tests.agentcore.test_observed_verdict import ENDS as OBSERVED
from tests.together import together

SCHEMA = {"required": ["a"]}
ON = "it would have continued. The recording does not show how it would have ended."
PREFILL = {"prefill": True}
#: A call that nobody approved, so that its time limit refused it.
EXPIRED = (called(call()), OperatorActed(0.0, APPROVAL_TIME_LIMIT, OperatorAction.REFUSE), tools_returned())
WORDS = "The same words again and again, and again."


def cut(*tokens: int):
    return [truncated(worded(letter, count), tokens=count) for letter, count in zip("abcdefgh", tokens, strict=False)]


#: What happened, under what, the end as it is filed, and the sentence.
ENDS = [
    (play(ended("done")), "completed completed completed", "Completed in 1 call."),
    (
        play(*cut(400, 400), ended(worded("c", 12), tokens=12), max_tokens=400, extra=PREFILL),
        "completed completed completed",
        "Completed after 2 continuations. With Max tokens per call (max_tokens) ≥ 817, one call would have been "
        "enough.",
    ),
    (
        play(*cut(400), ended(worded("c", 12), tokens=0), max_tokens=400, extra=PREFILL),
        "completed completed completed",
        "Completed after 1 continuation.",
    ),
    (
        play(*cut(400, 400), ended("c", tokens=12), max_tokens=400),
        "completed completed completed",
        "Completed after 2 continuations.",
    ),
    (
        play(*cut(1600), ended(worded("c", 414), tokens=414), max_tokens=1600, extra=PREFILL),
        "completed completed completed",
        "Completed after 1 continuation. With Max tokens per call (max_tokens) ≥ 2,019, one call would have been "
        "enough.",
    ),
    (
        play(truncated("a", tokens=None), ended("b", tokens=20), extra=PREFILL),
        "completed completed completed",
        "Completed after 1 continuation.",
    ),
    (
        play(*cut(60), ended(worded("b", 50), tokens=50), ceiling=60, extra=PREFILL),
        "completed completed completed",
        "Completed after 1 continuation. One call would have needed Max tokens per call (max_tokens) ≥ 115, above Max "
        "output tokens (max_output_tokens) of the connection (60).",
    ),
    (
        play(*cut(60), ended(worded("b", 50), tokens=50), ceiling=110, extra=PREFILL),
        "completed completed completed",
        "Completed after 1 continuation.",
    ),
    (play(ended('{"a":1}'), envelope_schema=SCHEMA), "completed completed completed", "Completed in 1 call."),
    (
        play(ended("{}"), ended('{"a":1}'), envelope_schema=SCHEMA),
        "completed completed completed",
        "Completed with a valid envelope after 2 calls.",
    ),
    (
        play(cut_call("Let me. "), ended("Without it.")),
        "completed completed completed",
        "Completed after a broken tool call was requested again.",
    ),
    (
        play(error(), woke_up(), ended("ok"), error_policy=ErrorPolicy.retry_all(2)),
        "completed completed completed",
        "Completed in 2 calls, after 1 error.",
    ),
    (
        play(unknown("SOLAR_FLARE", "a")),
        "completed completed completed",
        "Completed in 1 call. The provider said “SOLAR_FLARE”, which is not a known stop reason, so the answer may be "
        "cut off.",
    ),
    (
        play(unknown(None, "a")),
        "completed completed completed",
        "Completed in 1 call. No stop reason is recorded, so the answer may be cut off.",
    ),
    (
        play(truncated("a"), unknown("SOLAR_FLARE", "b")),
        "completed completed completed",
        "Completed after 1 continuation. The provider said “SOLAR_FLARE”, which is not a known stop reason, so the "
        "answer may be cut off.",
    ),
    (play(ended("")), "partial completed empty_output", "Stopped: the model ended its turn with an empty answer."),
    (
        play(*cut(400, 400, 400, 14), max_tokens=400),
        "partial retry_limit retry_limit",
        "Cut off 3 times by Max tokens per call (max_tokens), then at 14 of 400 tokens, below Max tokens per call, and "
        "stopped at Max continuations (max_continuations: 3 of 3). 1,214 of 1,600 completion tokens used. With 4 "
        f"continuations {ON}",
    ),
    (
        play(*cut(60, 20), max_continuations=1, max_total_completion_tokens=80),
        "partial retry_limit retry_limit",
        "Cut off by Max tokens per call (max_tokens), then by Max completion tokens per turn "
        "(max_total_completion_tokens), which left 20 tokens for the last call, and stopped at Max continuations "
        "(max_continuations: 1 of 1). 80 of 80 completion tokens used. With 2 continuations and a higher Max "
        "completion "
        f"tokens per turn (max_total_completion_tokens) {ON}",
    ),
    (
        play(*cut(40, 45, 15), max_tokens=500, max_total_completion_tokens=100),
        "partial token_limit budget_exhausted",
        "Cut off twice below Max tokens per call (max_tokens), then by Max completion tokens per turn "
        "(max_total_completion_tokens), which left 15 tokens for the last call: 100 of 100 completion tokens "
        "used. With "
        f"a higher Max completion tokens per turn (max_total_completion_tokens) {ON}",
    ),
    (
        play(truncated("", tokens=60), truncated("", tokens=40), max_continuations=1, max_total_completion_tokens=100),
        "partial retry_limit retry_limit",
        "Cut off twice: the last time, reasoning used up the 40 tokens that Max completion tokens per turn "
        "(max_total_completion_tokens) had left, before any text came, and stopped at Max continuations "
        "(max_continuations: 1 of 1). 100 of 100 completion tokens used. Two answers in a row in which "
        "reasoning used up all tokens of the call also forbade continuing.",
    ),
    (
        play(truncated("", tokens=60), truncated("", tokens=100), ceiling=100),
        "partial guard repetition",
        "Cut off: reasoning used up all tokens of the call in two answers in a row, the last time the 100 "
        "tokens that Max output tokens (max_output_tokens) of the connection allows, and no text came. A higher Max "
        "output tokens (max_output_tokens) may help.",
    ),
    (
        play(cut_call("Let me. ", tokens=60), cut_call(tokens=100), ceiling=100),
        "partial retry_limit tool_repair_failed",
        "Cut off by Max output tokens (max_output_tokens) of the connection in a tool call, which did not "
        "run; 1 repair "
        "failed.",
    ),
    (
        play(*cut(60), max_continuations=0),
        "partial retry_limit retry_limit",
        "Cut off by Max tokens per call (max_tokens), and not continued because Max continuations "
        f"(max_continuations) is 0. 60 of 240 completion tokens used. With 1 continuation {ON}",
    ),
    (
        play(*cut(60, 60, 60), max_total_tokens=200),
        "partial token_limit budget_exhausted",
        "Cut off 3 times by Max tokens per call (max_tokens), then stopped at Max tokens per turn "
        "(max_total_tokens): 210 "
        f"of 200 input and output tokens used. With a higher Max tokens per turn (max_total_tokens) {ON}",
    ),
    (
        play(*cut(60), max_continuations=1, max_seconds=0.5),
        "partial time_limit forbidden",
        "Cut off by Max tokens per call (max_tokens), then stopped at the time limit (max_seconds): 1.0 of 0.5 s since "
        f"the start, without pauses. With a higher time limit (max_seconds) {ON}",
    ),
    (
        play(paused("a"), paused("b"), max_continuations=1),
        "partial retry_limit retry_limit",
        "Stopped after the answer was paused by the provider twice, at Max continuations (max_continuations: 1 of "
        f"1). 10 of 240 completion tokens used. With 2 continuations {ON}",
    ),
    (
        play(paused("a"), truncated("b"), truncated("c"), max_continuations=2),
        "partial retry_limit retry_limit",
        "Cut off or paused by the provider 3 times, the last time at 10 of 60 tokens, below Max tokens per "
        "call (max_tokens), then stopped at Max continuations (max_continuations: 2 of 2). 25 of 240 completion tokens "
        f"used. With 3 continuations {ON}",
    ),
    (
        play(truncated("a"), truncated("b"), paused("c"), max_continuations=2),
        "partial retry_limit retry_limit",
        "Stopped after the answer was cut off or paused by the provider 3 times, at "
        f"Max continuations (max_continuations: 2 of 2). 25 of 240 completion tokens used. With 3 continuations {ON}",
    ),
    (
        play(*cut(60, 40), max_total_completion_tokens=100),
        "partial token_limit budget_exhausted",
        "Cut off by Max tokens per call (max_tokens), then by Max completion tokens per turn "
        "(max_total_completion_tokens), which left 40 tokens for the last call: 100 of 100 "
        f"completion tokens used. With a higher Max completion tokens per turn (max_total_completion_tokens) {ON}",
    ),
    (
        play(ended("abcdefgh"), max_total_output_chars=5),
        "partial guard output_cap",
        "Cut off at 5 characters: Max output characters (max_total_output_chars) was reached.",
    ),
    (
        play(truncated("", tokens=60), truncated("", tokens=120)),
        "partial guard repetition",
        "Cut off: reasoning used up Max tokens per call (max_tokens) in two answers in a row, the last time 120 of 120 "
        "tokens, where Max tokens per call was raised from 60, and no text came. A higher Max tokens per call "
        "(max_tokens) may help.",
    ),
    (
        play(cut_call("Let me. ", tokens=60), cut_call(tokens=120)),
        "partial retry_limit tool_repair_failed",
        "Cut off by Max tokens per call (max_tokens) in a tool call, which did not run; 1 repair failed.",
    ),
    (
        play(malformed_call(), max_tool_repair_attempts=0),
        "partial retry_limit tool_repair_failed",
        "Stopped: a tool call was malformed and did not run; Max tool-call repairs (max_tool_repair_attempts) is 0.",
    ),
    (
        play(cut_call("Let me. "), max_total_tokens=5),
        "partial token_limit budget_exhausted",
        "Cut off at 10 of 60 tokens, below Max tokens per call (max_tokens), in a tool call, which did not run, then "
        "stopped at Max tokens per turn (max_total_tokens): 20 of 5 input and output tokens used. With a "
        "higher Max tokens per turn "
        f"(max_total_tokens) {ON}",
    ),
    (
        play(called(call()), max_steps=1),
        "partial steps_limit forbidden",
        "Stopped at Max steps (max_steps): 1 of 1 steps; these tool calls did not run: calculator. With a higher "
        f"Max steps (max_steps) {ON}",
    ),
    (
        play(called(call()), max_total_tokens=10),
        "partial token_limit forbidden",
        "Stopped at Max tokens per turn (max_total_tokens): 15 of 10 tokens; these tool calls did not run: "
        f"calculator. With a higher Max tokens per turn (max_total_tokens) {ON}",
    ),
    (
        play(truncated("a"), finish_reasons=(NormalizedStopReason.MAX_TOKENS,)),
        "partial finish_reason forbidden",
        "Cut off at 10 of 60 tokens, below Max tokens per call (max_tokens), then stopped: the policy ends a turn "
        "at the stop reason “max_tokens”.",
    ),
    (
        play(called(call()), tools_returned(tool_failed())),
        "partial error forbidden",
        "Stopped by the error policy: tool error, 1 failure; tool errors stop the turn (calculator: division "
        "by zero). With tool errors set to ignore, the model would have received the error. The recording "
        "does not show how it would have ended.",
    ),
    (
        play(called(call()), tools_returned(tool_failed()), error_policy=ErrorPolicy.retry_tool_errors(1)),
        "partial retry_limit forbidden",
        "Stopped by the error policy: tool error, 1 failure; Max failures in a row (max_retries) is 1 (calculator: "
        "division by zero). With a higher Max failures in a row (max_retries), the model would have received the error."
        " The recording does not show how it would have ended.",
    ),
    (
        play(called(call()), cancelled(by=APPROVAL_TIME_LIMIT), approvals=Approvals(("calculator",), 30)),
        "cancelled user_requested cancelled",
        "Cancelled: nobody approved the call of calculator within 30 seconds. 5 of 240 completion tokens "
        "used. With a higher approval time limit (approvals.seconds) it would have waited longer.",
    ),
    (
        play(*EXPIRED, approvals=Approvals(("calculator",), 30)),
        "partial error forbidden",
        "Stopped at the approval time limit (approvals.seconds): nobody approved the call of calculator within 30 "
        "seconds, and tool errors stop the turn. With a higher approval time limit (approvals.seconds) it would have "
        "waited longer.",
    ),
    (
        play(*EXPIRED, approvals=Approvals(("calculator",), 30), error_policy=ErrorPolicy.retry_tool_errors(1)),
        "partial retry_limit forbidden",
        "Stopped at the approval time limit (approvals.seconds): nobody approved the call of calculator within 30 "
        "seconds, and Max failures in a row (max_retries) is 1. With a higher approval time limit (approvals.seconds) "
        "it would have waited longer.",
    ),
    (
        play(
            *(called(call()), OperatorActed(0.0, "ada", OperatorAction.REFUSE), tools_returned()),
            approvals=Approvals(("calculator",), 30),
        ),
        "partial error forbidden",
        "Stopped by the error policy: ada refused the call of calculator, and tool errors stop the turn. With tool "
        "errors set to ignore, the model would have received the error. The recording does not show how it would have "
        "ended.",
    ),
    (play(error()), "failed error provider_error", "Failed on the first call: It broke."),
    (
        play(truncated("a"), error()),
        "partial error provider_error",
        "Failed on call 2: It broke. The partial answer is kept.",
    ),
    (
        play(error(), woke_up(), error(), error_policy=ErrorPolicy.retry_all(2)),
        "failed retry_limit provider_error",
        "Failed after 2 failed calls, with Max failures in a row (max_retries) 2: It broke.",
    ),
    (
        play(error(), woke_up(), error(retryable=False), error_policy=ErrorPolicy.retry_all(2)),
        "failed retry_limit provider_error",
        "Failed after 2 failed calls: It broke.",
    ),
    (
        play(error(ErrorType.TIMEOUT), error_policy=ErrorPolicy.retry_all(5), max_seconds=0.5),
        "failed time_limit provider_error",
        "Stopped at the time limit (max_seconds) during the first call (1.0 of 0.5 s since the start, without "
        f"pauses). With a higher time limit (max_seconds) {ON}",
    ),
    (
        play(error(ErrorType.MODEL), error_policy=ErrorPolicy.retry_all(5), max_seconds=0.5),
        "failed time_limit provider_error",
        "Failed on the first call: It broke. It was not retried because the time limit (max_seconds) was reached "
        "(1.0 of 0.5 s since the start, without pauses).",
    ),
    (
        play(error(partial="a", tokens=9), error_policy=ErrorPolicy.retry_all(5), max_total_tokens=15),
        "partial token_limit provider_error",
        "Failed on the first call: It broke. It was not retried because Max tokens per turn (max_total_tokens) was "
        "reached (19 of 15 tokens). The partial answer is kept.",
    ),
    (
        play(blocked("no")),
        "aborted finish_reason safety_blocked",
        "Blocked by the provider. The provider said “content_filter”. Higher limits would not have helped.",
    ),
    (
        play(stopped(NormalizedStopReason.SAFETY_BLOCKED, "refusal")),
        "aborted finish_reason safety_blocked",
        "Refused by the model or by a filter of the provider; the answer does not say which. "
        "Higher limits would not have helped.",
    ),
    (
        play(stopped(NormalizedStopReason.SAFETY_BLOCKED, "refusal", refusal="cyber")),
        "aborted finish_reason safety_blocked",
        "Refused by a safety classifier of the provider. Higher limits would not have helped.",
    ),
    (
        play(stopped(NormalizedStopReason.SAFETY_BLOCKED, "stop", refusal="I cannot help with that.")),
        "aborted finish_reason safety_blocked",
        "Refused by the model. Higher limits would not have helped.",
    ),
    (
        play(stopped(NormalizedStopReason.SAFETY_BLOCKED, "PROHIBITED_CONTENT", refusal="PROHIBITED_CONTENT")),
        "aborted finish_reason safety_blocked",
        "Blocked by the provider. The provider said “PROHIBITED_CONTENT”. Higher limits would not have helped.",
    ),
    (
        play(stopped(NormalizedStopReason.CONTEXT_WINDOW_EXCEEDED, "model_context_window_exceeded", "a")),
        "aborted finish_reason context_window_exceeded",
        "Aborted: the conversation no longer fits the model's context window. A higher Max tokens per call "
        "(max_tokens) would not have helped.",
    ),
    (
        play(stopped(NormalizedStopReason.CANCELLED, "cancelled", "a")),
        "aborted finish_reason cancelled",
        "Aborted: the provider cancelled the answer. 5 of 240 completion tokens used.",
    ),
    (
        play(unknown("SOLAR_FLARE", "")),
        "aborted finish_reason unknown_fatal",
        "Aborted: the provider ended the answer with “SOLAR_FLARE”, which is not a known stop reason; there "
        "is no usable text.",
    ),
    (
        play(unknown("TOO_MANY_TOOL_CALLS", "a")),
        "aborted finish_reason unknown_fatal",
        "Aborted: the provider ended the answer with “TOO_MANY_TOOL_CALLS”, which is not a known stop reason;"
        " the partial answer is kept.",
    ),
    (
        play(ended("{}"), ended("{}"), envelope_schema=SCHEMA, schema_rounds=1),
        "failed retry_limit envelope_invalid",
        "Failed without a valid envelope after 2 calls: required property 'a' is missing (schema /required) "
        "(1 of 1 envelope retries used).",
    ),
    (
        play(truncated('{"a'), truncated('{"a'), envelope_schema=SCHEMA, schema_rounds=1),
        "failed retry_limit envelope_truncation_unrecoverable",
        "Failed without a valid envelope after 2 calls: the answer was cut before its end (1 of 1 envelope "
        "retries used).",
    ),
    (
        play(truncated('{"a', tokens=60), truncated('{"a', tokens=120), envelope_schema=SCHEMA, schema_rounds=1),
        "failed retry_limit envelope_truncation_unrecoverable",
        "Failed without a valid envelope after 2 calls: the last answer was cut off by Max tokens per call "
        "(max_tokens) at 120 of 120 tokens, where Max tokens per call was raised from 60 (1 of 1 envelope retries "
        "used).",
    ),
    (
        play(truncated('{"a', tokens=60), envelope_schema=SCHEMA, max_total_tokens=50),
        "failed token_limit forbidden",
        "Failed without a valid envelope, stopped at Max tokens per turn (max_total_tokens): the last answer was cut "
        "off by Max tokens per call (max_tokens) at 60 of 60 tokens (70 of 50 tokens). With a higher Max tokens "
        "per turn (max_total_tokens) it would have continued. The recording does not show how it would have ended.",
    ),
    (
        play(blocked("no"), envelope_schema=SCHEMA),
        "failed finish_reason envelope_refusal",
        "Failed without a valid envelope after 1 call: the provider refused to answer; a refusal is not retried.",
    ),
    (
        play(cancelled("abc")),
        "cancelled user_requested cancelled",
        "Cancelled by ada. 4 of 240 completion tokens used.",
    ),
]


@together
@pytest.mark.parametrize(("book", "filed", "sentence"), ENDS, ids=[sentence[:60] for _, _, sentence in ENDS])
def test_each_ending_is_reported_as_filed(book: Playbook, filed: str, sentence: str):
    end = book.end
    assert f"{end.status} {end.stop_reason} {end.terminal_reason}" == filed
    assert verdict(book.snapshot) == sentence


def test_the_notice_of_a_call_that_nobody_approved_names_no_tool_error():
    expired = play(*EXPIRED, approvals=Approvals(("calculator",), 30))
    told = "This answer is incomplete: nobody approved the call of calculator within 30 seconds."
    assert notice_text(expired.snapshot) == told


def test_a_changed_sentence_requires_a_new_version():
    said = "\n".join(sentence for _book, _filed, sentence in (*ENDS, *OBSERVED))
    changed = "Where a sentence changed, raise VERSION; then store this digest."
    assert (VERSION, sha256(said.encode()).hexdigest()[:10]) == ("18", "533b924832"), changed


IDLE = "Two truncated answers in a row that added nothing new"
REASONED = "Two answers in a row in which reasoning used up Max tokens per call (max_tokens)"
REASONED_IN_REST = "Two answers in a row in which reasoning used up all tokens of the call"


@pytest.mark.parametrize(
    ("limits", "idle"),
    [
        ({"max_continuations": 2}, IDLE),
        ({"max_total_tokens": 50}, IDLE),
        ({"max_total_completion_tokens": 30}, REASONED_IN_REST),  # the last call was given the 10 tokens that were left
    ],
)
def test_no_number_is_promised_where_two_consecutive_answers_added_nothing(limits: dict[str, int], idle: str):
    told = verdict(play(truncated("abc"), truncated(""), truncated(""), **limits).snapshot)
    assert told.endswith(f"{idle} also forbade continuing.")
    assert "it would have" not in told


@pytest.mark.parametrize("limits", [{"max_continuations": 1}, {"max_total_tokens": 200}])
def test_two_answers_used_up_by_reasoning_are_reported_as_such(limits: dict[str, int]):
    eaten = [truncated("", tokens=tokens, reasoning_content="Let me think.") for tokens in (60, 120)]
    told = verdict(play(*eaten, **limits).snapshot)
    assert told.endswith(f"{REASONED} also forbade continuing.")


@pytest.mark.parametrize(
    ("book", "wanted"),
    [
        (
            play(
                truncated("abc"),
                truncated("defgh"),
                max_continuations=5,
                max_total_completion_tokens=20,
                max_total_output_chars=6,
            ),
            "a higher Max completion tokens per turn (max_total_completion_tokens) and a higher Max output "
            "characters (max_total_output_chars)",
        ),
        (
            play(truncated("abc👩\u200d👩\u200d👧", tokens=60), max_total_output_chars=5, max_continuations=0),
            "1 continuation and a higher Max output characters (max_total_output_chars)",
        ),
        (
            play(truncated("abcdef"), max_total_output_chars=5, max_total_tokens=5),
            "a higher Max tokens per turn (max_total_tokens) and a higher Max output characters "
            "(max_total_output_chars)",
        ),
    ],
)
def test_every_binding_limit_is_named(book: Playbook, wanted: str):
    assert verdict(book.snapshot).endswith(f"With {wanted} {ON}")


@pytest.mark.parametrize("tokens", [(60,), (60, 60), (60, 60, 60)])
def test_the_suggested_number_needs_one_call_according_to_the_recording(tokens: tuple[int, ...]):
    book = play(*cut(*tokens), ended(worded("end", 9), tokens=9), extra=PREFILL)
    offered = sum(tokens) + 9 + 5  # for the end, as some servers count and do not report it
    assert f"Max tokens per call (max_tokens) ≥ {offered}, one call would have been enough" in verdict(book.snapshot)
    imagined = what_if(book.recording, Policy(max_tokens=offered))
    assert verdict(imagined.final) == "Completed in 1 call."


def test_a_limit_lowered_below_the_used_amount_suggests_one_more_than_was_used():
    """After two continuations it was lowered to none: one was offered, under which the turn stopped just the same."""
    book = play(*cut(60, 60), operator(limits={"max_continuations": 0}), *cut(60), max_continuations=9)
    said = verdict(book.snapshot)
    assert (
        "Cut off 3 times by Max tokens per call (max_tokens), then stopped at Max continuations (max_continuations: "
        "2 of 0)" in said
    )
    assert said.endswith(f"With 3 continuations {ON}")


def test_the_suggested_continuations_continue_according_to_the_recording():
    book = play(*cut(60, 60, 60), max_continuations=2, max_total_completion_tokens=400)
    assert "With 3 continuations it would have continued" in verdict(book.snapshot)
    more = replace(book.policy, limits=replace(book.policy.limits, max_continuations=3))
    imagined = what_if(book.recording, more)
    assert imagined.undecidable
    assert imagined.final.spent.continuations == 3


@together
@pytest.mark.parametrize(
    ("book", "why"),
    [
        (play(*cut(60, 60), ended("the end")), "after a hint the model may say other things than in one go"),
        (
            play(error(), woke_up(), *cut(60), ended("the end"), error_policy=ErrorPolicy.retry_all(2), extra=PREFILL),
            "a failed call spent tokens on another text",
        ),
        (
            play(*cut(60), cut_call(" Let me. ", tokens=60), ended("It."), extra=PREFILL),
            "a repair spent tokens on another text",
        ),
        (play(*cut(60), ended("b", tokens=None), extra=PREFILL), "an estimate bounds nothing"),
        (
            play(called(call()), tools_returned(), truncated("It"), ended(" is 1."), extra=PREFILL),
            "another iteration spent tokens on another text",
        ),
        (play(*cut(60), unknown(None, "b"), extra=PREFILL), "an end without a word is no end that is known"),
        (play(*cut(60), ended("b", answered_by="ops"), extra=PREFILL), "an operator said it"),
        (play(*cut(60, 7), ended("the end"), extra=PREFILL), "something else than the cap cut the second call"),
        (
            play(*cut(60), ended("b", tokens=60), max_tokens=60, extra=PREFILL),
            "an answer that ends at the cap may have been cut there",
        ),
    ],
    ids=lambda given: given if isinstance(given, str) else "",
)
def test_no_number_is_named_where_it_is_not_certain(book: Playbook, why: str):
    told = verdict(book.snapshot)
    assert told.startswith("Completed after "), why
    assert "max_tokens" not in told, why


def test_a_truncation_that_the_provider_resumes_itself_is_exact_where_it_is_the_only_one():
    cuts = [truncated(worded(text, 60), tokens=60, resume_token=text) for text in ("abc", "d")]
    once, twice = play(cuts[0], ended("the end")), play(*cuts, ended("the end"))
    assert verdict(once.snapshot).endswith(
        "With Max tokens per call (max_tokens) ≥ 70, one call would have been enough."
    )
    assert verdict(twice.snapshot) == "Completed after 2 continuations."


@pytest.mark.parametrize(
    ("seq", "told"),
    [(2, "after 1 continuation."), (3, "after 2 continuations, 1 of them in the original turn.")],
)
def test_a_fork_reports_its_own_and_its_inherited_continuations(seq: int, told: str):
    parent = play(*cut(60, 60), ended("c"))
    snapshot = fork(parent.recording, seq, parent.recording.policy, "fork")
    snapshot = advance(snapshot, ended("c"), parent.recording.policy).snapshot
    assert verdict(snapshot) == f"Completed {told}"


def test_a_fork_that_started_with_tools_has_no_continuation_of_its_own():
    parent = play(*cut(60), called(call()), tools_returned(), ended("b"))
    snapshot = fork(parent.recording, 4, parent.recording.policy, "fork")
    snapshot = advance(snapshot, ended("b"), parent.recording.policy).snapshot
    assert verdict(snapshot) == "Completed after 1 continuation, in the original turn."
