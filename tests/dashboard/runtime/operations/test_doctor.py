"""`manage.py doctor` finds what is wrong, and says what to do."""

import json
import socket
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from io import StringIO
from pathlib import Path
from types import SimpleNamespace

import psycopg
import pytest
from django.conf import settings
from django.core.management import call_command
from django.db import OperationalError, transaction
from django.db import connection as database
from django.db.migrations.recorder import MigrationRecorder

from dashboard.accounts.models import User
from dashboard.agents import selectors
from dashboard.agents.models import Connection
from dashboard.gateway.services import key_create
from dashboard.platform.egress.rules import Rules
from dashboard.platform.secret_key import SECRET_KEY_FILE
from dashboard.runtime.operations import database_checks, machine_checks, provider_checks
from dashboard.runtime.operations.backup import LAST_BACKUP
from dashboard.runtime.operations.doctor import Check, Finding, State, examine

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def data_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    given = {"data_dir": tmp_path, "signing_key": "", "redis_url": ""}
    monkeypatch.setattr(settings, "ENVIRONMENT", replace(settings.ENVIRONMENT, **given))
    return tmp_path


def found(check: Check, name: str) -> Finding:
    findings = list(examine((check,)))
    named = [one for one in findings if one.name == name]
    assert named, findings
    return named[0]


