"""evaluate_stop: which way an answer goes, and in which order its parts are looked at (design §3.1, §3.2)."""

from dataclasses import replace
from itertools import product

import pytest

from agentcore import (
    AttemptKind,
    ChatResponse,
    ContinuationDecision,
    ContinuationEvaluation,
    ErrorPolicy,
    ErrorType,
    Message,
    NormalizedStopReason,
    ProviderError,
    Role,
    State,
    StopReason,
    ToolCall,
    Trigger,
    TurnStatus,
)
from agentcore.criteria.builtin import ResponseContentCheck
from agentcore.machine.answer_classification import CALL_WORDS, ERROR_WORDS
from agentcore.messages import CallIssue
from agentcore.policy import OnTruncation
from tests.agentcore.playbook import (
    Playbook,
    blocked,
    broken,
    call,
    call_model,
    called,
    ended,
    finish,
    responded,
    run_tools,
    started,
    stopped,
    tool_failed,
    tools_returned,
    truncated,
    unknown,
    usage,
)
from tests.together import together

R = NormalizedStopReason
WORDS = [(R.UNKNOWN, None), (R.UNKNOWN, " Error "), (R.UNKNOWN, "UNEXPECTED_TOOL_CALL"), (R.UNKNOWN, "strange")]
REASONS = [(reason, reason.value) for reason in R if reason is not R.UNKNOWN] + WORDS
CALLS = {"none": ((), ()), "whole": ((call(),), ()), "broken": ((), (broken(),)), "both": ((call(),), (broken(),))}
FAULTS = ("none", "object", "incomplete")


def rightful(reason, raw, calls, text, envelope, fault):
    """The order of design §3.2, said once more in its own words."""
    word = (raw or "").strip().lower() if reason is R.UNKNOWN else ""
    if fault == "object" or (fault == "incomplete" and reason is R.UNKNOWN) or word == "error":
        return Trigger.RESPONSE_ERROR
    if envelope and calls == "none" and reason is not R.PAUSED:
        return Trigger.ENVELOPE
    if reason in (R.SAFETY_BLOCKED, R.CONTEXT_WINDOW_EXCEEDED, R.CANCELLED):
        return Trigger(reason.value)
    if calls in ("broken", "both"):
        return Trigger.BROKEN_TOOL_CALL
    if word:
        return Trigger.END_TURN if text and word == "strange" else Trigger.UNKNOWN_FATAL
    if reason is R.PAUSED:
        return Trigger.PAUSED
    if calls == "whole":
        return Trigger.TOOL_CALL
    return Trigger.MAX_TOKENS if reason is R.MAX_TOKENS else Trigger.END_TURN


@together
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("envelope", [False, True])
@pytest.mark.parametrize(("reason", "raw"), REASONS)
def test_the_order_of_judgement_holds_for_every_kind_of_answer(reason, raw, envelope, fault):
    schema = {"type": "object"} if envelope else None
    asked = Playbook(envelope_schema=schema) >> started()
    for (name, (whole, bad)), text in product(CALLS.items(), ("", "said")):
        mistake = ProviderError(ErrorType.MODEL, "server", "It broke.") if fault == "object" else None
        response = ChatResponse(
            text,
            whole,
            bad,
            usage(5),
            stop_reason=reason,
            raw_stop_reason=raw,
            error=mistake,
            incomplete_stream=fault == "incomplete",
        )
        story = asked >> responded(response)
        out = next(t.trigger for t in story.step.transitions if t.source is State.EVALUATE_STOP)
        assert out is rightful(reason, raw, name, text, envelope, fault), (name, text)
        shown = (
            rightful(reason, raw, name, text, envelope, fault) is not Trigger.ENVELOPE
            and reason is not R.SAFETY_BLOCKED
        )
        if not envelope:
            assert story.snapshot.output_text == (text if shown else "")


@pytest.mark.parametrize(
    ("reason", "status", "terminal"),
    [
        (R.SAFETY_BLOCKED, TurnStatus.ABORTED, "safety_blocked"),
        (R.CONTEXT_WINDOW_EXCEEDED, TurnStatus.ABORTED, "context_window_exceeded"),
        (R.CANCELLED, TurnStatus.ABORTED, "cancelled"),
    ],
)
def test_a_block_a_full_context_and_a_provider_cancellation_abort_the_turn(reason, status, terminal):
    assert Playbook() >> started() >> stopped(reason, "x") << finish("", StopReason.FINISH_REASON, status, terminal)


