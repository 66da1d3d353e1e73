"""Every column of every table of turns is decided on, and whoever changes one that is no free one is noticed."""

from typing import Any

import pytest
from django.apps import apps
from django.db import connection, models, transaction
from django.utils import timezone

from dashboard.accounts.models import User
from dashboard.agents.models import Policy, PolicyVersion, Project
from dashboard.ingest.models import Ingested
from dashboard.ingest.turn_files.models import Origin
from dashboard.live.conversations.models import Conversation
from dashboard.replay.services import turn_verify
from dashboard.turns import nodes, recorder
from dashboard.turns.history import messages_of
from dashboard.turns.models import (
    Attempt,
    AttemptChunk,
    Checkpoint,
    ClientRequest,
    Cohort,
    Node,
    Record,
    ToolClaim,
    Turn,
    TurnMessage,
)
from dashboard.turns.request_frames import split
from dashboard.turns.seals import chains, columns, row_parts
from dashboard.turns.seals.models import Chain
from dashboard.turns.seals.seal_check import check_all
from tests.dashboard.driving import Play
from tests.dashboard.gateway.stored_calls import call_stored
from tests.dashboard.turns.earlier_releases import judged_as_before

from .test_seal_check import as_superuser, data_dir, faults, seal  # noqa: F401 - the first is a fixture

pytestmark = pytest.mark.django_db(transaction=True)

TABLES = [*(model for model in apps.get_app_config("turns").get_models() if model._meta.managed), Origin, Ingested]
#: How a value of a column becomes another one.
OTHER = {
    models.TextField: "coalesce({0}, '') || 'x'",
    models.CharField: "'x'",
    models.JSONField: """'{{"forged": 1}}'""",
    models.BooleanField: "NOT {0}",
    models.DateTimeField: "coalesce({0}, now()) + interval '1 day'",
    models.IntegerField: "1000000 - coalesce({0}, 0)",  # so that the order is another too
    models.UUIDField: "gen_random_uuid()",
    models.BinaryField: "'\\x00'",
    models.ForeignKey: "NULL",
    models.AutoField: "{0} + 1000",
}


def decided(table: type[models.Model]) -> list[str]:
    return [*columns.CHAINED.get(table, ()), *columns.COMPARED.get(table, {}), *columns.FREE.get(table, {})]


@pytest.mark.parametrize("table", TABLES)
def test_every_column_is_chained_or_compared_or_free_for_a_reason(table: type[models.Model]):
    assert sorted(decided(table)) == sorted(field.name for field in table._meta.concrete_fields if field.column)


@pytest.fixture
def led(play: Play, monkeypatch: pytest.MonkeyPatch) -> Turn:
    """An imported turn that has a row in every table of today and leads to a row wherever one can."""
    monkeypatch.setattr(recorder, "CHECKPOINT_EVERY", 2)
    parent, turn = play("sim-script"), play("sim-essay", max_tokens=60, system_prompt="Be brief.")
    user = User.objects.create_user("starter")
    policy = Policy.objects.create(project=turn.project, name="strict")
    frame = nodes.grown(turn.project_id, None, {nodes.NodeForm.FRAME: [split(b"no JSON").frame]})
    recorder.keep(frame)
    Turn.objects.filter(id=turn.id).update(
        shared=frame[-1].id,
        created_by=user,
        parent=parent,
        policy_version=PolicyVersion.objects.create(policy=policy, version=1),
        conversation=Conversation.objects.create(project=turn.project, agent=turn.agent, agent_name=turn.agent_name),
        position=1,
    )
    for n, finished_at in enumerate((timezone.now(), None)):
        ToolClaim.objects.create(turn_id=turn.id, call_id=f"c{n}", name="t", idempotent=True, finished_at=finished_at)
    Origin.objects.create(
        turn=turn, original_id=turn.id, sha256="0", exported_at=turn.created_at, imported_at=timezone.now(),
        imported_by=user,
    )  # fmt: skip
    Ingested.objects.create(
        turn=turn, project_id=turn.project_id, trace=turn.id, digest=b"", ingested_at=timezone.now()
    )
    Project.objects.create(name="another")
    as_superuser(WITH_ATTEMPT, turn.id)
    turn.refresh_from_db()
    return turn


