"""repair_pending: a tool call that was cut or malformed never runs, and is asked for again (design §3.4)."""

import pytest

from agentcore import (
    AttemptKind,
    ChatResponse,
    ErrorPolicy,
    ErrorType,
    NormalizedStopReason,
    Role,
    StopReason,
    TurnStatus,
)
from agentcore.machine.judges.continue_pending import HINT
from agentcore.machine.judges.repair_pending import MALFORMED_HINT
from agentcore.messages import CallIssue, Continuation
from tests.agentcore.playbook import (
    Playbook,
    broken,
    call,
    call_model,
    called,
    cut_call,
    ended,
    error,
    finish,
    interrupted,
    malformed_call,
    responded,
    run_tools,
    started,
    tools_returned,
    truncated,
    usage,
    woke_up,
)


def test_a_truncated_call_is_requested_again_with_twice_its_cap_and_the_hint_of_the_spec():
    story = (
        Playbook(max_tokens=30)
        >> started()
        >> cut_call("I compute: ")
        << call_model(AttemptKind.TOOL_REPAIR, continues="I compute: ", max_tokens=60)
    )
    assert story.command.request.continuation.hint == HINT
    assert story.snapshot.messages == story.records[0].event.messages
    story = story >> called(call()) << run_tools("calculator")
    assert story.snapshot.messages[-1].text == "I compute: "
    assert [(s["issue"], s["repair_attempted"], s["success"]) for s in story.observed("tool_payload_repair")] == [
        ("truncated", True, True)
    ]
    assert story >> tools_returned() >> ended("2") << finish("2", StopReason.COMPLETED)


def test_a_malformed_call_is_reported_to_the_model_as_malformed():
    story = Playbook() >> started() >> malformed_call() << call_model(AttemptKind.TOOL_REPAIR)
    assert story.command.request.continuation.hint == MALFORMED_HINT


def test_the_cap_of_a_repair_is_clamped_to_the_ceiling():
    assert (
        Playbook(max_tokens=30, ceiling=40)
        >> started()
        >> cut_call()
        << call_model(AttemptKind.TOOL_REPAIR, max_tokens=40)
    )


def test_a_second_broken_call_ends_the_turn_with_a_notice_and_an_observation():
    story = Playbook() >> started() >> cut_call("text ") >> cut_call()
    assert story << finish("text ", StopReason.RETRY_LIMIT, TurnStatus.PARTIAL, "tool_repair_failed")
    seen = story.observed("tool_payload_repair")
    assert [(s["repair_attempted"], s["success"]) for s in seen] == [(True, False)]
    assert [s["terminal_reason"] for s in story.observed("continuation_terminated")] == ["tool_repair_failed"]


def test_without_repair_attempts_a_broken_call_is_observed_and_ends_the_turn():
    story = Playbook(max_tool_repair_attempts=0) >> started() >> malformed_call("a")
    assert story << finish("a", StopReason.RETRY_LIMIT, TurnStatus.PARTIAL, "tool_repair_failed")
    assert [s["repair_attempted"] for s in story.observed("tool_payload_repair")] == [False]


def test_a_broken_call_of_a_later_iteration_is_observed_even_with_attempts_used_up():
    story = Playbook() >> started() >> cut_call() >> called(call()) >> tools_returned() >> cut_call()
    assert story << finish("", terminal="tool_repair_failed")
    seen = story.observed("tool_payload_repair")
    assert [(s["repair_attempted"], s["success"]) for s in seen] == [(True, True), (False, False)]


def test_two_attempts_allow_two_repairs():
    story = Playbook(max_tokens=10, max_tool_repair_attempts=2) >> started() >> cut_call() >> cut_call()
    assert story << call_model(AttemptKind.TOOL_REPAIR, max_tokens=40)
    assert len(story.observed("tool_payload_repair")) == 1


def test_a_plain_answer_to_a_repair_ends_the_turn_like_any_answer():
    story = Playbook() >> started() >> cut_call("text ") >> ended("and no call")
    assert story << finish("text and no call", StopReason.COMPLETED, TurnStatus.COMPLETED)


def test_a_repair_is_merged_with_the_text_before_the_call():
    said = "I will now compute that for you. "
    story = Playbook() >> started() >> cut_call(said) >> called(call(), text=said + "Here:")
    assert story.snapshot.messages[-1].text == said + "Here:"


def test_complete_siblings_of_a_broken_call_do_not_run_and_are_not_sent_back():
    response = ChatResponse("", (call(id="x"),), (broken(),), usage(5), stop_reason=NormalizedStopReason.TOOL_CALL)
    story = Playbook() >> started() >> responded(response) << call_model(AttemptKind.TOOL_REPAIR)
    assert all(m.role is Role.USER for m in story.command.request.messages)


def test_a_repair_truncated_in_its_text_is_continued_as_text():
    story = Playbook() >> started() >> cut_call("a ") >> truncated("b ")
    assert story << call_model(AttemptKind.CONTINUATION, continues="a b ")


@pytest.mark.parametrize(
    ("limit", "stop_reason", "terminal"),
    [
        ({"max_total_tokens": 10}, StopReason.TOKEN_LIMIT, "budget_exhausted"),
        ({"max_seconds": 0.5}, StopReason.TIME_LIMIT, "forbidden"),
    ],
)
def test_a_repair_is_bound_by_total_tokens_and_seconds(limit, stop_reason, terminal):
    assert Playbook(**limit) >> started() >> cut_call("a") << finish("a", stop_reason, TurnStatus.PARTIAL, terminal)


def test_a_repair_is_not_bound_by_the_completion_total():
    story = Playbook(max_tokens=10, max_total_completion_tokens=10) >> started() >> cut_call("a", tokens=10)
    assert story << call_model(AttemptKind.TOOL_REPAIR, max_tokens=20)


def test_the_partial_text_of_a_failed_repair_stays_on_its_attempt():
    policy = ErrorPolicy.retry_all()
    story = Playbook(error_policy=policy) >> started() >> cut_call("a ") >> error(partial="half") >> woke_up()
    assert story << call_model(AttemptKind.ERROR_RETRY, continues="a ", max_tokens=120)
    story = Playbook() >> started() >> cut_call("a ") >> interrupted("half")
    assert story << call_model(AttemptKind.TOOL_REPAIR, continues="a ", max_tokens=120)


def test_text_continued_after_a_repair_truncated_by_an_error_loses_nothing():
    cut = error(ErrorType.MODEL, stop_reason=NormalizedStopReason.MAX_TOKENS)
    story = Playbook() >> started() >> cut_call("a ") >> cut
    assert story << call_model(AttemptKind.CONTINUATION, continues="a ")
    assert story >> error(partial="b") << finish("a b", StopReason.ERROR, TurnStatus.PARTIAL, "provider_error")


def test_a_call_with_evidence_of_truncation_takes_precedence_over_malformed_siblings():
    bad = (broken(CallIssue.MALFORMED), broken(CallIssue.TRUNCATED, "b"))
    story = Playbook() >> started() >> responded(ChatResponse("", broken_tool_calls=bad, usage=usage(5)))
    assert story.command.request.continuation.hint == HINT


def test_a_repair_is_marked_as_one_so_that_no_prefill_hides_the_fault():
    story = Playbook() >> started() >> cut_call("Let me see. ")
    assert story.command.request.continuation == Continuation("Let me see. ", HINT, repairs=True)
    cut = Playbook() >> started() >> truncated("Let me see. ")
    assert cut.command.request.continuation == Continuation("Let me see. ", HINT)
