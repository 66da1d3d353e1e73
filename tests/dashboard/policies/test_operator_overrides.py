"""Whose word a number is that was changed while its turn ran: asked of many turns at once, by an index of such acts."""

from collections.abc import Iterator
from uuid import UUID

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from dashboard.agents.observe_policy import WATCHER
from dashboard.platform.ids import new_id
from dashboard.policies.stop_setting import OperatorChange, changes_of
from dashboard.turns.models import Record

pytestmark = pytest.mark.django_db


def acted(turn_id: UUID, seq: int, by: str, **said: object) -> None:
    event = {"type": "operator_acted", "at": 1.0, "by": by, **said}
    Record.objects.create(turn_id=turn_id, seq=seq, at=timezone.now(), event=event, command={}, core_version="1")


@pytest.fixture
def turns() -> Iterator[list[UUID]]:
    """Four turns: Ann changed the first twice and Bob the third, who also let the second go on as it was; the last was
    only watched."""
    ids = [new_id() for _ in range(4)]
    acted(ids[0], 2, "ann", limits={"max_continuations": 1, "max_steps": 4})
    acted(ids[0], 3, "ann", limits={"max_continuations": 0})
    acted(ids[1], 2, "bob", action="release")
    acted(ids[2], 2, "bob", error_policy={"max_retries": 2})
    acted(ids[3], 2, WATCHER, limits={"max_continuations": 1})
    return ids


def test_the_last_override_of_exactly_the_requested_turns_is_read(turns: list[UUID]):
    first, second, third, last = turns
    own = {
        (first, "limits.max_continuations"): OperatorChange(0, "ann"),
        (first, "limits.max_steps"): OperatorChange(4, "ann"),
    }
    bobs = {(third, "error_policy.max_retries"): OperatorChange(2, "bob")}
    assert changes_of(turns) == own | bobs
    assert changes_of([first, second, last]) == own
    assert changes_of([]) == {}


def test_overrides_are_found_by_an_index_in_every_partition(turns: list[UUID]):
    with CaptureQueriesContext(connection) as asked:
        changes_of(turns)
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
        cursor.execute(f"EXPLAIN {asked.captured_queries[0]['sql']}")
        plan = "\n".join(row[0] for row in cursor.fetchall())
        cursor.execute(
            "SELECT bool_and(indisvalid), count(*) = (SELECT count(*) FROM pg_inherits "
            "WHERE inhparent = 'turns_record'::regclass) FROM pg_inherits JOIN pg_index ON indexrelid = inhrelid "
            "WHERE inhparent = 'turns_record_acted'::regclass"
        )
        assert cursor.fetchone() == (True, True)
    assert "Index" in plan
    assert "pkey" not in plan
    assert "Filter" not in plan, "the index holds acts alone, so none is looked at that is no act"
