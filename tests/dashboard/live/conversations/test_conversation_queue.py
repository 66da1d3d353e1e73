"""Turns of a conversation run one after another, whoever drives them and whenever it is asked to."""

import threading
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.db import connection as database
from django.db import connections
from procrastinate.contrib.django.models import ProcrastinateJob

from dashboard.agents.models import Agent
from dashboard.live import conversation_queue
from dashboard.live.conversations.services import budget_set
from dashboard.live.services import TurnConflict, orphans_requeue, turn_cancel, turn_start
from dashboard.replay.rerun_service import turn_rerun
from dashboard.replay.services import turn_verify
from dashboard.turns.conversations.models import Conversation
from dashboard.turns.models import Attempt, Record, Turn
from tests.dashboard.driving import AgentOf, drive
from tests.dashboard.live.conversations.conftest import Say

pytestmark = pytest.mark.django_db(transaction=True)


def jobs() -> list[str]:
    ours = [str(turn_id) for turn_id in Turn.objects.values_list("id", flat=True)]
    waiting = ProcrastinateJob.objects.filter(status="todo", lock__in=ours).order_by("id")
    return list(waiting.values_list("lock", flat=True))


def told(turn: Turn) -> list[tuple[str, str]]:
    """What the provider was sent first."""
    started = Record.objects.get(turn_id=turn.id, seq=1).event
    return [(message["role"], message["text"]) for message in started["messages"]]


def fresh(turn: Turn) -> Turn:
    return Turn.objects.get(pk=turn.pk)


def test_a_turn_receives_the_messages_of_earlier_turns(say: Say):
    first = drive(say("One?"))
    second = drive(say("Two?"))
    third = drive(say("Three?"))
    assert told(first) == [("user", "One?")]
    assert told(second) == [("user", "One?"), ("assistant", first.output_text), ("user", "Two?")]
    assert told(third)[2:] == [("user", "Two?"), ("assistant", second.output_text), ("user", "Three?")]
    assert [turn.position for turn in (first, second, third)] == [1, 2, 3]


def test_a_prompt_for_a_just_erased_conversation_is_reported(say: Say):
    Conversation.objects.all().delete()
    with pytest.raises(ValidationError, match="has just been erased; start a new one"):
        say("One?")
    assert not Turn.objects.exists()


def test_a_turn_of_a_conversation_verifies_alone_and_its_rerun_starts_with_the_same_messages(say: Say):
    drive(say("One?"))
    second = drive(say("Two?"))
    assert turn_verify(turn=second).verified
    again = drive(turn_rerun(turn=second, overrides={}))
    assert told(again) == told(second)
    assert again.conversation is None


def test_notices_and_turns_without_an_answer_are_not_sent_to_the_model(say: Say, conversation: Conversation):
    cut = drive(say("Cut?", overrides={"max_tokens": 20, "limits": {"max_continuations": 0}}))
    assert cut.notice
    silent = drive(say("Silent?", overrides={"model": "sim-refuse"}))
    assert silent.output_text == ""
    last = drive(say("Last?"))
    assert told(last) == [("user", "Cut?"), ("assistant", cut.output_text), ("user", "Last?")]


def test_a_prompt_sent_during_a_turn_has_no_job_and_is_not_started(say: Say):
    first, second = say("One?"), say("Two?")
    assert jobs() == [str(first.id)]
    assert drive(second).last_seq == 0
    assert not Attempt.objects.filter(turn_id=second.id).exists()
    assert len(fresh(second).setup["messages"]) == 1
    drive(first)
    assert str(second.id) in jobs()
    assert drive(second).status == "completed"
    assert len(told(second)) == 3


def test_a_held_turn_holds_the_queue(say: Say):
    first = drive(say("One?", breakpoints=[{"state": "evaluate_stop"}]))
    assert first.status == "held"
    assert drive(say("Two?")).status == "queued"


def test_a_queued_turn_is_not_an_orphan_and_a_forgotten_one_is_found(say: Say):
    first, second = say("One?"), say("Two?")
    with database.cursor() as cursor:
        cursor.execute("DELETE FROM procrastinate_jobs")
        cursor.execute("UPDATE turns_turn SET created_at = now() - interval '1 minute'")
    assert orphans_requeue() == 1
    assert jobs() == [str(first.id)]
    drive(first)
    with database.cursor() as cursor:
        cursor.execute("DELETE FROM procrastinate_jobs")
    assert orphans_requeue() == 1
    assert jobs() == [str(second.id)]


