"""Nodes go with the last turn that refers to them, and not before, also beside writers."""

import threading

import pytest
from django.db import connections, transaction

from dashboard.agents.selectors import project_default
from dashboard.timeline import sweeping
from dashboard.timeline.services import turns_erase
from dashboard.turns.ids import new_id
from dashboard.turns.models import ClientRequest, LooseNode, Node, Turn
from dashboard.turns.nodes import Form, NewNode, grown
from dashboard.turns.recorder import keep

pytestmark = pytest.mark.django_db(transaction=True)


def chain(*wires: str) -> list[NewNode]:
    return grown(project_default().pk, None, {Form.WIRE: [wire.encode() for wire in wires]})


def a_turn(*wires: str, frame: str = "") -> Turn:
    made = chain(*wires)
    keep(made)
    told = {"agent_name": "a", "provider": "openai", "model": "m", "max_tokens": 60, "status": "completed"}
    turn = Turn.objects.create(project=project_default(), node_id=made[-1].id, **told)
    if frame:
        rest = grown(project_default().pk, None, {Form.FRAME: [frame.encode()]})
        keep(rest)
        ClientRequest.objects.create(turn_id=turn.pk, frame_id=rest[0].id)
    return turn


def erase(user, *turns: Turn) -> None:
    turns_erase(project=project_default(), chosen=[turn.pk for turn in turns], by=user)


@pytest.fixture
def user(django_user_model):
    return django_user_model.objects.create(username="ada")


def test_what_other_turns_say_too_stays(user):
    first, second = a_turn("1", "2", "3", frame="{}"), a_turn("1", "2", "x", frame="{}")
    assert Node.objects.count() == 5
    erase(user, first)
    assert Node.objects.count() == 4
    erase(user, second)
    assert (Node.objects.count(), LooseNode.objects.count()) == (0, 0)


def test_a_turn_that_ends_where_another_goes_on_leaves_it_whole(user):
    short, long = a_turn("1", "2"), a_turn("1", "2", "3")
    erase(user, long)
    assert Node.objects.count() == 2
    erase(user, short)
    assert Node.objects.count() == 0


def test_a_long_conversation_goes_batch_by_batch(user, monkeypatch):
    monkeypatch.setattr(sweeping, "BATCH", 3)
    erase(user, *(a_turn(*map(str, range(20)), f"end {n}") for n in range(5)))
    assert (Node.objects.count(), LooseNode.objects.count()) == (0, 0)


def test_a_sweep_that_was_ended_is_gone_on_with(user, monkeypatch):
    monkeypatch.setattr(sweeping, "BATCHES", 2)
    erase(user, a_turn(*map(str, range(10))))
    assert (Node.objects.count(), LooseNode.objects.count()) == (8, 1)
    monkeypatch.undo()
    assert sweeping.nodes_sweep() == 8


def test_nodes_are_not_deleted_by_hand():
    a_turn("1")
    with pytest.raises(Exception, match="append-only: DELETE was refused"), transaction.atomic():
        Node.objects.all()._raw_delete("default")


def test_a_node_that_a_writer_refers_to_meanwhile_stays(user, monkeypatch):
    """The writer commits after the sweep has looked and before it is done."""
    erased = a_turn("1", "2")
    looked, written = threading.Event(), threading.Event()

    def write() -> None:
        looked.wait(10)
        a_turn("1", "2")
        connections.close_all()
        written.set()

    thread = threading.Thread(target=write)
    thread.start()
    swept = sweeping._sweep

    def slow(limit: int) -> tuple[int, int]:
        with transaction.atomic():
            found = swept(limit)
            looked.set()
            written.wait(0.5)  # the writer waits for the sweep, whose deletion is not committed
            return found

    monkeypatch.setattr(sweeping, "_sweep", slow)
    erase(user, erased)
    thread.join(10)
    assert written.is_set()
    (turn,) = Turn.objects.all()
    assert Node.objects.filter(id=turn.node_id).exists()
    assert Node.objects.count() == 2


def test_a_turn_never_refers_to_a_node_that_is_not_there():
    turn = a_turn("1")
    with pytest.raises(Exception, match="foreign key"):
        Turn.objects.filter(pk=turn.pk).update(node_id=new_id())
