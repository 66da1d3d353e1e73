"""An installation of the version before, with turns in it, takes the migrations."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest
from psycopg import sql

from dashboard.turns.indexes import WORDS_SQL
from tests.first_start import CHECKOUT

BEFORE = ("turns", "0002_append_only")
BEFORE_DRAFTS = ("agents", "0005_connection_prefill")
BEFORE_RESOURCES = ("turns", "0006_policy_sources")
WITH_RAW = ("turns", "0008_raw_retention")
#: In the order in which they were released: each is made from the one before.
VERSIONS_BEFORE = (BEFORE, BEFORE_DRAFTS, BEFORE_RESOURCES, WITH_RAW)
VERSIONS = """
WITH policy AS (
    INSERT INTO agents_policy (id, project_id, name, created_at)
    SELECT gen_random_uuid(), id, 'wide', '2026-01-01' FROM agents_project RETURNING id)
INSERT INTO agents_policyversion (id, policy_id, version, limits, error_policy, tool_calls_on_truncation,
                                  finish_reasons, criteria, created_at)
SELECT gen_random_uuid(), id, n, '{}', '{}', 'execute_if_complete', '[]', '[]', '2026-01-01'::date + n
  FROM policy, generate_series(1, 2) n
"""
COUNTED = """
SELECT version.version, activation.starts_at = version.created_at FROM agents_policyactivation activation
  JOIN agents_policyversion version ON version.id = activation.version_id ORDER BY activation.starts_at
"""
EMPTY: dict[str, Any] = {
    "text": "",
    "jsonb": "{}",
    "ARRAY": "{}",
    "boolean": False,
    "uuid": "01a1ffc1-cd32-7036-aacf-1384ab66cefb",
}
NEEDED = """
SELECT column_name, data_type FROM information_schema.columns
WHERE table_name = 'turns_turn' AND is_nullable = 'NO' AND column_default IS NULL AND is_generated = 'NEVER'
"""


WAITS = """
SELECT 1 FROM pg_locks JOIN pg_database ON pg_database.oid = database AND datname = current_database()
 WHERE NOT granted AND relation = 'turns_outcome'::regclass
"""
#: What holds for all turns, and whether the database knows that it does.
WHOLE = """
SELECT conname, convalidated FROM pg_constraint WHERE conname = 'turns_turn_keep_raw_days_check'
UNION ALL SELECT relname, indisvalid FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid
 WHERE relname = 'turns_turn_raw_due' ORDER BY 1
"""


def migrate(url: str, *to: str) -> None:
    environment = {**os.environ, "DATABASE_URL": url}
    subprocess.run([sys.executable, "manage.py", "migrate", "-v", "0", *to], cwd=CHECKOUT, env=environment, check=True)


class Installations:
    """Databases of the suite's own server as earlier versions left them, each made once and copied for its test."""

    def __init__(self) -> None:
        address, mark, options = os.environ["DATABASE_URL"].partition("?")
        self._server, self._options = address.rpartition("/")[0], mark + options
        self._made: list[str] = []

    def copy_of(self, version: tuple[str, str]) -> str:
        """The address of one that nobody else changes."""
        until = VERSIONS_BEFORE.index(version) + 1
        for number in range(len(self._made), until):
            migrate(self._database(f"v{number}", self._made[-1:]), *VERSIONS_BEFORE[number])
            self._made.append(self._name(f"v{number}"))
        return self._database(f"copy{until}", self._made[until - 1 : until])

    def drop(self) -> None:
        with psycopg.connect(os.environ["DATABASE_URL"], autocommit=True) as server:
            ours = "SELECT datname FROM pg_database WHERE starts_with(datname, %s)"
            names = server.execute(ours, [self._name("")])
            for (name,) in names.fetchall():
                server.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))

    def _name(self, of: str) -> str:
        # As those which a killed session leaves, and the next one drops; none is the one that the suite is using.
        return f"test_whystop_{os.getpid()}_installed_{of}"

    def _database(self, of: str, template: list[str]) -> str:
        name, like = self._name(of), template[0] if template else "template1"
        with psycopg.connect(os.environ["DATABASE_URL"], autocommit=True) as server:
            create = sql.SQL("CREATE DATABASE {} TEMPLATE {}")
            server.execute(create.format(sql.Identifier(name), sql.Identifier(like)))
        return f"{self._server}/{name}{self._options}"


