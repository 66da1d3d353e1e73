"""evaluate_stop where who asked runs the tools: whole calls end the turn, broken ones are never handed out."""

import pytest

from agentcore import AttemptKind, NormalizedStopReason, State, StopReason, Trigger, TurnStatus
from agentcore.criteria.builtin import ResponseContentCheck
from agentcore.machine.answer_classification import CALL_WORDS
from tests.agentcore.playbook import (
    Playbook,
    call,
    call_model,
    called,
    cut_call,
    finish,
    malformed_call,
    responded,
    run_tools,
    said,
    started,
    truncated,
    unknown,
)


def book(**more):
    return Playbook(client_tools=True, **more) >> started()


def whole(*calls, text=""):
    return {"text": text, "stop_reason": StopReason.COMPLETED, "status": TurnStatus.COMPLETED, "calls": calls}


def test_complete_calls_end_the_turn_and_are_kept_in_its_ending():
    told = book() >> called(call(), call("clock", "b"), text="Let me see.")
    told << finish(**whole(call(), call("clock", "b"), text="Let me see."))
    assert told.moves[-1] == (State.EVALUATE_STOP, Trigger.END_TURN, State.COMPLETE)
    assert told.snapshot.model_stop_reason == NormalizedStopReason.TOOL_CALL


def test_without_handing_out_calls_run_here_and_the_ending_has_none():
    (Playbook() >> started() >> called(call())) << run_tools("calculator")
    (Playbook() >> started() >> responded(said("Done."))) << finish("Done.", calls=())


def test_calls_without_text_are_not_an_empty_answer():
    (book() >> called(call())) << finish(terminal="completed", status=TurnStatus.COMPLETED)


@pytest.mark.parametrize("unfit", [call("nothing_known", "a"), call(id="a", other="1")])
def test_a_call_that_does_not_match_its_tool_is_left_to_the_caller(unfit):
    (book() >> called(unfit)) << finish(**whole(unfit))


@pytest.mark.parametrize("limits", [{"max_steps": 1}, {"max_total_tokens": 1}, {"max_seconds": 0.5}])
def test_an_exhausted_limit_forbids_nothing_because_no_further_call_is_made(limits):
    (book(**limits) >> called(call())) << finish(**whole(call()))


def test_a_criterion_on_response_text_is_not_applied_to_calls():
    asking = ResponseContentCheck(lambda _text: True, "Name your sources.")
    (book(criteria=(asking,)) >> called(call(), text="Let me see.")) << finish(**whole(call(), text="Let me see."))


@pytest.mark.parametrize("broken", [cut_call("Let me "), malformed_call("Let me ")])
def test_a_broken_call_is_requested_again_and_handed_out_once_complete(broken):
    told = (book() >> broken) << call_model(AttemptKind.TOOL_REPAIR)
    told = told >> called(call(), text="see.")
    told << finish(**whole(call(), text="Let me see."))
    assert told.observed("tool_payload_repair")[-1]["success"] is True


@pytest.mark.parametrize("broken", [cut_call("Let me "), malformed_call("Let me ")])
def test_a_call_that_stays_broken_is_never_handed_out(broken):
    told = book(max_tool_repair_attempts=0) >> broken
    told << finish("Let me ", StopReason.RETRY_LIMIT, TurnStatus.PARTIAL, "tool_repair_failed", calls=())


def test_a_continuation_that_ends_in_calls_reports_the_calls_and_the_continuation():
    told = (book() >> truncated("Let me ")) >> called(call(), text="see.")
    told << finish(**whole(call(), text="Let me see."))
    assert [seen["terminal_reason"] for seen in told.observed("continuation_terminated")] == ["completed"]


def test_complete_valid_calls_of_a_truncated_answer_are_handed_out():
    (book() >> truncated(tool_calls=(call(),))) << finish(**whole(call()))


def test_an_answer_cut_at_the_character_cap_hands_out_no_calls():
    told = book(max_total_output_chars=3) >> called(call(), text="Let me see.")
    told << finish("Let", status=TurnStatus.PARTIAL, terminal="output_cap", calls=())


@pytest.mark.parametrize("word", sorted(CALL_WORDS))
def test_calls_under_a_malformed_call_reason_are_never_handed_out(word):
    (book() >> unknown(word, "Oh.", tool_calls=(call(),))) << finish(terminal="unknown_fatal", calls=())


def test_duplicate_ids_are_made_unique_before_calls_are_handed_out():
    told = book() >> called(call(), call(), call("clock", ""))
    assert len({each.id for each in told.end.calls}) == 3


def test_the_reason_says_that_the_agents_loop_ends_with_an_ending_tool():
    ending = Playbook(ending_tools=("calculator",)) >> started() >> called(call())
    assert ending.step.transitions[-1].reason == "the model asked for calculator; the agent's loop ends with them"
    assert (book() >> called(call())).step.transitions[-1].reason.endswith("; who asked runs them")
