"""Tagging and erasing many turns: by whom, which, and nothing else."""

from collections.abc import Iterable
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.core.exceptions import ValidationError
from django.db import IntegrityError, connection, transaction

from dashboard.accounts.models import User
from dashboard.agents import selectors as agents
from dashboard.live.models import Signal
from dashboard.platform.ids import new_id
from dashboard.timeline import rollups, services
from dashboard.timeline.models import BulkAction
from dashboard.timeline.services import turns_erase, turns_tag
from dashboard.turns.conversations.models import Conversation
from dashboard.turns.filters import TimelineFilters
from dashboard.turns.models import Attempt, AttemptChunk, Checkpoint, Outcome, Record, ToolClaim, Turn
from tests.dashboard.conftest import Play
from tests.dashboard.racing import at_once
from tests.dashboard.timeline.populations import NOW, make_turn

pytestmark = pytest.mark.django_db

HISTORY = (Record, Attempt, AttemptChunk, Outcome)


@pytest.fixture
def operator() -> User:
    return User.objects.create(username="ada")


def tag(chosen: Any, by: User, **tags: Any) -> int:
    return turns_tag(project=agents.project_default(), chosen=chosen, by=by, **tags)


def erase(chosen: Any, by: User) -> int:
    return turns_erase(project=agents.project_default(), chosen=chosen, by=by)


def tags_of(turn: Turn) -> list[str]:
    turn.refresh_from_db()
    return turn.tags


def test_tags_are_added_and_removed_in_order_without_duplicates(operator: User):
    turn, other = make_turn(tags=["old", "kept"]), make_turn()
    assert tag([turn.id], operator, add=["new", "kept"], remove=["old"]) == 1
    assert (tags_of(turn), tags_of(other)) == (["kept", "new"], [])
    assert tag([turn.id], operator, add=["both"], remove=["both"]) == 0


def test_turns_that_already_have_the_tag_are_neither_changed_nor_audited(operator: User):
    one, other = make_turn(tags=["x"]), make_turn()
    assert tag([one.id, other.id], operator, add=["x"]) == 1
    action = BulkAction.objects.get()
    assert (action.kind, action.by, action.turn_ids, action.added, action.filter) == (
        "tag", "ada", [other.id], ["x"], None,
    )  # fmt: skip
    assert tag([one.id, other.id], operator, add=["x"]) == 0
    assert BulkAction.objects.count() == 1


def test_all_matching_turns_are_tagged_in_batches_although_the_tag_excludes_them_from_the_filters(
    operator: User, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(services, "BATCH", 2)
    for n in range(5):
        make_turn(NOW + timedelta(seconds=n), tags=["todo"], status="failed")
    stranger = make_turn(tags=["todo"])
    filters = TimelineFilters(tag=("todo",), status=("failed",))
    assert tag(filters, operator, remove=["todo"]) == 5
    assert tags_of(stranger) == ["todo"]
    audited = BulkAction.objects.all()
    assert [len(action.turn_ids) for action in audited.order_by("id")] == [2, 2, 1]
    assert all(action.filter == {"tag": ["todo"], "status": ["failed"]} for action in audited)


def test_the_number_of_tags_per_turn_is_limited(operator: User):
    turn = make_turn(tags=[f"t{n}" for n in range(19)])
    assert tag([turn.id], operator, add=["one"]) == 1
    with pytest.raises(ValidationError, match="at most 20 tags"):
        tag([turn.id], operator, add=["another"])
    assert len(tags_of(turn)) == 20
    assert BulkAction.objects.count() == 1


@pytest.mark.parametrize("wrong", ["", "  ", "x" * 65, "a\x00b", "a\nb"])
def test_an_invalid_tag_is_refused(operator: User, wrong: str):
    with pytest.raises(ValidationError, match="1 to 64 printable characters"):
        tag([make_turn().id], operator, add=[wrong])


@pytest.mark.django_db(transaction=True)
def test_a_tag_is_not_part_of_the_history_and_stays_when_the_turn_continues(operator: User, play: Play):
    from dashboard.turns.history import rebuilt_columns

    turn = play("sim-echo")
    tag([turn.id], operator, add=["x"])
    assert "tags" not in rebuilt_columns(turn)
    assert tags_of(turn) == ["x"]


@pytest.mark.django_db(transaction=True)
def test_an_erased_turn_is_deleted_with_everything_recorded(operator: User, play: Play):
    turn, kept = play("sim-echo"), play("sim-essay")
    Checkpoint.objects.create(turn_id=turn.id, seq=1, snapshot={}, core_version="1")
    ToolClaim.objects.create(turn_id=turn.id, call_id="a", name="calculator", idempotent=True)
    Signal.objects.create(turn_id=turn.id, action="cancel", by="ada")
    before = {model: model.objects.filter(turn_id=kept.id).count() for model in HISTORY}
    assert all(model.objects.filter(turn_id=turn.id).exists() for model in (Record, Attempt, AttemptChunk))
    assert erase([turn.id], operator) == 1
    assert list(Turn.objects.all()) == [kept]
    for model in (*HISTORY, Checkpoint, ToolClaim, Signal):
        assert not model.objects.filter(turn_id=turn.id).exists(), model
    assert before == {model: model.objects.filter(turn_id=kept.id).count() for model in HISTORY}
    assert sum(rollups.counts(project=agents.project_default()).values()) == 1
    action = BulkAction.objects.get()
    assert (action.kind, action.by, action.turn_ids) == ("erase", "ada", [turn.id])


def test_every_table_that_references_a_turn_is_covered():
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT DISTINCT table_name FROM information_schema.columns NATURAL JOIN information_schema.tables "
            "WHERE table_type = 'BASE TABLE' AND column_name = 'turn_id' "
            "AND table_name !~ '_(default|p[0-9]{6})$' AND table_schema = current_schema()"
        )
        tables = {name for (name,) in cursor.fetchall()}
        cursor.execute(
            "SELECT conrelid::regclass::text FROM pg_constraint "
            "WHERE contype = 'f' AND confrelid = 'turns_turn'::regclass AND confdeltype = 'c'"
        )
        gone_with_their_turn = {name for (name,) in cursor.fetchall()}
    forgotten_soon = {"live_callslot", "live_ownedturn"}  # leave a minute after its call, and with its end
    forgotten_soon |= {"telemetry_queued", "webhooks_happened"}  # leave with the worker's next batch
    tables -= {"sealing_chain"}  # goes when the tombstone is set
    tables |= {"predictions_prediction"}  # names its two turns as parent and child
    assert tables == {model._meta.db_table for model in services.HISTORY} | gone_with_their_turn | forgotten_soon
    assert gone_with_their_turn >= {"tools_turndocument", "commenting_comment", "keeping_origin", "sharing_sharelink"}