@pytest.fixture
def closed_port() -> Iterator[int]:
    """A port of this machine at which nobody listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield taken.getsockname()[1]


def connection(base_url: str, **more: str) -> Connection:
    made = Connection(project=selectors.project_default(), name="asked", provider="openai", base_url=base_url, **more)
    made.save()
    return made


def test_each_check_is_one_line_and_in_json_one_object():
    out = StringIO()
    try:
        call_command("doctor", "--json", stdout=out)
    except SystemExit:
        pytest.fail(out.getvalue())
    told = json.loads(out.getvalue())
    assert told["state"] in ("ok", "warning")
    assert {"database", "migrations", "clock", "queue", "egress", "disk"} <= {one["name"] for one in told["findings"]}
    lines = StringIO()
    call_command("doctor", stdout=lines)
    assert len(lines.getvalue().splitlines()) == len(told["findings"])
    assert all(one["fix"] for one in told["findings"] if one["state"] != "ok")


def test_an_error_makes_the_exit_code_1(data_dir: Path):
    (data_dir / SECRET_KEY_FILE).write_text("x")
    (data_dir / SECRET_KEY_FILE).chmod(0o644)
    with pytest.raises(SystemExit) as ended:
        call_command("doctor", stdout=StringIO())
    assert ended.value.code == 1


def test_a_connection_that_answers_is_ok(simulator_url: str):
    connection(simulator_url)
    assert found(provider_checks.providers, "connection asked").state is State.OK


def test_a_connection_without_a_listener_is_named(closed_port: int):
    connection(f"http://127.0.0.1:{closed_port}/v1")
    finding = found(provider_checks.providers, "connection asked")
    assert (finding.state, "does not answer" in finding.words) == (State.WARNING, True)


def test_a_connection_refused_by_the_egress_rules_is_an_error(simulator_url: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(settings, "EGRESS", Rules.read("public"))
    connection(simulator_url)
    finding = found(provider_checks.providers, "connection asked")
    assert (finding.state, "WHYSTOP_EGRESS" in finding.fix) == (State.ERROR, True)


def test_a_missing_key_is_named_by_its_variable_and_a_set_key_is_never_shown(
    simulator_url: str, monkeypatch: pytest.MonkeyPatch
):
    connection(simulator_url, api_key_env="OF_THIS_TEST_API_KEY")
    finding = found(provider_checks.providers, "connection asked")
    assert (finding.state, "OF_THIS_TEST_API_KEY" in finding.fix) == (State.ERROR, True)
    monkeypatch.setenv("OF_THIS_TEST_API_KEY", "very-secret")
    finding = found(provider_checks.providers, "connection asked")
    assert finding.state is State.OK
    assert "very-secret" not in repr(finding)


def test_unapplied_and_unknown_migrations_are_named():
    applied = MigrationRecorder(database)
    assert found(database_checks.migrations, "migrations").state is State.OK
    applied.record_unapplied("keeping", "0004_plain_words")
    assert "from keeping.0004_plain_words on" in found(database_checks.migrations, "migrations").words
    applied.record_applied("keeping", "9003_later")
    finding = found(database_checks.migrations, "migrations")
    assert (finding.state, "keeping.9003_later" in finding.words) == (State.ERROR, True)


def test_a_missing_migration_below_applied_ones_is_an_error():
    MigrationRecorder(database).record_unapplied("keeping", "0001_initial")
    finding = found(database_checks.migrations, "migrations")
    assert (finding.state, "keeping.0001_initial" in finding.words) == (State.ERROR, True)


@pytest.mark.parametrize("ahead", [1, -1])
@pytest.mark.parametrize(("seconds", "state"), [(0, State.OK), (10, State.WARNING), (60, State.ERROR)])
def test_a_clock_that_differs_from_that_of_the_database_is_reported(
    monkeypatch: pytest.MonkeyPatch, seconds: int, state: State, ahead: int
):
    told = datetime.now(UTC) + ahead * timedelta(seconds=seconds)
    monkeypatch.setattr(database_checks, "_row", lambda query: (told,))
    assert found(database_checks.clock, "clock").state is state


@pytest.mark.parametrize(("free", "state"), [(50, State.OK), (3, State.WARNING), (0.5, State.ERROR)])
def test_an_almost_full_disk_is_reported(monkeypatch: pytest.MonkeyPatch, free: float, state: State):
    usage = SimpleNamespace(free=free * (1 << 30), total=100 * (1 << 30))
    monkeypatch.setattr("dashboard.runtime.operations.machine_checks.shutil.disk_usage", lambda folder: usage)
    assert found(machine_checks.disk, "disk").state is state


def test_jobs_waiting_without_a_worker_are_an_error(empty_queue: None):
    assert found(database_checks.queue, "queue").state is State.WARNING
    with database.cursor() as cursor:
        cursor.execute(
            "INSERT INTO procrastinate_jobs (queue_name, task_name, args) VALUES ('turns', 'drive_turn', '{}')"
        )
    assert found(database_checks.queue, "queue").state is State.ERROR
    with database.cursor() as cursor:
        cursor.execute("INSERT INTO procrastinate_workers (last_heartbeat) VALUES (now())")
    finding = found(database_checks.queue, "queue")
    assert finding.state is State.OK
    assert finding.words.startswith("Running workers: 1; waiting jobs: 1; failed jobs: 0")


def test_a_redis_that_does_not_answer_is_an_error(closed_port: int, monkeypatch: pytest.MonkeyPatch):
    named = replace(settings.ENVIRONMENT, redis_url=f"redis://:hidden@127.0.0.1:{closed_port}")
    monkeypatch.setattr(settings, "ENVIRONMENT", named)
    finding = found(machine_checks.live_updates, "live updates")
    assert finding.state is State.ERROR
    assert "hidden" not in repr(finding)


@pytest.mark.parametrize(
    ("rules", "unknown"),
    [
        ("nonsense.invalid, public", "nonsense.invalid"),
        ("localhost.invalid:8080,127.0.0.1,loopback", "localhost.invalid"),
        ("public,loopback,10.0.0.0/8,localhost:8080,*.invalid,!denied.invalid", ""),
    ],
)
def test_an_unknown_host_in_the_egress_rules_is_named(monkeypatch: pytest.MonkeyPatch, rules: str, unknown: str):
    read = Rules.read(rules)
    monkeypatch.setattr(settings, "EGRESS", read)
    monkeypatch.setattr(settings, "ENVIRONMENT", replace(settings.ENVIRONMENT, egress=read))
    finding = found(machine_checks.egress, "egress")
    assert finding.state is (State.WARNING if unknown else State.OK)
    assert finding.words.endswith(f": {unknown}" if unknown else "WHYSTOP_EGRESS")


@pytest.mark.parametrize(("days", "state"), [(1, State.OK), (8, State.WARNING)])
def test_a_backup_that_is_too_old_is_a_warning(data_dir: Path, days: int, state: State):
    (data_dir / LAST_BACKUP).write_text((datetime.now(UTC) - timedelta(days=days)).isoformat())
    assert found(machine_checks.backups, "backups").state is state


def test_a_note_of_the_last_backup_that_cannot_be_read_is_a_warning(data_dir: Path):
    (data_dir / LAST_BACKUP).write_text("yesterday\n")
    told = found(machine_checks.backups, "backups")
    assert (told.state, "manage.py backup" in told.fix) == (State.WARNING, True)


def test_a_table_that_the_user_may_not_read_is_named_with_the_right_that_is_missing():
    with database.cursor() as cursor:
        cursor.execute("CREATE ROLE server_of_a_test; SET LOCAL ROLE server_of_a_test")
    rights = found(database_checks.database, "rights")
    assert (rights.state, "turns_turn" in rights.words) == (State.ERROR, True)
    assert rights.fix.startswith("GRANT SELECT")
    queue = found(database_checks.queue, "queue")
    assert (queue.state, "GRANT" in queue.fix) == (State.ERROR, True)


def test_a_replica_that_does_not_answer_is_named_by_its_variable(monkeypatch: pytest.MonkeyPatch, closed_port: int):
    def away() -> bool:
        raise OperationalError("timeout")

    url = f"postgresql://whystop@127.0.0.1:{closed_port}/whystop"
    monkeypatch.setattr(settings, "ENVIRONMENT", replace(settings.ENVIRONMENT, replica_url=url))
    monkeypatch.setattr(database_checks.replica, "is_configured", lambda: True)
    monkeypatch.setattr(database_checks.replica, "is_replica", away)
    told = found(database_checks.read_replica, "replica")
    assert (told.state, f"does not answer at 127.0.0.1:{closed_port}" in told.words) == (State.WARNING, True)
    assert "WHYSTOP_REPLICA_URL" in told.words


@pytest.mark.parametrize(
    ("url", "who"),
    [("", "The database"), ("postgresql://whystop@db.example/whystop", "The server of DATABASE_URL")],
)
def test_a_database_that_lets_nobody_in_for_lack_of_disk_space_is_said_to_lack_it(
    monkeypatch: pytest.MonkeyPatch, url: str, who: str
):
    def full(**_: object) -> None:
        raise psycopg.OperationalError("FATAL:  could not write init file: No space left on device")

    def asked() -> Iterator[Finding]:
        raise OperationalError("couldn't get a connection after 10.00 sec") from psycopg.OperationalError("pool")
        yield

    monkeypatch.setattr(settings, "ENVIRONMENT", replace(settings.ENVIRONMENT, database_url=url))
    monkeypatch.setattr("dashboard.platform.database.psycopg.connect", full)
    (finding,) = examine((asked,))
    assert finding.words == f"Not checked: {who} has no room left on its disk: free some space there."


def test_the_table_that_is_written_is_larger_than_its_buffers():
    with transaction.atomic(), database.cursor() as cursor:
        cursor.execute(database_checks.WRITTEN)
        cursor.execute("SELECT pg_relation_size('whystop_doctor')")
        assert cursor.fetchone()[0] > 100 * 8192


def test_a_database_that_does_not_answer_is_one_error_and_the_skipped_checks_are_counted():
    def database_check() -> Iterator[Finding]:
        raise OperationalError("gone") from psycopg.OperationalError("gone")
        yield

    def clock() -> Iterator[Finding]:
        yield Finding("clock", State.OK, "exact")

    def queue() -> Iterator[Finding]:
        yield Finding("queue", State.OK, "empty")

    checks = (database_check, clock, queue)
    first, last = examine(checks, of_database=frozenset(checks))
    assert (first.name, first.state) == ("database check", State.ERROR)
    assert last.state is State.WARNING
    assert last.words == "2 checks were skipped because the database does not answer: clock, queue"


def test_a_database_that_stores_rows_is_ok_also_for_a_session_that_had_temporary_tables():
    with database.cursor() as cursor:
        cursor.execute("CREATE TEMPORARY TABLE before_it AS SELECT generate_series(1, 1000)")
    for _ in range(2):
        assert found(database_checks.database, "writes").state is State.OK


@pytest.mark.parametrize(
    ("statement", "error", "fix"),
    [
        ("SELECT 1; SET TRANSACTION READ ONLY; CREATE TABLE of_this_test ()", None, "WHYSTOP_REPLICA_URL"),
        (None, psycopg.errors.DiskFull("could not extend file"), "Free some space"),
        (None, psycopg.errors.InsufficientPrivilege("permission denied"), "GRANT TEMPORARY"),
    ],
    ids=["read-only", "disk full", "no right to temporary tables"],
)
def test_a_database_that_answers_and_stores_nothing_is_an_error(
    monkeypatch: pytest.MonkeyPatch, statement: str | None, error: psycopg.Error | None, fix: str
):
    if statement is not None:
        monkeypatch.setattr(database_checks, "WRITTEN", statement)
    else:
        monkeypatch.setattr(database_checks, "WRITTEN", "SELECT 1")
        monkeypatch.setattr(database_checks.transaction, "set_rollback", failing(error))
    finding = found(database_checks.database, "writes")
    assert (finding.state, fix in finding.fix) == (State.ERROR, True)


def failing(error: psycopg.Error | None) -> Callable[[bool], None]:
    """Raises it as Django does."""

    def raise_it(_: bool) -> None:
        raise OperationalError(str(error)) from error

    return raise_it


def test_a_failing_check_is_a_finding_and_does_not_stop_the_others():
    def broken() -> Iterator[Finding]:
        raise ValueError("no such thing")
        yield

    told = list(examine((broken, machine_checks.disk)))
    assert [one.name for one in told] == ["broken", "disk"]
    assert told[0].state is State.ERROR


def test_an_unavailable_database_is_waited_for_once():
    asked = list[str]()

    def first() -> Iterator[Finding]:
        asked.append("first")
        error = OperationalError("couldn't get a connection after 10.00 sec")
        raise error from psycopg.OperationalError("it said so")
        yield

    def second() -> Iterator[Finding]:
        asked.append("second")
        yield from ()

    def disk() -> Iterator[Finding]:
        yield Finding("disk", State.OK, "enough")

    found = list(examine((first, second, disk), of_database=frozenset({first, second})))
    assert asked == ["first"]
    assert [(one.name, one.state) for one in found] == [
        ("first", State.ERROR),
        ("disk", State.OK),
        ("skipped", State.WARNING),
    ]
    assert found[-1].words == "1 check was skipped because the database does not answer: second"


def test_keys_whose_creators_have_left_are_named():
    one = found(database_checks.gateway_keys, "gateway keys")
    assert (one.state, one.words) == (State.OK, "0 valid")
    leaver = User.objects.create_user("leaver")
    for name in ("nightly job", "agent"):
        key_create(project=selectors.project_default(), by=leaver, name=name)
    assert found(database_checks.gateway_keys, "gateway keys").words == "2 valid"
    User.objects.update(is_active=False)
    one = found(database_checks.gateway_keys, "gateway keys")
    assert (one.state, bool(one.fix)) == (State.WARNING, True)
    named = "agent in default (leaver: account deactivated), nightly job in default (leaver: account deactivated)"
    assert one.words == f"2 valid; 2 created by users who have left: {named}"
