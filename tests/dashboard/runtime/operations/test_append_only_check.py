"""`manage.py doctor` names triggers of the history and of the audit log that are off, missing or replaced."""

import pytest
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder

from dashboard.runtime.operations.append_only_check import FUNCTIONS, TRIGGERS, text_digest, triggers
from dashboard.runtime.operations.doctor import State

pytestmark = pytest.mark.django_db

#: Every trigger that refuses something, of tables that are no partitions.
REFUSING = """
SELECT relname, tgname FROM pg_trigger JOIN pg_class ON pg_class.oid = tgrelid JOIN pg_proc ON pg_proc.oid = tgfoid
 WHERE NOT tgisinternal AND NOT relispartition AND proname LIKE 'whystop_refuse%'
"""
REPLACED = """
CREATE OR REPLACE FUNCTION whystop_refuse_audit_change() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN RETURN NEW; END $$
"""


def rows(query: str) -> list[tuple[str, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(query)
        return list(cursor.fetchall()) if cursor.description else []


def test_tables_as_created_by_migrations_pass():
    (found,) = triggers()
    assert (found.state, found.fix) == (State.OK, "")


def test_every_trigger_that_refuses_changes_is_checked():
    listed = {(table, trigger) for table, names in TRIGGERS.items() for trigger in names}
    assert {*rows(REFUSING)} | {("audit_entry", "date_after_seals")} == listed


def test_the_functions_of_all_these_triggers_are_checked():
    used = rows("SELECT DISTINCT proname, prosrc FROM pg_proc JOIN pg_trigger ON tgfoid = pg_proc.oid")
    texts = {name: text for name, text in used if name in FUNCTIONS or name.startswith("whystop_refuse")}
    assert {name: text_digest(text) for name, text in texts.items()} == dict(FUNCTIONS)


@pytest.mark.parametrize(
    ("done", "named"),
    [
        ("ALTER TABLE audit_entry DISABLE TRIGGER refuse_change", "audit_entry.refuse_change"),
        ("ALTER TABLE audit_entry ENABLE REPLICA TRIGGER refuse_change", "audit_entry.refuse_change"),
        ("ALTER TABLE turns_record_default DISABLE TRIGGER refuse_change", "turns_record_default.refuse_change"),
        ("DROP TRIGGER refuse_truncate ON turns_attempt_default", "turns_attempt_default.refuse_truncate"),
        ("DROP TRIGGER date_after_seals ON audit_entry", "audit_entry.date_after_seals"),
        ("DROP TABLE audit_entry", "audit_entry.refuse_change"),
        (REPLACED, "whystop_refuse_audit_change()"),
        ("SET LOCAL session_replication_role = 'replica'", "session_replication_role is replica"),
    ],
)
def test_settings_that_allow_changes_to_append_only_rows_are_named(done: str, named: str):
    rows(done)
    (found,) = triggers()
    assert found.state is State.ERROR
    assert named in found.words
    assert "verify --all" in found.fix


@pytest.mark.parametrize(
    "done", ["DROP TABLE policies_shadow CASCADE", "DROP FUNCTION whystop_refuse_audit_change CASCADE"]
)
def test_triggers_that_migrations_have_yet_to_create_are_no_sign_of_a_change_outside_whystop(done: str):
    MigrationRecorder(connection).record_unapplied("keeping", "0004_plain_words")
    rows(done)
    (found,) = triggers()
    assert (found.state, "migrations" in found.fix, "outside" in found.fix) == (State.WARNING, True, False)


def test_a_trigger_that_was_turned_off_is_an_error_before_migrations_too():
    MigrationRecorder(connection).record_unapplied("keeping", "0004_plain_words")
    rows("ALTER TABLE audit_entry DISABLE TRIGGER refuse_change")
    (found,) = triggers()
    assert (found.state, "audit_entry.refuse_change" in found.words) == (State.ERROR, True)


def test_only_the_first_of_many_disabled_triggers_are_named():
    rows("ALTER TABLE turns_attempt DISABLE TRIGGER ALL")
    rows("ALTER TABLE turns_record DISABLE TRIGGER ALL")
    (found,) = triggers()
    assert found.words.endswith(" more")
