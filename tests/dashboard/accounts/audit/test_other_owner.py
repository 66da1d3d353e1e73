"""The statements in the docs give the audit log to an owner other than the user of the server."""

import re

import psycopg
import pytest
from django.db import ProgrammingError, connection, transaction

from dashboard.accounts.audit.models import Entry
from dashboard.accounts.audit.services import command_record
from tests.first_start import CHECKOUT

pytestmark = pytest.mark.django_db

OWNER, SERVER = "audit_owner_of_a_test", "server_of_a_test"
SERVES = f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO {SERVER}"
REPLACED = """
CREATE OR REPLACE FUNCTION whystop_refuse_audit_change() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN RETURN NEW; END $$
"""


@pytest.fixture
def given_away(db: None) -> None:
    """What the docs say, and the connection is the server's from then on."""
    page = (CHECKOUT / "docs/how-to/operations.md").read_text()
    block = re.search(r"```sql\n(ALTER TABLE audit_entry.*?)```", page, re.DOTALL)
    assert block is not None
    said = block[1].replace("TO postgres", f"TO {OWNER}").replace("TO whystop", f"TO {SERVER}")
    with connection.cursor() as cursor:
        cursor.execute(f"CREATE ROLE {OWNER}; CREATE ROLE {SERVER}; {SERVES}; REVOKE ALL ON audit_entry FROM {SERVER}")
        cursor.execute(f"GRANT CREATE ON SCHEMA public TO {OWNER}, {SERVER}")
        cursor.execute(said)
        cursor.execute(f"SET LOCAL ROLE {SERVER}")


@pytest.mark.usefixtures("given_away")
def test_the_server_adds_entries_and_reads_them():
    command_record("doctor", "--json")
    assert Entry.objects.get(action="doctor").target == "--json"


@pytest.mark.usefixtures("given_away")
@pytest.mark.parametrize(
    "tried",
    [
        "ALTER TABLE audit_entry DISABLE TRIGGER ALL",
        "DROP TRIGGER refuse_change ON audit_entry",
        "UPDATE audit_entry SET by = 'nobody'",
        "DELETE FROM audit_entry",
        "TRUNCATE audit_entry",
        "DROP TABLE audit_entry",
        "SET session_replication_role = 'replica'",
        REPLACED,
    ],
)
def test_the_server_can_neither_change_entries_nor_turn_the_triggers_off(tried: str):
    with connection.cursor() as cursor, pytest.raises(ProgrammingError) as refused, transaction.atomic():
        cursor.execute(tried)
    assert isinstance(refused.value.__cause__, psycopg.errors.InsufficientPrivilege)
