"""Who changes the audit log with all the rights a database gives is noticed, and the row named."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from threading import Event, Thread
from typing import Any
from uuid import UUID

import pytest
from django.core.management import call_command
from django.db import connection, transaction
from django.utils import timezone

from dashboard.accounts.audit.models import Entry
from dashboard.platform.ids import first_id_at
from dashboard.turns.seals import audit_seals, keys
from dashboard.turns.seals.audit_seals import COLUMNS, audit_check, audit_seal_make
from dashboard.turns.seals.models import AuditSeal
from dashboard.turns.seals.services import sweep

pytestmark = pytest.mark.django_db(transaction=True)

NOW = timezone.now()


@pytest.fixture(autouse=True)
def now(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of each test anew: a row of a minute ago, counted from the import, may be old enough for a seal by now."""
    monkeypatch.setitem(globals(), "NOW", timezone.now())


def done(ago: timedelta, action: str = "policies") -> Entry:
    at = NOW - ago
    return Entry.objects.create(
        id=UUID(int=first_id_at(at).int + Entry.objects.count()),
        began_at=at, at=at, by="someone", via="session", address="10.0.0.1", method="POST", action=action,
        target=f"/{action}/", status=302, project_id=UUID(int=1),
    )  # fmt: skip


@pytest.fixture
def rows() -> list[Entry]:
    """Two seals of two rows each, and a row that is not sealed yet."""
    made = [done(timedelta(hours=hours)) for hours in (9, 8)]
    seal_make(timedelta(hours=7))
    made += [done(timedelta(hours=hours)) for hours in (6, 5)]
    seal_make(timedelta(hours=4))
    return [*made, done(timedelta(minutes=1))]


def seal_make(ago: timedelta) -> AuditSeal:
    made = audit_seal_make(now=NOW - ago)
    assert made is not None
    return made


def as_superuser(sql: str, *values: Any) -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = 'replica'")
        cursor.execute(sql, values)
        assert cursor.rowcount