def test_the_text_of_a_refused_answer_is_withheld():
    assert Playbook() >> started() >> blocked("secret") << finish("", terminal="safety_blocked")


@together
@pytest.mark.parametrize("word", sorted(ERROR_WORDS))
def test_a_stop_reason_that_means_an_error_is_handled_as_an_error_and_keeps_the_text(word):
    story = Playbook() >> started() >> unknown(f" {word.upper()} ", "half")
    assert story << finish("half", StopReason.ERROR, TurnStatus.PARTIAL, "provider_error")
    timed_out = word in ("timeout", "reason_time_limit")
    failure = story.snapshot.failure
    assert failure is not None
    assert failure.type is (ErrorType.TIMEOUT if timed_out else ErrorType.MODEL)


@pytest.mark.parametrize("word", sorted(CALL_WORDS))
def test_a_malformed_call_reason_runs_nothing_and_keeps_the_text(word):
    story = Playbook() >> started() >> unknown(word.upper(), "half", tool_calls=(call(),))
    assert story << finish("half", StopReason.FINISH_REASON, TurnStatus.ABORTED, "unknown_fatal")


def test_an_unknown_reason_with_text_completes_flagged_and_never_runs_its_calls():
    story = Playbook() >> started() >> unknown("because", "text", tool_calls=(call(),))
    assert story << finish("text", StopReason.COMPLETED, TurnStatus.COMPLETED, "completed")
    assert "unknown_reason" in story.snapshot.flagged


def test_an_unknown_reason_without_text_fails_the_turn():
    story = Playbook() >> started() >> unknown("because")
    assert story << finish("", StopReason.FINISH_REASON, TurnStatus.ABORTED, "unknown_fatal")


def test_a_complete_answer_without_a_stop_reason_is_judged_by_its_parts_and_flagged():
    story = Playbook() >> started() >> unknown(None, "text")
    assert story << finish("text", StopReason.COMPLETED)
    assert "unknown_reason" in story.snapshot.flagged
    story = Playbook() >> started() >> unknown(None, "", tool_calls=(call(),)) << run_tools("calculator")
    assert "unknown_reason" in story.snapshot.flagged


@pytest.mark.parametrize("text", ["", " \n"])
def test_a_natural_end_without_output_is_never_a_silent_success(text):
    story = Playbook() >> started() >> ended(text)
    assert story << finish(text, StopReason.COMPLETED, TurnStatus.PARTIAL, "empty_output")


def test_a_tool_call_reason_without_calls_is_a_natural_end():
    story = Playbook() >> started() >> stopped(R.TOOL_CALL, "tool_calls", "done")
    assert story << finish("done", StopReason.COMPLETED)


def test_a_cache_warm_up_is_not_a_truncation():
    story = Playbook(max_tokens=0) >> started() >> truncated("", tokens=0)
    assert story << finish("", StopReason.COMPLETED, TurnStatus.COMPLETED, "completed")


def test_a_finish_reason_check_changes_only_the_stop_reason_of_a_natural_end():
    story = Playbook(finish_reasons=(R.END_TURN,)) >> started() >> ended("a")
    assert story << finish("a", StopReason.FINISH_REASON, TurnStatus.COMPLETED, "completed")


def test_a_forbid_has_no_effect_after_a_natural_end():
    story = Playbook(max_total_tokens=1, max_seconds=0.5) >> started() >> ended("a")
    assert story << finish("a", StopReason.COMPLETED, TurnStatus.COMPLETED, "completed")


def test_complete_valid_calls_of_a_truncated_answer_run():
    story = Playbook() >> started() >> truncated("", tool_calls=(call(),)) << run_tools("calculator")
    assert story >> tools_returned() << call_model(AttemptKind.AFTER_TOOLS)