#: An answer that came whole stands in the row of its attempt.
WITH_ATTEMPT = """
WITH whole AS (DELETE FROM turns_attemptchunk WHERE turn_id = %s AND attempt = 2 RETURNING *)
UPDATE turns_attempt SET raw = whole.raw, raw_text = whole.text, raw_at = whole.at
  FROM whole WHERE turns_attempt.turn_id = whole.turn_id AND index = 2
"""


@pytest.fixture
def old(play: Play) -> Turn:
    """One as earlier releases stored it: its messages and its client's request are no nodes, its judgements rows."""
    turn = play("sim-tools", system_prompt="Be brief.")
    TurnMessage.objects.bulk_create(
        TurnMessage(turn_id=turn.id, n=n, wire=wire) for n, wire in enumerate(messages_of(turn.id))
    )
    Turn.objects.filter(id=turn.id).update(node=None)
    ClientRequest.objects.create(turn_id=turn.id, body=b"{}")
    judged_as_before(turn)
    return turn


def altered(table: type[models.Model], name: str, turn: Turn, old: Turn) -> int:
    """Change a column in all rows of the turns, past every trigger and rule; of how many rows."""
    field: Any = table._meta.get_field(name)
    key = {Cohort: "id", Turn: "id", Node: None}.get(table, "turn_id")
    other = next(OTHER[kind] for kind in type(field).__mro__ if kind in OTHER)
    if isinstance(field, models.ForeignKey) and not field.null:
        other = "(SELECT id FROM agents_project WHERE name = 'another')"
    if table is ClientRequest and name == "frame":
        other = "(SELECT id FROM turns_node LIMIT 1)"
    column = connection.ops.quote_name(field.column)
    where = "true" if key is None else f"{key} = ANY(%s)"
    ids = [turn.cohort, old.cohort] if table is Cohort else [turn.id, old.id]
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = 'replica'")
        cursor.execute(
            f"UPDATE {table._meta.db_table} SET {column} = {other.format(column)} WHERE {where}",
            [] if key is None else [ids],
        )
        return cursor.rowcount


#: One of each group of columns that are hashed together, and all that lead to a row.
GROUPS = {
    Turn: ("id", columns.TURN[0], columns.REST[0], *(name for name in columns.LINKS if name != columns.IMPORTER)),
    Record: ("seq", "packed"),
    Attempt: ("index", "error", "raw", "raw_text", "raw_at"),
    AttemptChunk: ("n", "at", "text", "raw"),
    Checkpoint: ("snapshot",),
    ToolClaim: ("name", "result"),
    Origin: ("turn", columns.ORIGIN[0], columns.ORIGIN_REST[0], columns.IMPORTER),
    Ingested: ("turn", *columns.INGESTED),
}


def test_whoever_changes_what_is_chained_is_noticed(led: Turn, old: Turn):
    seal()
    assert faults() == {}
    assert GROUPS.keys() == columns.CHAINED.keys()
    for table, names in GROUPS.items():
        for name in names:
            assert noticed(table, name, led, old, replay=False), f"{table.__name__}.{name} was changed unnoticed"


#: What the rows refer to: chained as they tell it, so that it is noticed by what is chained.
REFERRED = (Turn, Node, ClientRequest)


def test_whoever_changes_what_is_made_of_a_history_is_noticed(led: Turn, old: Turn):
    for table in sorted(columns.COMPARED, key=lambda table: table in REFERRED):
        if table in REFERRED and not Chain.objects.exists():
            seal()
        for name in columns.COMPARED[table]:
            assert noticed(table, name, led, old, replay=True), f"{table.__name__}.{name} was changed unnoticed"


def noticed(table: type[models.Model], name: str, led: Turn, old: Turn, *, replay: bool) -> bool:
    with transaction.atomic():
        assert altered(table, name, led, old), (table, name)
        found = faults(check_all(replay=replay))
        transaction.set_rollback(True)
    return bool(found)