@pytest.fixture(scope="module")
def installations() -> Iterator[Installations]:
    made = Installations()
    yield made
    made.drop()


def keep_a_turn(connection: psycopg.Connection[Any]) -> None:
    """A row as that version kept it: what must be there, and nothing else."""
    (project,) = connection.execute("SELECT id FROM agents_project").fetchone() or ()
    row = {name: EMPTY.get(kind, "2026-01-01" if "time" in kind else 0) for name, kind in connection.execute(NEEDED)}
    row["project_id"] = project
    insert = sql.SQL("INSERT INTO turns_turn ({}) VALUES ({})").format(
        sql.SQL(", ").join(map(sql.Identifier, row)), sql.SQL(", ").join(sql.Placeholder() * len(row))
    )
    connection.execute(insert, list(row.values()))


@pytest.mark.nightly
def test_existing_turns_are_found_and_counted(installations: Installations):
    url = installations.copy_of(BEFORE)
    with psycopg.connect(url) as connection:
        keep_a_turn(connection)
        connection.execute("UPDATE turns_turn SET output_text = 'So it says in foo.py'")
    migrate(url)
    with psycopg.connect(url) as connection:
        connection.execute("SET enable_seqscan = off")
        told = f"SELECT cohort IS NOT NULL, {WORDS_SQL} @@ 'foo & py' FROM turns_turn WHERE {WORDS_SQL} @@ 'foo'"
        found = connection.execute(told).fetchall()
        counted = connection.execute("SELECT sum(count) FROM timeline_change").fetchone()
    assert found == [(True, True)]
    assert counted == (1,)


@pytest.mark.nightly
def test_turns_are_read_and_written_while_the_migration_fills_their_limits(installations: Installations):
    url = installations.copy_of(BEFORE_RESOURCES)
    with psycopg.connect(url) as connection:
        keep_a_turn(connection)
    with ThreadPoolExecutor(1) as by, psycopg.connect(url) as holding:
        holding.execute("LOCK TABLE turns_outcome IN ACCESS EXCLUSIVE MODE")
        migrating = by.submit(migrate, url)
        with psycopg.connect(url, autocommit=True) as live:
            while not (migrating.done() or live.execute(WAITS).fetchone()):
                time.sleep(0.05)
            live.execute("SET lock_timeout = '5s'")
            written = live.execute("UPDATE turns_turn SET verdict = 'meanwhile' RETURNING resource").fetchall()
        holding.rollback()
        migrating.result()
    with psycopg.connect(url) as connection:
        found = connection.execute("SELECT resource, cohort IS NOT NULL, verdict FROM turns_turn").fetchall()
        assert all(whole for _, whole in connection.execute(WHOLE))
    assert (written, found) == ([(None,)], [(None, True, "meanwhile")])


@pytest.mark.nightly
def test_a_migration_interrupted_at_the_end_is_restarted_and_reversible(installations: Installations):
    url = installations.copy_of(WITH_RAW)
    with psycopg.connect(url) as connection:
        connection.execute("DELETE FROM django_migrations WHERE app = 'turns' AND name ~ '^000[78]'")
    migrate(url, *WITH_RAW)
    with psycopg.connect(url) as connection:
        assert connection.execute(WHOLE).fetchall() == [
            ("turns_turn_keep_raw_days_check", True),
            ("turns_turn_raw_due", True),
        ]
    migrate(url, *BEFORE_RESOURCES)
    with psycopg.connect(url) as connection:
        assert connection.execute(WHOLE).fetchall() == []


@pytest.mark.nightly
def test_existing_versions_count_from_their_creation(installations: Installations):
    url = installations.copy_of(BEFORE_DRAFTS)
    with psycopg.connect(url) as connection:
        connection.execute(VERSIONS)
    migrate(url)
    with psycopg.connect(url) as connection:
        counted = connection.execute(COUNTED).fetchall()
    assert counted == [(1, True), (2, True)]