@pytest.mark.parametrize(
    "bad",
    [
        replace(call(), shown_whole=False),
        replace(call(), arguments={"other": 1}),
        call("unheard_of"),
    ],
    ids=["not shown whole", "not valid", "unknown tool"],
)
def test_incomplete_or_invalid_calls_of_a_truncated_answer_are_requested_again(bad):
    story = Playbook() >> started() >> truncated("", tool_calls=(call("clock", "b"), bad))
    assert story << call_model(AttemptKind.TOOL_REPAIR)


def test_a_policy_can_request_every_call_of_a_truncated_answer_again():
    story = Playbook(tool_calls_on_truncation=OnTruncation.REPAIR) >> started() >> truncated("", tool_calls=(call(),))
    assert story << call_model(AttemptKind.TOOL_REPAIR)


def test_unknown_tools_and_schema_violations_get_error_results_while_sibling_calls_run():
    story = (
        Playbook(policy=None)
        >> started()
        >> called(call("unheard_of", "x"), call(id="y"), replace(call(id="z"), arguments={"wrong": 1}))
        << run_tools("calculator")
        >> tools_returned()
    )
    told = [m for m in story.snapshot.messages if m.role is Role.TOOL]
    assert [m.tool_call_id for m in told] == ["x", "y", "z"]
    assert "no tool named “unheard_of”" in told[0].text
    assert told[1].text == "done"
    assert "“expression” is missing" in told[2].text
    assert story.snapshot.spent.total_failures == 1


def test_no_tool_runs_at_the_last_iteration_and_the_notice_names_the_calls():
    story = Playbook(max_steps=1) >> started() >> called(call(), call("clock", "b"), text="let me see")
    assert story << finish("let me see", StopReason.STEPS_LIMIT, TurnStatus.PARTIAL, "forbidden")
    assert "calculator, clock" in story.end.notice
    assert State.EXECUTE_TOOLS not in {target for _, _, target in story.moves}


@pytest.mark.parametrize(
    ("limit", "stop_reason"),
    [
        ({"max_total_tokens": 10}, StopReason.TOKEN_LIMIT),
        ({"max_seconds": 0.5}, StopReason.TIME_LIMIT),
    ],
)
def test_a_turn_with_exhausted_limits_runs_no_tools(limit, stop_reason):
    story = Playbook(**limit) >> started() >> called(call())
    assert story << finish("", stop_reason, TurnStatus.PARTIAL, "forbidden")


def test_every_call_of_a_turn_has_a_unique_id():
    calls = (call(id=""), call(id="a"), call(id="a"), call(id="call_1_0"))
    story = Playbook(max_steps=9) >> started() >> called(*calls) >> tools_returned()
    story = story >> called(call(id="a"), call(id="call_1_2"), call(id=""))
    first, second = (m.tool_calls for m in story.snapshot.messages if m.tool_calls)
    ids = [c.id for c in (*first, *second)]
    assert len(set(ids)) == len(ids)
    assert all(ids)
    assert ids[1] == "a"


def test_generated_ids_avoid_the_ids_received():
    story = Playbook() >> started() >> called(call(id="call_1_1"), call(id=""))
    ids = [c.id for c in story.command.calls]
    assert len(set(ids)) == 2


class Asks:
    """Wants more until the answer ends with “enough”."""

    def explain(self, state):
        enough = state.answer.text.endswith("enough")
        decision = ContinuationDecision.ALLOW if enough else ContinuationDecision.REQUEST
        return ContinuationEvaluation("Asks", decision, "not enough", message="Go on, please.")


def test_a_criterion_may_request_another_step_after_a_natural_end():
    story = (
        Playbook(criteria=(Asks(),))
        >> started("q")
        >> ended("first", echo={"as": "it came"})
        << call_model(AttemptKind.REQUESTED, continuation=None)
    )
    assert story.command.request.messages == (
        Message(Role.USER, "q"),
        Message(Role.ASSISTANT, "first", echo={"as": "it came"}),
        Message(Role.USER, "Go on, please."),
    )
    assert story.snapshot.iteration == 2
    assert story >> ended("enough") << finish("enough", StopReason.COMPLETED)


def test_the_echo_of_the_last_continuation_does_not_replace_the_whole_answer():
    story = Playbook(criteria=(Asks(),)) >> started() >> truncated("one ") >> ended("two", echo=["two"])
    said = story.command.request.messages[-2]
    assert (said.text, said.echo) == ("one two", None)


