"""Nodes go with the last turn that refers to them, and not before, also beside writers."""

import threading
import time
from collections.abc import Callable

import pytest
from django.db import connections, transaction

from dashboard.agents.selectors import project_default
from dashboard.platform.ids import new_id
from dashboard.timeline import node_cleanup
from dashboard.timeline.services import turns_erase
from dashboard.turns.models import ClientRequest, LooseNode, Node, Turn
from dashboard.turns.nodes import NewNode, NodeForm, grown, read
from dashboard.turns.recorder import keep

pytestmark = pytest.mark.django_db(transaction=True)


def chain(*wires: str) -> list[NewNode]:
    return grown(project_default().pk, None, {NodeForm.WIRE: [wire.encode() for wire in wires]})


@transaction.atomic
def a_turn(*wires: str, frame: str = "") -> Turn:
    made = chain(*wires)
    keep(made)
    told = {"agent_name": "a", "provider": "openai", "model": "m", "max_tokens": 60, "status": "completed"}
    turn = Turn.objects.create(project=project_default(), node_id=made[-1].id, **told)
    if frame:
        rest = grown(project_default().pk, None, {NodeForm.FRAME: [frame.encode()]})
        keep(rest)
        ClientRequest.objects.create(turn_id=turn.pk, frame_id=rest[0].id)
    return turn


def erase(user, *turns: Turn) -> None:
    turns_erase(project=project_default(), chosen=[turn.pk for turn in turns], by=user)


@pytest.fixture
def user(django_user_model):
    return django_user_model.objects.create(username="ada")


def test_messages_shared_with_other_turns_stay(user):
    first, second = a_turn("1", "2", "3", frame="{}"), a_turn("1", "2", "x", frame="{}")
    assert Node.objects.count() == 5
    erase(user, first)
    assert Node.objects.count() == 4
    erase(user, second)
    assert (Node.objects.count(), LooseNode.objects.count()) == (0, 0)


def test_erasing_a_turn_leaves_a_longer_conversation_complete(user):
    short, long = a_turn("1", "2"), a_turn("1", "2", "3")
    erase(user, long)
    assert Node.objects.count() == 2
    erase(user, short)
    assert Node.objects.count() == 0


def test_a_long_conversation_is_deleted_in_batches(user, monkeypatch):
    monkeypatch.setattr(node_cleanup, "BATCH", 3)
    erase(user, *(a_turn(*map(str, range(20)), f"end {n}") for n in range(5)))
    assert (Node.objects.count(), LooseNode.objects.count()) == (0, 0)


def test_an_interrupted_sweep_is_continued(user, monkeypatch):
    monkeypatch.setattr(node_cleanup, "BATCH", 1)
    monkeypatch.setattr(node_cleanup, "BATCHES", 2)
    erase(user, a_turn(*map(str, range(10))))
    assert (Node.objects.count(), LooseNode.objects.count()) == (8, 1)
    monkeypatch.undo()
    assert node_cleanup.nodes_sweep() == 8


def test_nodes_cannot_be_deleted_by_hand():
    a_turn("1")
    with pytest.raises(Exception, match="append-only: DELETE was refused"), transaction.atomic():
        Node.objects.all()._raw_delete("default")


def in_a_thread(act: Callable[[], None]) -> threading.Thread:
    def run() -> None:
        try:
            act()
        finally:
            connections.close_all()

    thread = threading.Thread(target=run)
    thread.start()
    return thread


def test_a_writer_during_a_sweep_stores_the_nodes_again(user, monkeypatch):
    """The sweep has removed them and has not committed: the writer waits for it."""
    erased = a_turn("1", "2")
    swept, writers = node_cleanup._sweep, []

    def slow(limit: int) -> tuple[int, int]:
        with transaction.atomic():
            found = swept(limit)
            if not writers:
                writers.append(in_a_thread(lambda: a_turn("1", "2")))
                time.sleep(0.3)
            return found

    monkeypatch.setattr(node_cleanup, "_sweep", slow)
    erase(user, erased)
    writers[0].join(10)
    assert whole_conversations() == [2]


def test_a_sweep_keeps_nodes_that_a_writer_is_about_to_reference(user):
    erased = a_turn("1", "2", "3")
    held, swept = threading.Event(), threading.Event()

    @transaction.atomic
    def write() -> None:
        a_turn("1", "2")
        held.set()
        swept.wait(10)

    writer = in_a_thread(write)
    held.wait(10)
    erase(user, erased)
    swept.set()
    writer.join(10)
    assert whole_conversations() == [2]
    assert node_cleanup.nodes_sweep() == 0
    assert LooseNode.objects.count() == 0


def test_nodes_reserved_but_not_stored_by_a_writer_are_deleted_by_the_next_sweep(user):
    erased = a_turn("1", "2", "3")
    held, swept = threading.Event(), threading.Event()

    def write() -> None:
        with transaction.atomic():
            a_turn("1", "2")
            held.set()
            swept.wait(10)
            transaction.set_rollback(True)

    writer = in_a_thread(write)
    held.wait(10)
    erase(user, erased)
    assert Node.objects.count() == 2
    swept.set()
    writer.join(10)
    assert node_cleanup.nodes_sweep() == 2
    assert (Node.objects.count(), LooseNode.objects.count()) == (0, 0)


def test_concurrent_writing_and_erasing_of_a_conversation_loses_no_message(user):
    """Four writers and two erasers, on one conversation of eight messages that some of them break off."""
    ended, failed = threading.Event(), []
    said = [str(n) for n in range(8)]

    def repeatedly(act: Callable[[], None]) -> Callable[[], None]:
        def run() -> None:
            try:
                while not ended.is_set():
                    act()
            except Exception as error:
                failed.append(error)

        return run

    def erase_some() -> None:
        erase(user, *Turn.objects.order_by("?")[:3])

    written = [lambda n=n: a_turn(*said[: 2 * n]) for n in range(1, 5)]
    threads = [in_a_thread(repeatedly(act)) for act in [*written, erase_some, erase_some]]
    time.sleep(2)
    ended.set()
    for thread in threads:
        thread.join(20)
    assert not failed, failed[0]
    assert set(whole_conversations()) <= {2, 4, 6, 8}
    erase(user, *Turn.objects.all())
    assert (Turn.objects.count(), Node.objects.count(), LooseNode.objects.count()) == (0, 0, 0)


def whole_conversations() -> list[int]:
    """How many messages each turn has."""
    return [len(read(turn.node_id)) for turn in Turn.objects.all()]


def test_a_turn_never_references_a_missing_node():
    turn = a_turn("1")
    with pytest.raises(Exception, match="foreign key"):
        Turn.objects.filter(pk=turn.pk).update(node_id=new_id())
