"""How interruptions, cancels and operators enter (design §2 and §3.2)."""

import pytest

from agentcore import (
    AttemptKind,
    ErrorHandlingDecision,
    ErrorPolicy,
    ErrorType,
    IllegalEvent,
    Message,
    NormalizedStopReason,
    Role,
    State,
    StopReason,
    TurnStatus,
)
from agentcore.argument_validation import WrongInput
from agentcore.events import Breakpoint, Interrupted, OperatorAction, ToolResult, ToolsReturned
from agentcore.verdict import verdict
from tests.agentcore.machine.stories import WAITING_STORIES
from tests.agentcore.playbook import (
    Playbook,
    blocked,
    call,
    call_model,
    called,
    cancelled,
    cut_call,
    ended,
    error,
    finish,
    hold,
    interrupted,
    lost,
    operator,
    released,
    run_tools,
    started,
    tools_returned,
    truncated,
    wait,
    woke_up,
)
from tests.together import together

ANSWERABLE = [state for state in WAITING_STORIES if state is not State.HELD]


@together
@pytest.mark.parametrize("state", ANSWERABLE)
def test_an_interrupted_turn_gets_its_command_again(state):
    before = WAITING_STORIES[state]()
    after = before >> interrupted()
    assert after.snapshot.state is state
    assert type(after.command) is type(before.command)
    assert after.snapshot.spent.total_failures == before.snapshot.spent.total_failures
    assert after.snapshot.output_text == before.snapshot.output_text


def test_a_held_turn_cannot_be_interrupted():
    with pytest.raises(IllegalEvent):
        WAITING_STORIES[State.HELD]() >> interrupted()


def test_partial_output_of_an_interrupted_call_is_kept_and_the_rest_requested():
    story = Playbook() >> started() >> interrupted("half an ") << call_model(AttemptKind.INITIAL, continues="half an ")
    assert (story.snapshot.spent.attempts, story.snapshot.spent.output_tokens) == (2, 4)
    assert story.snapshot.spent.consecutive_failures == 0
    assert story >> ended("answer") << finish("half an answer", StopReason.COMPLETED)


def test_time_between_workers_does_not_count_as_time_in_the_model():
    story = Playbook(max_seconds=10.0) >> started() >> Interrupted(5000.0)
    assert story.snapshot.spent.seconds == 0.0


def test_an_interruption_outside_a_call_has_no_partial_answer():
    story = Playbook() >> started() >> called(call())
    assert (story >> interrupted("ghost")).snapshot.output_text == ""


@together
@pytest.mark.parametrize("state", WAITING_STORIES)
def test_a_cancel_from_every_waiting_state_keeps_the_text(state):
    before = WAITING_STORIES[state]()
    partial = " and more" if state.value.startswith("request") and state is not State.REQUEST_TOOL_REPAIR else None
    partial = None if state is State.REQUEST_ENVELOPE_RETRY else partial
    after = before >> cancelled(partial)
    text = before.snapshot.output_text + (partial or "")
    if before.snapshot.held_state is State.EVALUATE_STOP:
        text = before.snapshot.response.text
    assert after << finish(text, StopReason.USER_REQUESTED, TurnStatus.CANCELLED, "cancelled")
    assert "ada" in after.end.notice


def test_an_answer_held_before_its_judgement_is_not_lost_by_a_cancel():
    pause = (Breakpoint(state="evaluate_stop"),)
    story = Playbook() >> started(breakpoints=pause) >> ended("the answer") << hold(State.EVALUATE_STOP) >> cancelled()
    assert story << finish("the answer", StopReason.USER_REQUESTED)
    assert (
        Playbook()
        >> started(breakpoints=pause)
        >> blocked("no")
        >> cancelled()
        << finish("", StopReason.USER_REQUESTED)
    )


def test_a_cancelled_continuation_reports_how_its_truncation_ended():
    story = Playbook() >> started() >> truncated("a ") >> cancelled("b")
    assert [s["terminal_reason"] for s in story.observed("continuation_terminated")] == ["cancelled"]


@together
@pytest.mark.parametrize("state", WAITING_STORIES)
def test_an_operator_may_act_in_every_waiting_state_without_a_transition(state):
    before = WAITING_STORIES[state]()
    after = before >> operator(limits={"max_continuations": 7})
    assert after.snapshot.state is state
    assert after.command == before.command
    assert after.snapshot.limits.max_continuations == 7
    assert after.observed("operator_acted")[-1]["by"] == "ada"