def test_requested_steps_end_at_max_steps():
    story = Playbook(criteria=(Asks(),), max_steps=2) >> started() >> ended("a") >> ended("b")
    assert story << finish("b", StopReason.STEPS_LIMIT, TurnStatus.PARTIAL, "forbidden")


def test_a_forbid_overrides_a_request_and_the_turn_completes():
    story = Playbook(criteria=(Asks(),), max_total_tokens=1) >> started() >> ended("a")
    assert story << finish("a", StopReason.COMPLETED, TurnStatus.COMPLETED)


def test_a_response_content_check_continues_with_its_own_message():
    check = ResponseContentCheck(lambda text: "42" not in text, "Give the number.")
    story = Playbook(criteria=(check,)) >> started() >> ended("maybe") << call_model(AttemptKind.REQUESTED)
    assert story.command.request.messages[-1] == Message(Role.USER, "Give the number.")
    assert story >> ended("42") << finish("42")


def test_output_text_is_that_of_the_last_iteration_with_text():
    story = Playbook(max_steps=3) >> started() >> called(call(), text="looking") >> tools_returned() >> ended("")
    assert story << finish("looking", StopReason.COMPLETED, TurnStatus.PARTIAL, "empty_output")


def test_a_stop_reason_is_observed_once_per_answer_with_its_raw_value():
    story = Playbook() >> started() >> truncated("a ") >> ended("b")
    seen = story.observed("stop_reason_observed")
    assert [(s["normalized_reason"], s["raw_reason"]) for s in seen] == [("max_tokens", "length"), ("end_turn", "stop")]
    assert {(s["provider"], s["model"], s["turn_id"], s["iteration"]) for s in seen} == {("openai", "m", "turn", 1)}


def test_every_judgement_is_observed_with_the_fields_of_the_spec():
    story = Playbook() >> started() >> truncated("a ") >> ended("b")
    fields = {"agentId", "parentAgentId", "step", "shouldContinue", "stopReason", "resolvedBy", "turn_id", "iteration"}
    seen = story.observed("continuation_evaluated")
    assert len(seen) == 3
    assert all(set(s) == fields for s in seen)


def test_a_tool_error_is_returned_to_the_model_unless_the_policy_stops():
    tool = Playbook() >> started() >> called(call()) >> tools_returned(tool_failed())
    assert tool << finish("", StopReason.ERROR, TurnStatus.PARTIAL, "forbidden")
    for lenient in (ErrorPolicy.ignore_tool_errors(), ErrorPolicy.retry_tool_errors()):
        told = Playbook(error_policy=lenient) >> started() >> called(call()) >> tools_returned(tool_failed())
        assert told << call_model(AttemptKind.AFTER_TOOLS)
        assert told.snapshot.messages[-1].text == "division by zero"


def test_malformed_output_is_a_broken_call_only_where_tools_were_offered():
    """providers.md: `malformed_model_output` while tools were offered; the codec cannot know whether they were."""

    def answered(text, **asked):
        nameless = (ToolCall("call_0", "", issue=CallIssue.MALFORMED, shown_whole=False),)
        bad = stopped(NormalizedStopReason.TOOL_CALL, "malformed_model_output", text, broken_tool_calls=nameless)
        return Playbook(**asked) >> started() >> bad

    assert answered("Hm") << call_model(AttemptKind.TOOL_REPAIR)
    assert answered("Hm", tools=()) << finish("Hm", StopReason.COMPLETED, TurnStatus.COMPLETED)
    assert answered("", tools=()).triggers[-1] is Trigger.UNKNOWN_FATAL


def test_an_empty_answer_adds_no_message_when_another_step_is_requested():
    check = ResponseContentCheck(lambda text: not text, "Say something.")
    story = Playbook(criteria=(check,)) >> started("q") >> ended("") << call_model(AttemptKind.REQUESTED)
    assert [m.text for m in story.command.request.messages] == ["q", "Say something."]
    thought = Playbook(criteria=(check,)) >> started("q") >> ended("", echo=["a thought"])
    assert [m.echo for m in thought.command.request.messages] == [None, ["a thought"], None]
