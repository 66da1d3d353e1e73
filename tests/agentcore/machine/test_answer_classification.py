"""Which calls may run: shown whole, of a known tool, fitting its schema (design §3.4)."""

from dataclasses import replace

import pytest

from agentcore import (
    AttemptKind,
    ChatResponse,
    ErrorPolicy,
    NormalizedStopReason,
    Role,
    StopReason,
    ToolCall,
    TurnStatus,
)
from agentcore.machine.judges.continue_pending import HINT
from agentcore.policy import EnvelopeRules, Limits, OnTruncation, Policy, RecoveryPath
from tests.agentcore.playbook import (
    Playbook,
    call,
    call_model,
    called,
    ended,
    finish,
    responded,
    run_tools,
    started,
    stopped,
    tools_returned,
    truncated,
    usage,
)
from tests.together import together

R = NormalizedStopReason
LENIENT = ErrorPolicy.ignore_tool_errors()


def fails(schema, value):
    raise RuntimeError("the words of a validator may hold what it was given")


def unchecked(**more):
    return Playbook(policy=Policy(validate=fails, error_policy=LENIENT, limits=Limits()), **more) >> started()


def test_a_failing_validator_runs_no_call_and_does_not_break_the_turn():
    story = unchecked() >> called(call(), call("clock", "b")) << run_tools() >> tools_returned()
    told = [m.text for m in story.snapshot.messages if m.role is Role.TOOL]
    assert told == ["The arguments do not fit: they could not be checked (RuntimeError)"] * 2
    assert story >> ended("then not") << finish("then not", StopReason.COMPLETED)


def test_calls_of_a_truncated_answer_that_cannot_be_checked_are_requested_again():
    assert unchecked() >> truncated("", tool_calls=(call(),)) << call_model(AttemptKind.TOOL_REPAIR)


def test_a_validator_that_fails_on_an_envelope_ends_the_turn_with_the_reason():
    story = unchecked(envelope_schema={"type": "object"}) >> ended('{"secret": 1}')
    assert story << finish("", StopReason.ERROR, TurnStatus.FAILED, "forbidden", error_code="envelope_invalid")
    assert "could not be judged (RuntimeError)" in story.end.error_message
    assert "words of a validator" not in story.end.error_message
    outcome = story.step.transitions[-1].outcome
    assert (outcome.resolved_by, outcome.stop_reason) == ("EnvelopeCriterion", StopReason.ERROR)
    told = [o.type for o in story.step.observed if o.type.startswith(("envelope", "cap"))]
    assert told == ["envelope.retry.exhausted", "cap.breached"]


def test_a_repairer_that_fails_on_an_envelope_also_ends_the_turn():
    rules = EnvelopeRules(recovery=(RecoveryPath.JSONREPAIR,))
    story = Playbook(envelope=rules, repair=lambda text: text[9999], envelope_schema={}) >> started() >> ended('{"a": ')
    assert story << finish("", StopReason.ERROR, TurnStatus.FAILED, "forbidden")


@together
@pytest.mark.parametrize("policy", OnTruncation)
@pytest.mark.parametrize(
    ("whole", "valid"), [(True, True), (True, False), (False, True), (False, False)], ids=lambda flag: str(flag)
)
def test_a_call_of_a_truncated_answer_runs_only_if_proven_complete_valid_and_allowed(policy, whole, valid):
    one = replace(call(), shown_whole=whole, arguments={"expression": "1"} if valid else {"other": 1})
    both = (call("clock", "b"), one)
    story = Playbook(tool_calls_on_truncation=policy) >> started() >> truncated("", tool_calls=both)
    if whole and valid and policy is OnTruncation.EXECUTE_IF_COMPLETE:
        assert story << run_tools("clock", "calculator")
    else:
        assert story << call_model(AttemptKind.TOOL_REPAIR, max_tokens=120)
        assert story.command.request.continuation.hint == HINT


def test_under_a_natural_reason_a_call_needs_no_proof_of_completeness():
    shown = replace(call(), shown_whole=False)
    story = Playbook(tool_calls_on_truncation=OnTruncation.REPAIR) >> started() >> called(shown)
    assert story << run_tools("calculator")


def test_a_free_text_call_is_not_checked_against_a_schema():
    custom = ToolCall("a", "calculator", {}, "1+1", custom=True)
    assert Playbook() >> started() >> called(custom) << run_tools("calculator")
    assert Playbook() >> started() >> truncated("", tool_calls=(custom,)) << run_tools("calculator")


@together
@pytest.mark.parametrize("text", ["", "said"])
@pytest.mark.parametrize("word", ["UNEXPECTED_TOOL_CALL", " too_many_tool_calls ", "Missing_Thought_Signature"])
def test_a_malformed_call_reason_fails_the_turn_whatever_else_the_answer_holds(word, text):
    story = Playbook() >> started() >> stopped(R.UNKNOWN, word, text, tool_calls=(call(),))
    assert story << finish(text, StopReason.FINISH_REASON, TurnStatus.ABORTED, "unknown_fatal")
    assert story.snapshot.raw_stop_reason == word


@pytest.mark.parametrize(
    ("calls", "asked"), [((call(),), "calculator"), ((call(), call("clock", "b")), "calculator clock")]
)
def test_complete_calls_run_without_a_stop_reason(calls, asked):
    response = ChatResponse("", calls, usage=usage(5), stop_reason=R.UNKNOWN)
    story = Playbook() >> started() >> responded(response) << run_tools(*asked.split())
    assert "unknown_reason" in story.snapshot.flagged


def test_a_blank_stop_reason_counts_as_none():
    assert Playbook() >> started() >> stopped(R.UNKNOWN, " ", "said") << finish("said", StopReason.COMPLETED)
    assert Playbook() >> started() >> stopped(R.UNKNOWN, "", "", tool_calls=(call(),)) << run_tools("calculator")


def test_a_very_long_call_id_is_replaced():
    story = Playbook() >> started() >> called(call(id="x" * 257), call(id="y" * 256))
    assert [len(c.id) for c in story.command.calls] == [len("call_1_0"), 256]


@pytest.mark.parametrize("envelope_schema", [None, {"type": "object"}])
def test_a_cache_warm_up_completes_in_every_kind_of_turn(envelope_schema):
    story = Playbook(max_tokens=0, envelope_schema=envelope_schema) >> started() >> truncated("", tokens=0)
    assert story << finish("", StopReason.COMPLETED, TurnStatus.COMPLETED, "completed", notice="")


def test_an_echo_replaces_its_answer_only_while_the_answer_is_unchanged():
    response = ChatResponse("a", (call(),), usage=usage(5), stop_reason=R.TOOL_CALL, echo=["as it came"])
    assert (Playbook() >> started() >> responded(response)).snapshot.messages[-1].echo == ["as it came"]
    renamed = replace(response, tool_calls=(call(id=""),))
    assert (Playbook() >> started() >> responded(renamed)).snapshot.messages[-1].echo is None
    merged = Playbook() >> started() >> truncated("before ") >> responded(response)
    assert (merged.snapshot.messages[-1].text, merged.snapshot.messages[-1].echo) == ("before a", None)


def test_a_cache_warm_up_with_a_call_is_judged_by_its_call():
    story = Playbook(max_tokens=0) >> started() >> truncated("", tokens=0, tool_calls=(call(),))
    assert story << run_tools("calculator")
