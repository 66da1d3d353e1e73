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


def test_whole_calls_end_the_turn_and_are_kept_in_its_end():
    told = book() >> called(call(), call("clock", "b"), text="Let me see.")
    told << finish(**whole(call(), call("clock", "b"), text="Let me see."))
    assert told.moves[-1] == (State.EVALUATE_STOP, Trigger.END_TURN, State.COMPLETE)
    assert told.snapshot.model_stop_reason == NormalizedStopReason.TOOL_CALL


def test_without_it_they_run_here_and_the_end_says_nothing_of_calls():
    (Playbook() >> started() >> called(call())) << run_tools("calculator")
    (Playbook() >> started() >> responded(said("Done."))) << finish("Done.", calls=())


def test_calls_without_a_word_of_text_are_no_empty_answer():
    (book() >> called(call())) << finish(terminal="completed", status=TurnStatus.COMPLETED)


@pytest.mark.parametrize("unfit", [call("nothing_known", "a"), call(id="a", other="1")])
def test_a_call_that_does_not_fit_its_tool_is_for_who_asked_to_judge(unfit):
    (book() >> called(unfit)) << finish(**whole(unfit))


@pytest.mark.parametrize("limits", [{"max_steps": 1}, {"max_total_tokens": 1}, {"max_seconds": 0.5}])
def test_a_limit_that_is_spent_forbids_nothing_for_nothing_more_is_asked(limits):
    (book(**limits) >> called(call())) << finish(**whole(call()))


def test_a_criterion_that_wants_other_words_is_not_asked_about_calls():
    asking = ResponseContentCheck(lambda _text: True, "Name your sources.")
    (book(criteria=(asking,)) >> called(call(), text="Let me see.")) << finish(**whole(call(), text="Let me see."))


@pytest.mark.parametrize("broken", [cut_call("Let me "), malformed_call("Let me ")])
def test_a_broken_call_is_asked_for_again_and_handed_out_once_it_is_whole(broken):
    told = (book() >> broken) << call_model(AttemptKind.TOOL_REPAIR)
    told = told >> called(call(), text="see.")
    told << finish(**whole(call(), text="Let me see."))
    assert told.observed("tool_payload_repair")[-1]["success"] is True


@pytest.mark.parametrize("broken", [cut_call("Let me "), malformed_call("Let me ")])
def test_a_call_that_stays_broken_is_never_handed_out(broken):
    told = book(max_tool_repair_attempts=0) >> broken
    told << finish("Let me ", StopReason.RETRY_LIMIT, TurnStatus.PARTIAL, "tool_repair_failed", calls=())


def test_a_continuation_that_ends_in_calls_says_so_and_that_it_was_continued():
    told = (book() >> truncated("Let me ")) >> called(call(), text="see.")
    told << finish(**whole(call(), text="Let me see."))
    assert [seen["terminal_reason"] for seen in told.observed("continuation_terminated")] == ["completed"]


def test_whole_and_valid_calls_of_a_cut_answer_are_handed_out():
    (book() >> truncated(tool_calls=(call(),))) << finish(**whole(call()))


def test_an_answer_that_was_cut_at_the_character_cap_hands_out_nothing():
    told = book(max_total_output_chars=3) >> called(call(), text="Let me see.")
    told << finish("Let", status=TurnStatus.PARTIAL, terminal="output_cap", calls=())


@pytest.mark.parametrize("word", sorted(CALL_WORDS))
def test_calls_of_a_call_word_are_never_handed_out(word):
    (book() >> unknown(word, "Oh.", tool_calls=(call(),))) << finish(terminal="unknown_fatal", calls=())


def test_ids_that_come_twice_are_made_unique_before_they_are_handed_out():
    told = book() >> called(call(), call(), call("clock", ""))
    assert len({each.id for each in told.end.calls}) == 3


def test_of_tools_that_end_the_loop_it_is_said_that_the_loop_ends_with_them():
    ending = Playbook(ending_tools=("calculator",)) >> started() >> called(call())
    assert ending.step.transitions[-1].reason == "the model asked for calculator; the agent's loop ends with them"
    assert (book() >> called(call())).step.transitions[-1].reason.endswith("; who asked runs them")