def test_a_queued_turn_can_be_withdrawn_without_calling_a_model(say: Say):
    first, second, third = say("One?"), say("Two?"), say("Three?")
    turn_cancel(turn=second, by="ada")
    withdrawn = fresh(second)
    assert (withdrawn.status, withdrawn.stop_reason, withdrawn.last_seq) == ("cancelled", "user_requested", 0)
    assert withdrawn.verdict == "Cancelled by ada before it started. It was waiting in the queue."
    drive(first)
    assert told(drive(third)) == [("user", "One?"), ("assistant", fresh(first).output_text), ("user", "Three?")]
    assert drive(second).last_seq == 0
    with pytest.raises(TurnConflict):
        turn_cancel(turn=fresh(second), by="ada")


def test_the_remaining_budget_limits_the_turn(say: Say, conversation: Conversation):
    first = drive(say("One?"))
    budget_set(conversation=conversation, token_budget=first.tokens + 250)
    second = drive(say("Two?"))
    assert second.policy["limits"]["max_total_tokens"] == 250
    smaller = turn_start(
        agent=second.agent,
        input_text="No more than this.",
        conversation=Conversation.objects.create(
            project=conversation.project, agent=second.agent, agent_name="x", token_budget=9_000
        ),
        overrides={"limits": {"max_total_tokens": 90}},
    )
    assert drive(smaller).policy["limits"]["max_total_tokens"] == 90


def test_an_exhausted_budget_refuses_the_next_turn_until_it_is_raised(say: Say, conversation: Conversation):
    first = drive(say("One?"))
    budget_set(conversation=conversation, token_budget=first.tokens)
    with pytest.raises(ValidationError, match=r"budget of .* tokens is used up\. Raise it"):
        say("Two?")
    assert Turn.objects.count() == 1
    budget_set(conversation=conversation, token_budget=None)
    assert drive(say("Two?")).status == "completed"


def test_a_queued_turn_whose_budget_was_exhausted_never_starts_nor_do_later_ones(say: Say, conversation: Conversation):
    budget_set(conversation=conversation, token_budget=30)
    first, second, third = say("One?"), say("Two?"), say("Three?")
    drive(first)
    for turn in (second, third):
        assert str(turn.id) in jobs()
        ended = drive(turn)
        assert (ended.status, ended.stop_reason, ended.terminal_reason) == (
            "aborted",
            "token_limit",
            "budget_exhausted",
        )
        assert ended.verdict.startswith("This turn did not start: the conversation's budget of 30 tokens is used up.")
        assert ended.attempts == 0


@pytest.mark.parametrize("wrong", [0, -1, True, 10**12, "many"])
def test_an_invalid_budget_is_refused(conversation: Conversation, wrong: Any):
    with pytest.raises(ValidationError):
        budget_set(conversation=conversation, token_budget=wrong)


def test_a_budget_below_the_usage_is_refused(say: Say, conversation: Conversation):
    drive(say("One?"))
    with pytest.raises(ValidationError, match="are already used"):
        budget_set(conversation=conversation, token_budget=1)


def test_the_queue_and_the_conversation_are_limited(say: Say, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(conversation_queue, "MAX_WAITING", 1)
    first, _ = say("One?"), say("Two?")
    with pytest.raises(ValidationError, match="1 prompts are waiting already"):
        say("Three?")
    drive(first)
    monkeypatch.setattr(conversation_queue, "MAX_CHARS", 20)
    with pytest.raises(ValidationError, match="start a new one"):
        say("Three?")


def test_a_conversation_has_one_agent(say: Say, conversation: Conversation, agent_of: AgentOf):
    other = agent_of("sim-refuse")
    with pytest.raises(ValidationError, match="This conversation is with sim-essay"):
        turn_start(agent=other, input_text="Hm?", conversation=conversation)


def test_the_title_is_the_start_of_the_first_prompt(say: Say, conversation: Conversation):
    say(" \n  What   is\tthis? \nMore.")
    say("Another.")
    conversation.refresh_from_db()
    assert conversation.title == "What is this?"
    assert len(conversation_queue.title_of("word " * 50)) <= conversation_queue.TITLE_CHARS


def test_simultaneous_prompts_form_one_queue(say: Say, agent: Agent):
    def send() -> None:
        try:
            say("At once.")
        finally:
            connections.close_all()

    threads = [threading.Thread(target=send) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    turns = list(Turn.objects.order_by("position"))
    assert [turn.position for turn in turns] == [1, 2, 3, 4, 5, 6]
    assert jobs() == [str(turns[0].id)]
    for turn in turns:
        assert jobs()[-1] == str(turn.id)
        drive(turn)
    assert [len(told(turn)) for turn in turns] == [1, 3, 5, 7, 9, 11]
