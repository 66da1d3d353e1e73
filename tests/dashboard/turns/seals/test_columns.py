"""Every column of every table of turns is decided on, and whoever changes one that is no free one is noticed."""

from typing import Any

import pytest
from django.apps import apps
from django.db import connection, models

from dashboard.accounts.models import User
from dashboard.ingest.models import Ingested
from dashboard.ingest.turn_files.models import Origin
from dashboard.replay.services import turn_verify
from dashboard.turns.models import (
    Turn,
)
from dashboard.turns.seals import chains, columns, row_parts
from tests.dashboard.driving import Play
from tests.dashboard.gateway.stored_calls import call_stored

from .evidence_rows import turn_with_all_rows
from .forging import as_superuser, faults, seal

pytestmark = pytest.mark.django_db(transaction=True)

TABLES = [*(model for model in apps.get_app_config("turns").get_models() if model._meta.managed), Origin, Ingested]


def decided(table: type[models.Model]) -> list[str]:
    chained = {**columns.CHAINED, Origin: columns.ORIGIN_ROW, Ingested: columns.INGESTED_ROW}
    free = {**columns.FREE, Ingested: columns.INGESTED_FREE}
    return [*chained.get(table, ()), *columns.COMPARED.get(table, {}), *free.get(table, {})]


@pytest.mark.parametrize("table", TABLES)
def test_every_column_is_chained_compared_or_exempt_with_a_reason(table: type[models.Model]):
    assert sorted(decided(table)) == sorted(field.name for field in table._meta.concrete_fields if field.column)


@pytest.fixture
def led(play: Play) -> Turn:
    user, parent = User.objects.create_user("starter"), play("sim-script")
    return turn_with_all_rows(play, parent, user, 0)


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE turns_attemptchunk SET at = at + interval '1 second' WHERE turn_id = %s",
        "UPDATE turns_turn SET created_by_id = NULL WHERE id = %s",
        "UPDATE keeping_origin SET imported_by_id = NULL WHERE turn_id = %s",
        "DELETE FROM sealing_chain WHERE turn_id = %s",
    ],
)
def test_the_verification_of_one_turn_checks_its_chain_and_seal(led: Turn, change: str):
    seal()
    assert turn_verify(turn=led).verified
    as_superuser(change, led.id)
    found = turn_verify(turn=Turn.objects.get(id=led.id))
    assert found.divergence is not None
    assert "differs from what was sealed" in found.divergence.replayed["error"]


@pytest.mark.parametrize(
    "change",
    [
        "DELETE FROM ingest_ingested WHERE turn_id = %s",
        "INSERT INTO ingest_ingested SELECT (jsonb_populate_record(i, jsonb_build_object('turn_id', %s))).* "
        "FROM ingest_ingested i",
    ],
)
def test_the_trace_origin_of_a_turn_can_be_neither_removed_nor_invented(led: Turn, change: str):
    seal()
    changed = led if change.startswith("DELETE") else led.parent
    as_superuser(change, changed.id)
    assert "trace or log it was made of" in faults()[str(changed.id)]


def test_every_column_of_a_call_is_chained_or_exempt_with_a_reason():
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
def test_a_change_of_the_response_to_a_caller_is_detected(play: Play, name: str):
    turn = play("sim-essay")
    call_stored(turn, at=turn.created_at, status=200, client_finish_reason="stop")
    seal()
    assert faults() == {}
    as_superuser(f"UPDATE turns_turn SET call_{name} = {FORGED[name]} WHERE id = %s", turn.id)
    part = "call through the gateway" if name in columns.ASKED else "what its caller was told"
    assert faults()[str(turn.id)] == f"changed: {part}"


def test_a_call_can_be_neither_invented_nor_removed(play: Play):
    called, other = play("sim-essay"), play("sim-script")
    call_stored(called, at=called.created_at, status=200)
    seal()
    as_superuser("UPDATE turns_turn SET call_mode = NULL, call_status = NULL WHERE id = %s", called.id)
    as_superuser("UPDATE turns_turn SET call_mode = 'observe', call_status = 200 WHERE id = %s", other.id)
    assert "removed: what its caller was told" in faults()[str(called.id)]
    assert "changed: call through the gateway" in faults()[str(other.id)]


def test_data_returned_to_a_caller_after_the_end_is_not_forgery(play: Play):
    turn = play("sim-essay")
    call_stored(turn, at=turn.created_at)
    seal()
    as_superuser("UPDATE turns_turn SET call_status = 200, call_disconnected = true WHERE id = %s", turn.id)
    assert faults() == {}


def test_a_call_of_a_turn_chained_by_an_earlier_release_stays_as_sealed(play: Play, monkeypatch: Any):
    turn = play("sim-essay")
    call_stored(turn, at=turn.created_at, status=200)
    with monkeypatch.context() as earlier:
        earlier.setattr(row_parts, "_calls", lambda _: ())
        seal()
    assert faults() == {}


def test_deleting_a_user_removes_the_link_without_a_fault(led: Turn):
    seal()
    User.objects.filter(username="starter").delete()
    assert faults() == {}


def test_a_turn_chained_before_further_columns_were_chained_stays_as_sealed(led: Turn, monkeypatch: Any):
    with monkeypatch.context() as earlier:
        earlier.setattr(chains, "parts_beside", lambda _: ())
        seal()
    assert faults() == {}
    assert turn_verify(turn=led).verified
