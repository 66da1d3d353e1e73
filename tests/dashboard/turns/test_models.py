from datetime import UTC, datetime
from importlib import import_module
from io import StringIO
from types import SimpleNamespace

import pytest
from django.contrib.postgres.search import SearchQuery
from django.core.management import call_command
from django.db import IntegrityError, connection, models, transaction

from dashboard.agents import selectors
from dashboard.platform.ids import new_id
from dashboard.turns.indexes import found_by
from dashboard.turns.models import Attempt, AttemptChunk, ClientRequest, Record, StrayOutcome, Turn, TurnMessage

pytestmark = pytest.mark.django_db

NOW = datetime(2026, 11, 20, tzinfo=UTC)
ROWS: dict[type[models.Model], dict[str, object]] = {
    Record: {"seq": 1, "at": NOW, "event": {}, "command": {}, "core_version": "1"},
    AttemptChunk: {"attempt": 1, "n": 1, "raw": b"\x00\xff", "at": NOW},
    StrayOutcome: {
        "seq": 1,
        "position": 0,
        "state": "evaluate_stop",
        "decision": "stop",
        "resolved_by": "aggregate",
        "stop_reason": "completed",
    },
    TurnMessage: {"n": 0, "wire": "{}"},
    ClientRequest: {"body": b"{}"},
    Attempt: {
        "index": 1,
        "kind": "initial",
        "iteration": 1,
        "provider": "openai",
        "model": "m",
        "max_tokens": 1,
        "request": "{}",
        "request_sha256": "",
        "request_url": "http://host",
        "started_at": NOW,
    },
}
APPEND_ONLY = [Record, AttemptChunk, StrayOutcome, TurnMessage, ClientRequest]


def make(model: type[models.Model]) -> models.Model:
    return model._default_manager.create(turn_id=new_id(), **ROWS[model])