def test_a_changed_error_policy_gives_the_same_result_live_and_from_the_history():
    for word in (ErrorHandlingDecision.RETRY, "retry"):
        story = Playbook() >> started() >> operator(error_policy={"on_model_error": word, "max_retries": 2})
        assert story.snapshot.error_policy == ErrorPolicy(on_model_error=ErrorHandlingDecision.RETRY, max_retries=2)
        assert story >> error() >> woke_up() >> ended("a") << finish("a")


@pytest.mark.parametrize(
    "changes",
    [
        {"limits": {"max_wishes": 3}},
        {"error_policy": {"on_full_moon": "retry"}},
        {"error_policy": {"on_model_error": "pray"}},
    ],
)
def test_a_change_of_something_that_does_not_exist_is_illegal(changes):
    with pytest.raises(IllegalEvent):
        Playbook() >> started() >> operator(**changes)


def test_a_changed_prompt_model_or_history_applies_from_the_next_call():
    story = Playbook() >> started() >> operator(model="n", system_prompt="new", messages=()) >> truncated("a")
    assert story << call_model(AttemptKind.CONTINUATION, model="n", system_prompt="new", messages=())


def test_a_call_in_flight_keeps_its_cap_and_the_next_call_uses_the_new_one():
    story = Playbook(max_tokens=60) >> started() >> operator(max_tokens=10)
    assert story << call_model(AttemptKind.INITIAL, max_tokens=60)
    assert story >> truncated("a") << call_model(AttemptKind.CONTINUATION, max_tokens=10)


def test_a_waiting_retry_uses_the_new_cap():
    story = (
        Playbook(error_policy=ErrorPolicy.retry_all()) >> started() >> error() << wait(0.5) >> operator(max_tokens=7)
    )
    assert story >> woke_up() << call_model(AttemptKind.ERROR_RETRY, max_tokens=7)


def test_a_tool_result_supplied_by_an_operator_replaces_the_tool_run():
    story = Playbook() >> started() >> called(call(), call("clock", "b")) << run_tools("calculator", "clock")
    story = story >> operator(tool_result=ToolResult("b", "clock", "noon")) << run_tools("calculator")
    told = (story >> tools_returned()).snapshot.messages[-2:]
    assert [(m.tool_call_id, m.text) for m in told] == [("a", "done"), ("b", "noon")]


def test_a_tool_without_a_result_is_reported_to_the_model_as_an_error():
    story = Playbook(error_policy=ErrorPolicy.ignore_tool_errors()) >> started() >> called(call())
    story = story >> ToolsReturned(0.0, (ToolResult("somebody-else", "clock", "noon"),))
    assert story.snapshot.messages[-1].tool_call_id == "a"
    assert "returned nothing" in story.snapshot.messages[-1].text


def test_tool_results_are_sent_in_the_order_of_the_calls():
    story = Playbook() >> started() >> called(call(), call("clock", "b"))
    story = story >> tools_returned(ToolResult("b", "clock", "noon"), ToolResult("a", "calculator", "2"))
    assert [m.tool_call_id for m in story.snapshot.messages[-2:]] == ["a", "b"]


def test_elapsed_time_never_decreases_and_counts_only_the_model_and_tools():
    story = Playbook() >> started() >> called(call()) >> tools_returned() >> ended("a")
    assert story.snapshot.spent.seconds == 3.0
    held = Playbook() >> started(breakpoints=(Breakpoint(state="evaluate_stop"),)) >> ended("a")
    held = held >> operator() >> released()
    assert held.snapshot.spent.seconds == 1.0


@pytest.mark.parametrize("action", [OperatorAction.RELEASE, OperatorAction.STEP])
def test_a_turn_that_is_not_held_cannot_be_released(action):
    with pytest.raises(IllegalEvent):
        Playbook() >> started() >> operator(action)


def test_an_error_type_given_by_the_tool_is_judged_as_that_type():
    policy = ErrorPolicy(on_timeout_error=ErrorHandlingDecision.IGNORE)
    story = Playbook(error_policy=policy) >> started() >> called(call())
    slow = ToolResult("a", "calculator", "too slow", ErrorType.TIMEOUT)
    assert story >> tools_returned(slow) << call_model(AttemptKind.AFTER_TOOLS)


