"""Whoever changes anything in the rows of evidence, with all the rights that a database gives, is named by the check.

Each column of each table is changed in each way, and each row removed, doubled and moved. What may be changed unnoticed
stands in `columns.FREE` and below, each with a reason.
"""

from datetime import timedelta

import pytest
from django.db import connection, transaction
from django.db.models import Model
from django.utils import timezone

from dashboard.accounts.audit.models import Entry
from dashboard.accounts.models import User
from dashboard.agents.selectors import project_default
from dashboard.ingest.models import Ingested
from dashboard.ingest.turn_files.models import Origin
from dashboard.platform.ids import new_id
from dashboard.timeline.services import turns_erase
from dashboard.tools.models import TurnDocument
from dashboard.turns import models as turns
from dashboard.turns import recorder
from dashboard.turns.seals import models as seals
from dashboard.turns.seals.audit_seals import audit_seal_make
from dashboard.turns.seals.seal_check import check_all, evidence_tables
from tests.dashboard.driving import Play
from tests.dashboard.turns.earlier_releases import judged_as_before

from .evidence_rows import turn_with_all_rows
from .forged_rows import (
    SWAPPED,
    WAYS,
    changed,
    columns_of,
    forged,
    last_of_key,
    one_row,
    row_sql,
    ways_of,
    without_keys,
)
from .forging import seal

pytestmark = pytest.mark.django_db(transaction=True)

#: Tables that hold rows of turns, or have the names of such tables, and are no evidence.
NOT_SEALED = {
    "gateway_call": "a view of the turn's row",
    "gateway_gatewaycall": "calls of earlier releases",
    "turns_judgement": "a view of the records",
    "turns_piece": "a view of the answers",
    "turns_backtest": "computed from turns",
    "sealing_knownkey": "a setting: under which name an installation is known",
    "commenting_comment": "comments are changed by their authors",
    **dict.fromkeys(
        ("inbox_notice", "sharing_sharelink", "suggesting_toldsuggestion", "tour_stop", "policies_shadowverdict",
         "webhooks_delivery", "webhooks_happened", "live_callslot", "live_ownedturn", "live_signal",
         "telemetry_queued"),
        "says what is to be done or shown, not what happened",
    ),
}  # fmt: skip
OF_TURNS = """
SELECT DISTINCT relation.relname FROM pg_class relation JOIN pg_attribute held ON held.attrelid = relation.oid
 WHERE relation.relkind IN ('r', 'p', 'v', 'm') AND NOT relation.relispartition
   AND relation.relnamespace = 'public'::regnamespace
   AND (held.attname ~ '(^|_)turn(_id)?$' OR relation.relname ~ '^(turns|sealing|audit)_')
"""


def test_every_table_of_turns_seals_and_the_audit_log_is_evidence_or_exempt_with_a_reason():
    with connection.cursor() as cursor:
        cursor.execute(OF_TURNS)
        found = {name for (name,) in cursor.fetchall()}
    assert found == {table._meta.db_table for table in evidence_tables()} | NOT_SEALED.keys()


MANY = 6  #: turns, each of which is changed in another way before a check


@pytest.fixture
def rich(play: Play, monkeypatch: pytest.MonkeyPatch) -> list[turns.Turn]:
    """As many as one check is held to, and the one of an earlier release."""
    return _sealed(MANY, play, monkeypatch)


@pytest.fixture
def pair(play: Play, monkeypatch: pytest.MonkeyPatch) -> list[turns.Turn]:
    """Two, and the one of an earlier release: each check reads all turns, and further ones would stay as they are."""
    return _sealed(2, play, monkeypatch)


def _sealed(many: int, play: Play, monkeypatch: pytest.MonkeyPatch) -> list[turns.Turn]:
    """Turns that have rows in every table of today, and one as earlier releases stored it."""
    monkeypatch.setattr(recorder, "CHECKPOINT_EVERY", 2)
    user = User.objects.create_user("starter")
    parent, erased = (play("sim-script", name=name) for name in ("parent", "erased"))
    made = [turn_with_all_rows(play, parent, user, n) for n in range(many)]
    old = play("sim-tools", system_prompt="Be brief.")
    judged_as_before(old)
    turns.TurnMessage.objects.bulk_create(
        turns.TurnMessage(turn_id=turn.id, n=n, wire=f'"{n}"') for turn in made for n in range(2)
    )
    seal()
    Entry.objects.bulk_create(_entry(n) for n in range(4))
    assert audit_seal_make(now=timezone.now())
    assert turns_erase(project=project_default(), chosen=[erased.id], by=user)
    seal()
    assert check_all().faults == []
    return [turns.Turn.objects.get(id=turn.id) for turn in (*made, old)]


def _entry(n: int) -> Entry:
    at = timezone.now() - timedelta(hours=1 + n)
    return Entry(
        id=new_id(), began_at=at, at=at, by=f"someone {n}", via="session", address=f"10.0.0.{n}", method="POST",
        action=f"policies {n}", target="/p/", status=300 + n, led_to=f"/{n}", project_id=new_id(),
    )  # fmt: skip