def forged(ago: timedelta) -> Entry:
    """Added without the triggers."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = 'replica'")
        return done(ago)


def faults() -> Iterator[str]:
    return (f"{place}: {words}" for place, words in audit_check(NOW).faults)


def test_unchanged_data_has_no_faults(rows: list[Entry]) -> None:
    checked = audit_check(NOW)
    assert (checked.faults, checked.seals, checked.rows, checked.unsealed) == ([], 2, 4, 1)


CHANGES = {
    "began_at": "now() - interval '10 hours'", "at": "at - interval '1 second'", "by": "'another'", "via": "'command'",
    "address": "''", "method": "'GET'", "action": "'sign-in'", "target": "'/'", "status": "403", "led_to": "'/x'",
    "project_id": "NULL", "id": "'018f0000-0000-7000-8000-000000000000'",
}  # fmt: skip


def test_every_column_is_sealed() -> None:
    assert {column.column for column in Entry._meta.concrete_fields} == set(COLUMNS) == CHANGES.keys()


@pytest.mark.parametrize("column", CHANGES)
@pytest.mark.parametrize("which", [0, 3])
def test_a_changed_row_is_named(rows: list[Entry], column: str, which: int) -> None:
    as_superuser(f"UPDATE audit_entry SET {column} = {CHANGES[column]} WHERE id = %s", rows[which].id)
    assert any(told.startswith(f"audit row {rows[which].id}: ") for told in faults())


@pytest.mark.parametrize("which", range(4))
def test_a_removed_row_is_named(rows: list[Entry], which: int) -> None:
    as_superuser("DELETE FROM audit_entry WHERE id = %s", rows[which].id)
    assert f"audit row {rows[which].id}: It was removed" in "".join(faults())


@pytest.mark.parametrize("at", [timedelta(hours=20), timedelta(hours=7, minutes=30), timedelta(hours=4, minutes=30)])
def test_a_row_inserted_among_sealed_ones_is_named(rows: list[Entry], at: timedelta) -> None:
    added = forged(at)
    assert f"audit row {added.id}: It was added" in "".join(faults())


@pytest.mark.parametrize("time_of_id", [timedelta(days=400), -timedelta(days=400)])
def test_a_row_with_an_id_of_another_time_is_detected(rows: list[Entry], time_of_id: timedelta) -> None:
    added = forged(timedelta(hours=5))
    as_superuser("UPDATE audit_entry SET id = %s WHERE id = %s", moved := first_id_at(NOW - time_of_id), added.id)
    assert f"audit row {moved}: It was added" in "".join(faults())


def test_a_row_moved_to_another_time_is_detected(rows: list[Entry]) -> None:
    as_superuser("UPDATE audit_entry SET at = now() + interval '9 years' WHERE id = %s", rows[4].id)
    assert "audit log: It contains entries dated in the future." in "".join(faults())


@pytest.mark.parametrize("gone", [[1], [2], [1, 2]])
def test_removed_seals_are_detected_even_after_others_were_made(rows: list[Entry], gone: list[int]) -> None:
    as_superuser("DELETE FROM audit_entry WHERE id = %s", rows[3].id)
    AuditSeal.objects.filter(number__in=gone).delete()
    assert "audit seal" in "".join(faults())
    seal_make(timedelta())
    seal_make(timedelta())
    assert "audit seal" in "".join(faults())


@pytest.mark.parametrize(
    "change", ["members = ''", "until = now()", "since = now()", "previous = 'x'", "digest = 'x'", "signature = 'é'"]
)
@pytest.mark.parametrize("number", [1, 2])
def test_a_changed_seal_is_named(rows: list[Entry], change: str, number: int) -> None:
    as_superuser(f"UPDATE sealing_auditseal SET {change} WHERE number = %s", number)
    assert any(told.startswith(f"audit seal {number}: ") for told in faults())


def test_a_seal_signed_by_another_key_is_ignored(rows: list[Entry], data_dir: Path) -> None:
    (data_dir / keys.KEY_FILE).unlink()
    assert "Its signature is not this installation's" in "".join(faults())


def test_signatures_of_a_rotated_key_stay_valid(rows: list[Entry]) -> None:
    keys.rotate()
    assert not list(faults())


def test_many_rows_are_sealed_by_several_seals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit_seals, "MOST_ROWS", 3)
    for minutes in (500, 490, 480, 480, 470, 460):
        done(timedelta(minutes=minutes))
    numbers = [seal_make(timedelta(hours=1)).number for _ in range(3)]
    checked = audit_check(NOW)
    assert (numbers, checked.faults, checked.rows, checked.unsealed) == ([1, 2, 3], [], 6, 0)


def test_seals_are_made_hourly_where_something_happened_and_once_a_day() -> None:
    sweep()
    assert AuditSeal.objects.count() == 1
    sweep()
    assert AuditSeal.objects.count() == 1
    assert not audit_seals.sweep(later := timezone.now() + timedelta(hours=2))
    done(timedelta(minutes=20))
    assert audit_seals.sweep(later)
    assert not audit_seals.sweep(later + timedelta(hours=23))
    assert audit_seals.sweep(later + timedelta(hours=25))


def test_the_command_names_the_changed_data(rows: list[Entry], capsys: pytest.CaptureFixture[str]) -> None:
    call_command("verify", "--seal", "--all")
    told = capsys.readouterr().out
    assert "Audit log: 4 entries sealed by 3 seals, 1 not sealed yet." in told
    assert "Verified: nothing was changed." in told
    as_superuser("UPDATE audit_entry SET by = 'another' WHERE id = %s", rows[1].id)
    with pytest.raises(SystemExit):
        call_command("verify", "--all")
    assert f"audit row {rows[1].id}: It was changed after audit seal 1." in capsys.readouterr().out


@pytest.mark.parametrize("seals", [0, 3])
def test_checking_many_seals_takes_a_constant_number_of_statements(
    django_assert_max_num_queries: Any, rows: list[Entry], seals: int
) -> None:
    for hours in range(seals):
        seal_make(timedelta(hours=3 - hours))
    with django_assert_max_num_queries(5):
        audit_check(datetime.now(NOW.tzinfo))


def test_rows_between_two_seals_with_a_gap_are_detected(rows: list[Entry]) -> None:
    as_superuser("DELETE FROM sealing_auditseal WHERE number = 1")
    assert "audit log: It contains entries that no seal of that period lists." in list(faults())


def test_rows_of_honest_writers_are_never_named_whatever_their_clocks(rows: list[Entry]) -> None:
    """A writer that is hours behind, one that is hours ahead, and those after a seal of a host that was ahead."""
    behind, ahead = done(timedelta(hours=20)), done(-timedelta(hours=20))
    assert not list(faults())
    made = audit_seal_make(now=NOW + timedelta(hours=2))
    assert made is not None
    assert made.until < timezone.now()
    done(timedelta())
    assert not list(faults())
    behind.refresh_from_db()
    ahead.refresh_from_db()
    assert (behind.at > NOW - timedelta(hours=5), ahead.at <= timezone.now()) == (True, True)


def test_no_row_is_named_after_a_seal_of_a_database_clock_that_was_ahead(
    rows: list[Entry], monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as ahead:
        ahead.setattr(audit_seals, "_clock_of_database", lambda: NOW + timedelta(hours=2))
        assert audit_seal_make(now=NOW + timedelta(hours=2)) is not None
    done(timedelta())
    done(timedelta(hours=3))
    assert not list(faults())


def test_no_seal_is_made_while_a_row_is_being_written(rows: list[Entry]) -> None:
    """It may be paused there for longer than any margin, and its row is of the time before the seal."""
    writes, goes_on = Event(), Event()

    def paused() -> None:
        try:
            with transaction.atomic():
                done(timedelta(hours=3))
                writes.set()
                goes_on.wait(30)
        finally:
            connection.close()

    writer = Thread(target=paused)
    writer.start()
    assert writes.wait(30)
    made = audit_seal_make(now=NOW)
    goes_on.set()
    writer.join()
    assert made is None
    assert not list(faults())
    assert audit_seal_make(now=NOW) is not None
    assert not list(faults())


def test_a_row_written_while_a_seal_is_made_comes_after_it(rows: list[Entry], monkeypatch: pytest.MonkeyPatch) -> None:
    sign, written = keys.sign, Event()

    def late() -> None:
        try:
            done(timedelta(hours=3))
            written.set()
        finally:
            connection.close()

    writer = Thread(target=late)

    def signed(message: bytes) -> str:
        writer.start()
        assert not written.wait(0.5)
        return sign(message)

    monkeypatch.setattr(keys, "sign", signed)
    made = seal_make(timedelta())
    writer.join()
    assert Entry.objects.filter(at__gt=made.until).count() == 2
    assert not list(faults())


def test_many_rows_of_one_instant_do_not_prevent_sealing_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit_seals, "MOST_ROWS", 2)
    for minutes in (480, 480, 480, 480, 470):
        done(timedelta(minutes=minutes))
    for _ in range(2):
        seal_make(timedelta(hours=1))
    checked = audit_check(NOW)
    assert (checked.faults, checked.rows, checked.unsealed) == ([], 5, 0)


def test_one_sweep_makes_several_seals_where_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit_seals, "MOST_ROWS", 3)
    for minutes in range(400, 410):
        done(timedelta(minutes=minutes))
    audit_seals.sweep(timezone.now())
    assert (AuditSeal.objects.count(), audit_check(NOW).unsealed) == (4, 0)


def test_a_sweep_out_of_time_leaves_the_rest_to_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit_seals, "MOST_ROWS", 3)
    monkeypatch.setattr(audit_seals, "BUDGET_SECONDS", -1)
    for minutes in range(400, 410):
        done(timedelta(minutes=minutes))
    for _ in range(6):
        audit_seals.sweep(timezone.now())
    assert (AuditSeal.objects.count(), audit_check(NOW).unsealed) == (4, 0)