def test_a_history_replaced_while_tools_run_keeps_the_message_that_called_them():
    story = Playbook() >> started() >> called(call()) >> operator(messages=(Message(Role.USER, "other"),))
    story = story >> tools_returned() << call_model(AttemptKind.AFTER_TOOLS)
    first, calling, result = story.command.request.messages
    assert (first.text, [c.id for c in calling.tool_calls], result.tool_call_id) == ("other", ["a"], "a")
    kept = Playbook() >> started() >> called(call())
    kept = kept >> operator(messages=kept.snapshot.messages) >> tools_returned()
    assert len(kept.command.request.messages) == 3


def test_the_text_of_a_call_that_failed_as_a_block_is_withheld():
    blocks = error(stop_reason=NormalizedStopReason.SAFETY_BLOCKED, partial="secret")
    story = Playbook() >> started() >> truncated("fine ") >> blocks
    assert story << finish("fine ", StopReason.FINISH_REASON, TurnStatus.ABORTED, "safety_blocked")


def test_the_last_stop_reason_of_a_turn_is_that_of_the_error_that_meant_one():
    full = error(stop_reason=NormalizedStopReason.CONTEXT_WINDOW_EXCEEDED)
    assert (Playbook() >> started() >> truncated("a") >> full).snapshot.model_stop_reason == "context_window_exceeded"


def test_the_retry_of_a_lost_continuation_keeps_its_kind_cap_and_hint():
    story = Playbook(max_tokens=50) >> started() >> truncated("a ") >> interrupted()
    assert story << call_model(AttemptKind.CONTINUATION, continues="a ", max_tokens=50)
    assert (story.command.attempt, story.snapshot.spent.continuations) == (3, 1)


def test_interrupted_backoff_and_tools_are_commanded_again_unchanged():
    asked = Playbook(error_policy=ErrorPolicy.retry_all()) >> started() >> error(retry_after=9.0) << wait(9.0)
    assert asked >> interrupted() << wait(9.0)
    assert Playbook() >> started() >> called(call()) >> interrupted() << run_tools("calculator")


@pytest.mark.parametrize("partial", [None, "half"])
def test_a_cancelled_call_has_the_stop_reason_cancelled(partial):
    story = Playbook() >> started() >> truncated("a ") >> cancelled(partial)
    assert (story.snapshot.model_stop_reason, story.snapshot.raw_stop_reason) == ("cancelled", None)
    assert not story.snapshot.spent.estimated


def test_a_result_supplied_by_an_operator_wins_over_a_later_result_of_the_tool():
    story = Playbook() >> started() >> called(call()) >> operator(tool_result=ToolResult("a", "calculator", "3"))
    story = story >> tools_returned(ToolResult("a", "calculator", "2"))
    assert story.snapshot.messages[-1].text == "3"


@together
@pytest.mark.parametrize(
    "change",
    [
        {"limits": {"max_continuations": "many"}},
        {"limits": {"max_continuations": None}},
        {"limits": {"max_steps": -1}},
        {"limits": {"max_seconds": -1.0}},
        {"limits": {"schema_rounds": True}},
        {"error_policy": {"max_retries": "many"}},
        {"error_policy": {"max_retries": -1}},
        {"max_tokens": 0},
    ],
    ids=str,
)
def test_a_number_that_cannot_be_compared_is_refused_on_arrival(change):
    story = Playbook() >> started()
    with pytest.raises(IllegalEvent, match="nothing has changed"):
        story >> operator(**change)


def test_a_number_that_is_not_json_is_refused_before_it_becomes_an_event():
    with pytest.raises(WrongInput, match="limits must be an object of JSON"):
        operator(limits={"max_seconds": float("nan")})


def test_an_optional_limit_may_be_removed():
    story = Playbook(max_total_tokens=10) >> started() >> operator(limits={"max_total_tokens": None})
    assert story.snapshot.limits.max_total_tokens is None


@pytest.mark.parametrize("said", [None, "half an answer"])
def test_a_lost_turn_ends_as_interrupted_with_its_partial_output(said):
    story = Playbook() >> started() >> lost(said, "The process that served it is gone.")
    end = story.snapshot.end
    assert story.snapshot.state is State.ABORT
    assert (end.status, end.stop_reason, end.terminal_reason) == ("interrupted", "error", "interrupted")
    assert end.output_text == (said or "")
    assert end.error_message == "The process that served it is gone."
    assert verdict(story.snapshot).startswith("Interrupted: The process that served it is gone.")


def test_a_lost_tool_repair_is_observed_as_not_made():
    story = Playbook() >> started() >> cut_call() >> lost()
    assert [(o["repair_attempted"], o["success"]) for o in story.observed("tool_payload_repair")] == [(True, False)]