def erasing(words: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT set_config('whystop.erasing', %s, true)", [words])


def make_turn(**values: object) -> Turn:
    defaults = {"agent_name": "a", "provider": "openai", "model": "m", "max_tokens": 60}
    return Turn.objects.create(project=selectors.project_default(), **{**defaults, **values})


def test_the_migrations_match_the_models():
    call_command("makemigrations", "agents", "turns", check=True, dry_run=True, stdout=StringIO())


@pytest.mark.parametrize("model", [*APPEND_ONLY, Attempt])
def test_columns_match_the_models(model):
    with connection.cursor() as cursor:
        described = connection.introspection.get_table_description(cursor, model._meta.db_table)
    fields = [field for field in model._meta.concrete_fields if not isinstance(field, models.CompositePrimaryKey)]
    assert {field.column: field.null for field in fields} == {column.name: column.null_ok for column in described}


@pytest.mark.parametrize("model", APPEND_ONLY)
def test_history_cannot_be_changed_or_deleted(model):
    make(model)
    with pytest.raises(IntegrityError, match="append-only: UPDATE was refused"), transaction.atomic():
        model._default_manager.update(turn_id=new_id())
    with pytest.raises(IntegrityError, match="append-only: DELETE was refused"), transaction.atomic():
        model._default_manager.all().delete()
    assert model._default_manager.count() == 1


@pytest.mark.parametrize("model", [*APPEND_ONLY, Attempt])
def test_a_row_can_be_deleted_only_in_a_transaction_that_declares_an_erasure(model):
    make(model)
    erasing("on")
    model._default_manager.all().delete()
    assert model._default_manager.count() == 0


@pytest.mark.parametrize("model", [*APPEND_ONLY, Attempt])
def test_truncate_is_refused_for_a_table_and_each_of_its_partitions(model):
    erasing("off")
    table = model._meta.db_table
    with connection.cursor() as cursor:
        cursor.execute("SELECT relname FROM pg_class WHERE relkind IN ('r', 'p') AND relname ~ %s", [f"^{table}(_|$)"])
        tables = [name for (name,) in cursor.fetchall()]
        for name in tables:
            with pytest.raises(IntegrityError, match="TRUNCATE was refused"), transaction.atomic():
                cursor.execute(f"TRUNCATE {name}")
    assert len(tables) == {TurnMessage: 1, ClientRequest: 1, StrayOutcome: 2}.get(model, 5)


def test_a_test_database_can_be_emptied_without_letting_a_row_be_deleted():
    make(Record)
    erasing("truncate")
    with pytest.raises(IntegrityError, match="DELETE was refused"), transaction.atomic():
        Record.objects.all().delete()
    with connection.cursor() as cursor:
        cursor.execute("TRUNCATE turns_record")
    assert not Record.objects.exists()


def test_an_attempt_can_be_changed_until_it_has_ended():
    attempt = make(Attempt)
    assert isinstance(attempt, Attempt)
    attempt.text = "so far"
    attempt.save()
    attempt.duration_ms = 5
    attempt.save()
    with pytest.raises(IntegrityError, match="An attempt that has ended is append-only"), transaction.atomic():
        Attempt.objects.update(text="other")
    with pytest.raises(IntegrityError, match="DELETE was refused"), transaction.atomic():
        attempt.delete()


def test_the_late_writer_of_a_record_is_stopped_by_the_primary_key():
    record = make(Record)
    with pytest.raises(IntegrityError, match="duplicate key"), transaction.atomic():
        Record.objects.bulk_create([Record(turn_id=record.turn_id, **ROWS[Record])])


def test_turns_are_found_by_any_word_of_prompt_or_answer():
    turn = make_turn(input_text="Why is the sky blue?", output_text="Rayleigh scattering; <b>über</b> 天空")
    make_turn(input_text="other")
    for word in ("sky", "RAYLEIGH", "über", "天空"):
        assert list(Turn.objects.filter(found_by(SearchQuery(word, config="simple")))) == [turn]


def test_the_longest_answers_of_the_widest_characters_are_stored_and_searched():
    wide = "".join(f"{chr(0x20000 + n % 40000)}{chr(0x20000 + n // 7 % 40000)} " for n in range(60_000))
    turn = make_turn(input_text=wide, output_text=wide[1:] + " end")
    assert Turn.objects.filter(found_by(SearchQuery(wide.split()[0], config="simple"))).get() == turn


def test_a_character_that_postgres_rejects_is_replaced_when_a_turn_is_saved():
    made = make_turn()
    turn = Turn.objects.get()
    turn.output_text = "now\x00 there"
    turn.save()
    made.refresh_from_db()
    assert made.output_text == "now\ufffd there"


def test_a_turn_outlives_its_agent_and_its_parent():
    parent = make_turn()
    child = make_turn(parent=parent, forked_at=3)
    parent.delete()
    child.refresh_from_db()
    assert (child.parent, child.forked_at) == (None, 3)


EXACT = {"model_stop_reason": "end_turn", "setup": {"setup": {"extra": {"prefill": True}}}}
ONE_CALL = "Completed after 2 continuations. With max_tokens ≥ 150, one call would have been enough."


@pytest.mark.parametrize(
    ("columns", "verdict", "kept"),
    [
        (EXACT, ONE_CALL, ONE_CALL),
        ({**EXACT, "setup": {}}, ONE_CALL, "Completed after 2 continuations."),
        ({**EXACT, "tokens_estimated": True}, ONE_CALL, "Completed after 2 continuations."),
        ({**EXACT, "attempts": 4}, ONE_CALL, "Completed after 2 continuations."),
        (
            {},
            "Completed after 1 continuation. One call would have needed max_tokens ≥ 9, above the connection's ceiling "
            "of 5.",
            "Completed after 1 continuation.",
        ),
        ({}, "Completed in 1 call.", "Completed in 1 call."),
    ],
)
def test_uncertain_numbers_are_removed_from_stored_verdicts(columns: dict[str, object], verdict: str, kept: str):
    told = {"agent_name": "a", "provider": "p", "model": "m", "max_tokens": 1, "attempts": 3, "continuations": 2}
    turn = Turn.objects.create(project=selectors.project_default(), verdict=verdict, **{**told, **columns})
    migration = import_module("dashboard.turns.migrations.0011_certain_verdicts")
    migration.unsay(None, SimpleNamespace(connection=connection))
    turn.refresh_from_db()
    assert turn.verdict == kept
