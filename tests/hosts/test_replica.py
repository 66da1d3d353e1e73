"""What may be late is read from the replica, as long as that keeps up, and from the primary otherwise."""

import time
from collections import deque
from collections.abc import Iterator

import pytest
from django.db import OperationalError, connection, connections
from django.http import HttpResponse
from django.test import RequestFactory
from django.test.utils import CaptureQueriesContext

from dashboard.agents.models import Agent, Project
from dashboard.agents.selectors import project_default
from dashboard.bench.chaos.scratch import SETTINGS, Scratch, scratch
from dashboard.bench.recorded_turns import copy_turns
from dashboard.platform import replica
from dashboard.platform.database import database_settings
from dashboard.platform.replica import REPLICA, WROTE, late, late_since_now, may_be_late, read_connection
from dashboard.policies.backtests import runner
from dashboard.policies.backtests.models import Backtest
from dashboard.runtime.operations.database_checks import read_replica
from dashboard.runtime.operations.doctor import State
from tests.dashboard.website import until
from tests.hosts.streaming_replica import StreamingReplica

pytestmark = pytest.mark.nightly

FOLLOWED = {**SETTINGS, "wal_level": "replica", "max_wal_senders": "5"}  #: of a server that a replica follows


@pytest.fixture(scope="module")
def store(django_db_setup: None, django_db_blocker, started_once) -> Iterator[Scratch]:
    with django_db_blocker.unblock(), scratch(FOLLOWED, begin=started_once) as store:
        yield store


@pytest.fixture(scope="module")
def made(store) -> Iterator[StreamingReplica]:
    made = StreamingReplica(store.share, store.folder / "replica")
    try:
        made.start()
        yield made
    finally:
        made.stop()


@pytest.fixture
def standby(made, settings, monkeypatch) -> Iterator[StreamingReplica]:
    """The replica, as `WHYSTOP_REPLICA_URL` has it."""
    settings.DATABASE_ROUTERS = ["dashboard.platform.replica.ReadRouter"]
    databases = {"default": connection.settings_dict, REPLICA: database_settings(made.url)}
    connections.settings[REPLICA] = connections.configure_settings(databases)[REPLICA]
    monkeypatch.setattr(replica, "_lag", replica._Lag())
    monkeypatch.setattr(replica, "AWAY_SECONDS", 1.0)
    made.resume()
    yield made
    connections[REPLICA].close()
    connections[REPLICA].close_pool()
    del connections[REPLICA], connections.settings[REPLICA]


def from_the_replica() -> bool:
    with read_connection().cursor() as cursor:
        cursor.execute("SELECT pg_is_in_recovery()")
        return bool(cursor.fetchone()[0])


@may_be_late
def view(_request) -> HttpResponse:
    return HttpResponse(b"replica" if from_the_replica() else b"primary")


def test_views_that_tolerate_delay_read_from_the_replica_and_all_others_from_the_primary(standby):
    assert view(RequestFactory().get("/")).content == b"replica"
    assert not from_the_replica()
    assert late(lambda: Agent.objects.all().db) == REPLICA
    assert Agent.objects.all().db == "default"


def test_a_user_reads_from_the_primary_after_a_change(standby):
    request = RequestFactory().post("/")
    response = replica.WroteMiddleware(lambda _: HttpResponse()).process_response(request, HttpResponse())
    reading = RequestFactory().get("/")
    reading.COOKIES[WROTE] = response.cookies[WROTE].value
    assert view(reading).content == b"primary"


def test_a_lagging_replica_is_not_read_until_it_has_caught_up(standby, monkeypatch):
    monkeypatch.setattr(replica, "LATEST_SECONDS", 1.0)
    assert late(from_the_replica)
    standby.pause()
    project_default().save()
    until(lambda: not late(from_the_replica))
    standby.resume()
    until(lambda: late(from_the_replica))


def test_a_replica_that_lags_at_its_first_check_is_not_read(standby):
    standby.pause()
    project_default().save()
    assert not late(from_the_replica)


def test_a_replica_that_fell_behind_between_requests_is_not_read(standby, monkeypatch):
    monkeypatch.setattr(replica, "LATEST_SECONDS", 1.0)
    assert late(from_the_replica)
    standby.pause()
    project_default().save()
    time.sleep(2.0)
    assert not late(from_the_replica)


def test_a_database_that_is_not_a_replica_is_not_read(standby, monkeypatch):
    monkeypatch.setitem(connections.settings, REPLICA, connection.settings_dict)
    connections[REPLICA].close()
    del connections[REPLICA]
    assert not replica.is_replica()
    assert not late(from_the_replica)


def test_a_slow_statement_is_not_retried_and_does_not_disable_the_replica(standby):
    asked = []

    def slow() -> None:
        asked.append(from_the_replica())
        with read_connection().cursor() as cursor:
            cursor.execute("SET statement_timeout = '100ms'; SELECT pg_sleep(5)")

    assert late(from_the_replica)
    with pytest.raises(OperationalError):
        late(slow)
    connections[REPLICA].close()
    assert asked == [True]
    assert late(from_the_replica)


def test_doctor_reports_the_state_of_the_replica(standby, monkeypatch):
    monkeypatch.setattr(replica, "LATEST_SECONDS", 1.0)
    assert [found.state for found in read_replica()] == [State.OK]
    standby.pause()
    project_default().save()
    assert [found.state for found in read_replica()] == [State.WARNING]
    standby.stop()
    assert [found.state for found in read_replica()] == [State.WARNING]
    connections[REPLICA].close()
    standby.start()


def test_a_stopped_replica_is_bypassed_and_read_again_when_it_is_back(standby):
    assert late(from_the_replica)
    standby.stop()
    assert not late(from_the_replica)
    standby.start()
    until(lambda: late(from_the_replica))


def test_data_that_must_be_present_is_waited_for_and_then_read_from_the_primary(standby, monkeypatch):
    monkeypatch.setattr(replica, "LATEST_SECONDS", 1.0)
    standby.pause()
    project_default().save()
    assert not late_since_now(from_the_replica)
    standby.resume()
    until(lambda: late_since_now(from_the_replica))


@pytest.mark.parametrize("is_paused", [False, True])
def test_a_backtest_judges_every_turn_that_had_ended_when_it_started(standby, monkeypatch, is_paused):
    monkeypatch.setattr(replica, "LATEST_SECONDS", 1.0)
    project = Project.objects.create(name=f"backtested-{is_paused}".lower())
    if is_paused:
        standby.pause()
    deque(copy_turns(project=project, turns=20), maxlen=0)
    backtest = Backtest.objects.create(project=project, policy={"limits": {"max_continuations": 1}})
    with CaptureQueriesContext(connections[REPLICA]) as asked:
        runner.run(backtest.id)
    backtest.refresh_from_db()
    assert (backtest.status, backtest.done) == (Backtest.Status.DONE, 20)
    assert any("turns_record" in query["sql"] for query in asked.captured_queries) is not is_paused
    standby.resume()