def test_the_verification_of_one_turn_looks_at_its_chain_and_seal(led: Turn, old: Turn):
    seal()
    assert turn_verify(turn=led).verified
    for table, name in ((AttemptChunk, "at"), (Turn, "created_by"), (Origin, "imported_by")):
        with transaction.atomic():
            altered(table, name, led, old)
            found = turn_verify(turn=Turn.objects.get(id=led.id))
            transaction.set_rollback(True)
        assert found.divergence is not None
        assert "not as it was sealed" in found.divergence.replayed["error"]
    Chain.objects.filter(turn_id=led.id).delete()
    assert not turn_verify(turn=led).verified


@pytest.mark.parametrize(
    "change",
    [
        "DELETE FROM ingest_ingested WHERE turn_id = %s",
        "INSERT INTO ingest_ingested SELECT (jsonb_populate_record(i, jsonb_build_object('turn_id', %s))).* "
        "FROM ingest_ingested i",
    ],
)
def test_that_a_turn_was_made_of_a_trace_can_be_neither_taken_away_nor_invented(led: Turn, old: Turn, change: str):
    seal()
    changed = led if change.startswith("DELETE") else old
    as_superuser(change, changed.id)
    assert "trace or log it was made of" in faults()[str(changed.id)]


def test_every_column_of_a_call_is_chained_or_free_for_a_reason():
    with connection.cursor() as cursor:
        cursor.execute("SELECT attname FROM pg_attribute WHERE attrelid = 'turns_turn'::regclass AND attnum > 0")
        found = {name for (name,) in cursor.fetchall() if name.startswith(columns.CALL)}
    decided = (*columns.ASKED, *columns.TOLD, *columns.CALL_FREE)
    assert found == {f"{columns.CALL}{name}" for name in decided}


FORGED = {
    "key_id": "gen_random_uuid()", "caller": "'x'", "mode": "'continue'", "stream": "true", "n": "9", "status": "418",
    "client_finish_reason": "'length'", "finish_source": "'x'", "continued": "true", "overhead_us": "1",
    "answer_id": "'resp_2'",
}  # fmt: skip


@pytest.mark.parametrize("name", [*columns.ASKED, *columns.TOLD])
def test_whoever_changes_what_a_caller_was_told_is_noticed(play: Play, name: str):
    turn = play("sim-essay")
    call_stored(turn, at=turn.created_at, status=200, client_finish_reason="stop")
    seal()
    assert faults() == {}
    as_superuser(f"UPDATE turns_turn SET call_{name} = {FORGED[name]} WHERE id = %s", turn.id)
    part = "call through the gateway" if name in columns.ASKED else "what its caller was told"
    assert faults()[str(turn.id)] == f"changed: {part}"


def test_a_call_can_be_neither_invented_nor_taken_away(play: Play):
    called, other = play("sim-essay"), play("sim-script")
    call_stored(called, at=called.created_at, status=200)
    seal()
    as_superuser("UPDATE turns_turn SET call_mode = NULL, call_status = NULL WHERE id = %s", called.id)
    as_superuser("UPDATE turns_turn SET call_mode = 'observe', call_status = 200 WHERE id = %s", other.id)
    assert "removed: what its caller was told" in faults()[str(called.id)]
    assert "changed: call through the gateway" in faults()[str(other.id)]


def test_what_a_caller_is_told_after_the_end_is_no_forgery(play: Play):
    turn = play("sim-essay")
    call_stored(turn, at=turn.created_at)
    seal()
    as_superuser("UPDATE turns_turn SET call_status = 200, call_disconnected = true WHERE id = %s", turn.id)
    assert faults() == {}


def test_a_call_of_a_turn_that_was_chained_before_calls_were_stays_as_it_was_sealed(play: Play, monkeypatch: Any):
    turn = play("sim-essay")
    call_stored(turn, at=turn.created_at, status=200)
    with monkeypatch.context() as earlier:
        earlier.setattr(row_parts, "_calls", lambda _: ())
        seal()
    assert faults() == {}


def test_a_user_who_is_gone_takes_the_link_away_and_nothing_is_wrong(led: Turn):
    seal()
    User.objects.filter(username="starter").delete()
    assert faults() == {}


def test_a_turn_that_was_chained_before_more_was_chained_stays_as_it_was_sealed(led: Turn, monkeypatch: Any):
    with monkeypatch.context() as earlier:
        earlier.setattr(chains, "parts_beside", lambda _: ())
        seal()
    assert faults() == {}
    assert turn_verify(turn=led).verified