def test_a_turn_still_being_written_is_not_erased(operator: User):
    running, ended = make_turn(status="running"), make_turn(status="failed")
    assert erase([running.id, ended.id, new_id()], operator) == 1
    assert list(Turn.objects.all()) == [running]


def test_a_fork_of_an_erased_turn_stays(operator: User):
    parent = make_turn(status="failed")
    child = make_turn(status="completed", parent=parent, forked_at=2)
    erase([parent.id], operator)
    child.refresh_from_db()
    assert child.parent is None


def test_exactly_the_matching_turns_are_erased(operator: User, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(services, "BATCH", 2)
    for n in range(5):
        make_turn(NOW + timedelta(seconds=n), status="failed")
    kept = make_turn(status="completed")
    assert erase(TimelineFilters(status=("failed",)), operator) == 5
    assert list(Turn.objects.all()) == [kept]
    assert [len(action.turn_ids) for action in BulkAction.objects.order_by("id")] == [2, 2, 1]


def in_each(talks: Iterable[Conversation], position: int) -> list[Turn]:
    return [make_turn(status="failed", conversation=talk, position=position) for talk in talks]


@pytest.mark.django_db(transaction=True)
def test_two_simultaneous_erasures_in_the_same_conversations_both_succeed(operator: User):
    project = agents.project_default()
    talks = [Conversation.objects.create(project=project, agent_name="a") for _ in range(2)]
    Conversation.objects.filter(pk=talks[0].pk).update(title="the row it has now is the last of the table")
    (one, other), both = in_each(talks, 1), in_each(talks, 2)
    done = at_once(
        lambda: erase([one.id], operator),
        lambda: erase([turn.id for turn in both], operator),
        then=lambda: erase([other.id], operator),
    )
    assert done == 2
    assert not Turn.objects.exists()
    assert not Conversation.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_two_simultaneous_erasures_of_turns_and_their_forks_both_succeed(operator: User):
    root, fork, leaf = (make_turn(NOW - timedelta(days=days), status="failed") for days in range(3))
    Turn.objects.filter(pk=fork.pk).update(parent=root)
    Turn.objects.filter(pk=leaf.pk).update(parent=fork)
    done = at_once(
        lambda: erase([leaf.id], operator), lambda: erase([fork.id], operator), then=lambda: erase([root.id], operator)
    )
    assert done == 1
    assert not Turn.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_two_simultaneous_taggings_of_the_same_turns_both_succeed(operator: User):
    low, high = make_turn(), make_turn()
    tag([low.id], operator, add=["moved"])  # the row it has now is the last of the table
    at_once(
        lambda: tag([low.id], operator, add=["one"]),
        lambda: tag([high.id, low.id], operator, add=["two"]),
        then=lambda: tag([high.id], operator, add=["one"]),
    )
    assert (tags_of(low), tags_of(high)) == (["moved", "one", "two"], ["one", "two"])


def test_turns_of_another_project_cannot_be_reached(operator: User):
    turn = make_turn(project=agents.Project.objects.create(name="other"), status="failed")
    assert (erase([turn.id], operator), tag([turn.id], operator, add=["x"])) == (0, 0)
    assert tags_of(turn) == []


def test_after_erasing_the_database_is_protected_as_before(operator: User):
    Record.objects.create(turn_id=new_id(), seq=1, at=NOW, event={}, command={}, core_version="1")
    erase([make_turn(status="failed").id], operator)
    with pytest.raises(IntegrityError, match="DELETE was refused"), transaction.atomic():
        Record.objects.all().delete()


def test_a_failed_erasure_deletes_nothing_and_keeps_the_protection(operator: User, monkeypatch: pytest.MonkeyPatch):
    turn = make_turn(status="failed")
    Record.objects.create(turn_id=turn.id, seq=1, at=NOW, event={}, command={}, core_version="1")

    def fail(audit: BulkAction, turn_ids: list[UUID]) -> None:
        raise RuntimeError

    monkeypatch.setattr(services, "_audit", fail)
    with pytest.raises(RuntimeError):
        erase([turn.id], operator)
    assert Turn.objects.filter(id=turn.id).exists()
    with pytest.raises(IntegrityError, match="DELETE was refused"), transaction.atomic():
        Record.objects.all().delete()


def test_the_audit_log_is_append_only(operator: User):
    tag([make_turn().id], operator, add=["x"])
    with pytest.raises(IntegrityError, match="UPDATE was refused"), transaction.atomic():
        BulkAction.objects.update(by="somebody else")
    with pytest.raises(IntegrityError, match="DELETE was refused"), transaction.atomic():
        BulkAction.objects.all().delete()
