"""Turns whose process is gone end, as lost, with what had arrived; and nobody else's do."""

import asyncio
from datetime import timedelta
from functools import partial
from uuid import UUID

import pytest
from django.db import connection
from django.test import Client
from django.utils import timezone
from procrastinate.contrib.django.models import ProcrastinateJob

from agentcore import verify
from dashboard.gateway.recording.recorder import Recorder
from dashboard.live.lost_turns import lost_turns_end
from dashboard.live.models import OwnedTurn, Process, Signal
from dashboard.live.services import TurnConflict, orphans_requeue, turn_cancel, turn_control
from dashboard.live.turn_loader import abandoned_call
from dashboard.platform.ids import new_id
from dashboard.turns.history import raw_response_of, rebuilt_columns, recording_of
from dashboard.turns.models import Attempt, Record, Turn
from tests.dashboard.gateway.told_turns import Story, cut, ended
from tests.dashboard.pages import page

pytestmark = pytest.mark.django_db(transaction=True)

#: The beginning of a stream, as OpenAI sends it.
CAME = b'data: {"id":"x","choices":[{"index":0,"delta":{"role":"assistant","content":"half an "}}]}\n\ndata: {"id"'


def left_open(story: Story, steps: int = 1, piece: bytes = CAME) -> UUID:
    """Stored so far, with a piece of the call in flight, by a process that is then not heard of; its id."""
    new = story.new_turn()

    async def open_it() -> UUID:
        recorder = Recorder()
        recorder.open(new)
        for n, (_, entry) in enumerate(story.steps()):
            if n < steps:
                recorder.step(entry)
        recorder.piece(story.id, steps, 1, piece, "half an ", entry.at)
        await recorder.committed(story.id)
        owner = await OwnedTurn.objects.aget(turn_id=story.id)
        # As a kill leaves it: nothing more is written, and nobody has left.
        recorder._writer._link.close()
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()
        return owner.process_id

    return asyncio.run(open_it())


def long_ago(process_id: UUID) -> None:
    Process.objects.filter(id=process_id).update(seen_at=timezone.now() - timedelta(seconds=60))


@pytest.fixture(autouse=True)
def server_is_old(monkeypatch):
    """Nobody has been heard of by a server that was just started."""
    monkeypatch.setattr("dashboard.live.lost_turns.GONE_SECONDS", 0.2)


def test_a_turn_of_a_dead_process_ends_with_its_partial_output_and_verifies():
    story = Story([ended("never")])
    long_ago(left_open(story))
    assert lost_turns_end() == 1
    turn = story.turn()
    assert (turn.status, turn.stop_reason, turn.terminal_reason) == ("interrupted", "error", "interrupted")
    assert turn.output_text == "half an "
    assert turn.verdict.startswith("Interrupted: The process that served this call is gone.")
    assert verify(recording_of(turn)).verified
    assert all(getattr(turn, column) == value for column, value in rebuilt_columns(turn).items())
    attempt = Attempt.objects.get(turn_id=turn.id)
    assert attempt.text == "half an "
    assert attempt.error["kind"] == "interrupted"
    assert raw_response_of(attempt) == CAME
    assert not OwnedTurn.objects.exists()
    assert lost_turns_end() == 0


def test_text_received_before_the_call_in_flight_is_kept_too():
    story = Story([cut("The beginning, "), ended("never")])
    long_ago(left_open(story, steps=2))
    lost_turns_end()
    assert story.turn().output_text == "The beginning, half an "
    assert verify(recording_of(story.turn())).verified


def test_undecodable_bytes_do_not_prevent_the_end():
    story = Story([ended("never")])
    long_ago(left_open(story, piece=b"<html>"))
    assert lost_turns_end() == 1
    assert story.turn().status == "interrupted"


def test_partial_output_is_read_while_the_turn_is_not_locked(monkeypatch):
    story = Story([ended("never")])
    long_ago(left_open(story))
    held = []

    def reading(turn, index):
        held.append(connection.in_atomic_block)
        return abandoned_call(turn, index)

    monkeypatch.setattr("dashboard.live.lost_turns.abandoned_call", reading)
    assert lost_turns_end() == 1
    assert held == [False]


def test_a_process_that_returns_while_its_turn_is_read_keeps_it(monkeypatch):
    story = Story([ended("never")])
    process = left_open(story)
    long_ago(process)

    def coming_back(turn, index):
        Process.objects.create(id=process, seen_at=timezone.now())
        return abandoned_call(turn, index)

    monkeypatch.setattr("dashboard.live.lost_turns.abandoned_call", coming_back)
    assert lost_turns_end() == 0
    assert OwnedTurn.objects.filter(turn_id=story.id).exists()


def test_a_live_process_keeps_its_turns(monkeypatch):
    monkeypatch.setattr("dashboard.live.lost_turns.GONE_SECONDS", 60)
    story = Story([ended("later")])
    left_open(story)
    assert lost_turns_end() == 0
    assert story.turn().status == "running"


def test_a_turn_without_an_owner_is_lost_at_once():
    story = Story([ended("never")])
    left_open(story)
    OwnedTurn.objects.update(process_id=new_id())
    assert lost_turns_end() == 1


def test_an_owned_turn_gets_no_job(monkeypatch):
    monkeypatch.setattr("dashboard.live.services.ORPHAN_SECONDS", 0)
    story = Story([ended("later")])
    left_open(story)
    assert orphans_requeue() == 0
    OwnedTurn.objects.all().delete()
    assert orphans_requeue() == 1
    assert Turn.objects.count() == 1


def test_pending_requests_of_a_lost_turn_are_settled():
    story = Story([ended("never")])
    long_ago(left_open(story))
    asked = Signal.objects.create(turn_id=story.id, action="cancel", by="ada")
    assert lost_turns_end() == 1
    asked.refresh_from_db()
    assert (asked.handled_at is None, asked.refused) == (False, "The turn had ended before: it is interrupted.")


def test_a_turn_is_not_taken_from_the_process_that_answers_its_caller():
    story = Story([ended("never")])
    left_open(story)
    turn, before = Turn.objects.get(id=story.id), Record.objects.filter(turn_id=story.id).count()
    for act in (turn_cancel, partial(turn_control, action="hold"), partial(turn_control, action="change")):
        with pytest.raises(TurnConflict, match="a gateway caller"):
            act(turn=turn, by="ada")
    assert not Signal.objects.filter(turn_id=story.id).exists()
    assert not ProcrastinateJob.objects.filter(lock=str(story.id)).exists()
    assert Record.objects.filter(turn_id=story.id).count() == before


def test_the_page_of_a_lost_turn_says_so_and_has_no_controls(browser: Client):
    story = Story([ended("never")])
    left_open(story)
    html = page(browser, f"/turns/{story.id}")
    assert "This turn streams to a gateway caller." in html
    assert 'data-operate="hold"' not in html
    assert 'data-operate="cancel"' not in html
