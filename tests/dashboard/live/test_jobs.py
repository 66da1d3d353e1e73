"""A job that changes hands gets a new id, so that its old worker has no say in it any more."""

import json
from uuid import uuid4

import pytest
from django.db import connection

from dashboard.live.jobs import QUEUE, defer_drive, job_is_ours, job_renew, jobs_done_by, jobs_take_back
from dashboard.live.tasks import QUEUES

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("empty_queue")]

LONG = 3600.0  #: seconds ago


def sql(query: str, *given: object) -> list[tuple]:
    with connection.cursor() as cursor:
        cursor.execute(query, given)
        return list(cursor.fetchall()) if cursor.description else []


def worker(silent: float = 0.0) -> int:
    """A worker that was heard of `silent` seconds ago."""
    query = "INSERT INTO procrastinate_workers (last_heartbeat) VALUES (now() - %s * interval '1 s') RETURNING id"
    return sql(query, silent)[0][0]


def taken(by: int, queue: str = QUEUE) -> tuple[int, str]:
    """The id and lock of a job that this worker is doing."""
    turn = uuid4()
    defer_drive(turn, queue)
    return fetched(by, queue)[0], str(turn)


def fetched(by: int, queue: str = QUEUE) -> tuple:
    return sql("SELECT id, lock, args FROM procrastinate_fetch_job_v2(%s::varchar[], %s)", [queue], by)[0]


def waiting() -> list[tuple]:
    return sql("SELECT lock, queue_name, scheduled_at > now() + interval '1 s' FROM procrastinate_jobs ORDER BY id")


def take_back(own: int | None = None, lost: tuple[int, ...] = (), gone: float = 4.0) -> list[str | None]:
    back = jobs_take_back(own=own, lost=lost, gone_seconds=gone, queues=QUEUES, queue=QUEUE)
    return [lock for _, lock in back]


@pytest.fixture
def long_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the server had been up for long: sessions of this suite may have started it a moment ago."""
    from dashboard.live import jobs

    monkeypatch.setattr(jobs, "STALLED", jobs.STALLED.replace("pg_postmaster_start_time()", "'-infinity'::timestamptz"))


@pytest.mark.parametrize(("silent", "ours", "lost", "back"), [
    (0.0, False, False, False),
    (LONG, False, False, True),
    (LONG, True, False, False),
    (0.0, True, True, True),
])  # fmt: skip
def test_jobs_are_taken_from_dead_workers_and_from_drivers_that_lost_them(long_up, silent, ours, lost, back):
    by = worker(silent)
    job, turn = taken(by)
    assert jobs_done_by(by) == {job}
    assert take_back(own=by if ours else None, lost=(job,) if lost else ()) == [turn] * back
    assert (fetched(worker())[1] == turn) is back
    assert job_is_ours(job) is not back


def test_a_worker_declared_dead_is_gone(long_up):
    _, turn = taken(by := worker())
    sql("DELETE FROM procrastinate_workers WHERE id = %s", by)
    assert take_back() == [turn]


def test_a_restarted_server_declares_nobody_dead():
    taken(worker(silent=LONG))
    assert take_back(gone=10 * 365 * 24 * LONG) == []


def test_a_reclaimed_job_cannot_be_ended_by_its_old_worker(long_up):
    job, turn = taken(worker(LONG))
    take_back()
    renewed = fetched(worker())
    assert (renewed[0] != job, renewed[1]) == (True, turn)
    assert not job_renew(job, queues=QUEUES, queue=QUEUE)
    with pytest.raises(Exception, match="Job was not found"):
        sql("SELECT procrastinate_finish_job_v1(%s, 'succeeded', true)", job)
    assert job_is_ours(renewed[0])


def test_a_turn_queued_by_a_person_in_the_meantime_is_still_reclaimed(long_up):
    _, turn = taken(worker(LONG))
    defer_drive(turn)
    _, other = taken(worker(LONG), QUEUE)
    assert sorted(take_back()) == sorted([turn, other])
    assert sorted(row[0] for row in waiting()) == sorted([turn, other])


def test_a_turn_of_a_closed_terminal_goes_to_the_shared_queue(long_up):
    _, turn = taken(worker(LONG), "a-terminal")
    take_back()
    assert waiting() == [(turn, QUEUE, False)]


def test_a_failed_job_waits_with_its_failure_count_until_requested():
    job, turn = taken(worker())
    assert job_renew(job, queues=QUEUES, queue=QUEUE, delay=60.0, args={"failures": 3})
    assert waiting() == [(turn, QUEUE, True)]
    defer_drive(turn)
    _, lock, args = fetched(worker())
    assert (lock, json.loads(args)) == (turn, {"turn_id": turn, "failures": 3})