#: Of a turn's tables, where the turn is.
KEYS = {turns.Turn: "id", TurnDocument: "turn_id", Origin: "turn_id", Ingested: "turn_id"}
#: Whose rows are not those of one turn.
APART = (turns.Node, turns.Cohort, turns.LooseNode, seals.Seal, seals.AuditSeal, seals.Tombstone, Entry)
#: `Model.column` and the way in which it may be changed.
FREE_WAYS = dict.fromkeys(
    ("Attempt.raw_text: NULL", "AttemptChunk.text: NULL"), "NULL stands for the text of the attempt, which is the same"
)


def named() -> set[str]:
    return {place for place, _ in check_all().faults}


def changes() -> list[tuple[type[Model], str, str, str]]:
    """Each column of a turn's rows in each way: the table, the column, the way, and the value that it has then."""
    return [
        (table, column, way, WAYS[way][kind])
        for table in evidence_tables()
        if table not in APART and table is not turns.StrayOutcome
        for column, kind, nullable in columns_of(table)
        for way in ways_of(table, kind, nullable)
    ]


@pytest.mark.nightly  # takes long; by day `test_columns` requires a reason for each column, and swaps change it
def test_any_change_of_a_turn_column_is_named(rich: list[turns.Turn]):
    """A check reads all turns, so that it is held to a change of each."""
    unnoticed, tried, all_changes = [], 0, changes()
    for first in range(0, len(all_changes), MANY):
        hit = {}
        with transaction.atomic():
            for (table, column, way, value), turn in zip(all_changes[first : first + MANY], rich, strict=False):
                if changed(table, column, value, f"{KEYS.get(table, 'turn_id')} = %s", turn.id):
                    hit[f"{table.__name__}.{column}: {way}"] = str(turn.id)
            found = named()
            transaction.set_rollback(True)
        tried += len(hit)
        unnoticed += [change for change, turn_id in hit.items() if turn_id not in found]
    assert tried > 250
    assert set(unnoticed) == FREE_WAYS.keys()


@pytest.mark.nightly  # takes long; by day `test_columns` requires a reason for each column, and swaps change it
def test_any_change_of_a_column_shared_by_turns_is_named(pair: list[turns.Turn]):
    unnoticed, tried = [], 0
    for table in (*APART, turns.StrayOutcome):
        for column, kind, nullable in columns_of(table):
            for way in ways_of(table, kind, nullable):
                with transaction.atomic():
                    if changed(table, column, WAYS[way][kind], one_row(table)):
                        tried += 1
                        unnoticed += [] if named() else [f"{table.__name__}.{column}: {way}"]
                    transaction.set_rollback(True)
    assert tried > 90
    assert unnoticed == []


def test_swapped_values_of_two_rows_are_named(pair: list[turns.Turn]):
    unnoticed, tried = [], 0
    one, other = pair[0].id, pair[1].id
    for table in evidence_tables():
        if table in APART or table is turns.StrayOutcome:
            continue
        name, key = table._meta.db_table, KEYS.get(table, "turn_id")
        for column, _, _ in columns_of(table):
            with transaction.atomic():
                forged(f"ALTER TABLE {name} DROP CONSTRAINT IF EXISTS {name}_pkey CASCADE")
                hit = forged(SWAPPED.format(table=name, column=connection.ops.quote_name(column), key=key), one, other)
                if hit == 2:
                    tried += 1
                    found = named() - {f"table {name}"}
                    unnoticed += [] if {str(one), str(other)} & found else [f"{table.__name__}.{column}"]
                transaction.set_rollback(True)
    assert tried > 50
    assert {f"{column}: NULL" for column in unnoticed} <= FREE_WAYS.keys()


@pytest.mark.nightly  # by day `test_seal_check.py` removes a record and a chain, and inserts a turn
def test_a_removed_or_added_row_is_named(pair: list[turns.Turn]):
    unnoticed = []
    for table in evidence_tables():
        if table is turns.LooseNode:
            continue
        name = table._meta.db_table
        for way in ("removed", "added"):
            with transaction.atomic():
                without_keys(name)
                key = connection.ops.quote_name(last_of_key(table))
                hit = forged(row_sql(way, table, key))
                assert hit, (table, way)
                found = named() - {f"table {name}"}
                transaction.set_rollback(True)
            unnoticed += [] if found else [f"{table.__name__}: {way}"]
    assert set(unnoticed) == MAY_BE_ADDED.keys()


#: What is added so is part of nothing that is sealed.
MAY_BE_ADDED = {
    "Node: added": "no turn refers to it",
    "Cohort: added": "no turn is counted in it",
    **dict.fromkeys(
        ("ClientRequest: added", "Origin: added", "Ingested: added"), "its key is the turn, and no such turn is stored"
    ),
}
