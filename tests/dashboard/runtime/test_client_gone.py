"""A client that hangs up is worked for no longer: not by a thread, not by the database, not by an import's process."""

import socket
import threading
import time
from contextvars import copy_context
from io import BytesIO
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pytest
from django.conf import settings
from django.core.handlers.asgi import ASGIRequest
from django.core.handlers.base import BaseHandler
from django.db import connection, connections, transaction
from django.http import HttpRequest, HttpResponse

from dashboard.accounts import services
from dashboard.accounts.models import User
from dashboard.agents.current_project import current
from dashboard.ingest.turn_files import import_lock, import_runner
from dashboard.ingest.turn_files.import_runner import turn_import_apart
from dashboard.platform.disconnects import SCOPE_KEY, ClientConnection, ClientGoneError
from dashboard.platform.replica import REPLICA
from dashboard.runtime import middleware
from dashboard.runtime.middleware import NOBODY_READS
from dashboard.turns.models import Turn
from tests.dashboard.accounts.walked_routes import SERVED
from tests.dashboard.accounts.walking import ROUTES, made_world, member
from tests.dashboard.website import until, website

#: Stands in for an import that takes long.
SOON = 20  #: seconds; by itself what is under way takes three times as long
SLEEPS = "import sys, time; sys.stdin.buffer.read(); time.sleep(60)"
SLEEPING = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%%pg_sleep(60)%%' AND pid <> pg_backend_pid()"


def asked(handler: BaseHandler, path: str, cookie: str, client: ClientConnection) -> int:
    scope: dict[str, Any] = {
        "type": "http", "method": "GET", "path": path, "query_string": b"", "scheme": "http",
        "headers": [(b"host", b"testserver"), (b"cookie", f"{settings.SESSION_COOKIE_NAME}={cookie}".encode())],
        SCOPE_KEY: client,
    }  # fmt: skip
    # In a context of its own, as a server would: a stream's request leaves its project there.
    return copy_context().run(handler.get_response, ASGIRequest(scope, BytesIO(b""))).status_code


@pytest.mark.django_db
def test_no_page_or_api_call_queries_the_database_for_a_disconnected_client(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(middleware, "close_old_connections", lambda: None)  # the connection is this test's
    world = made_world()
    cookie = member("superuser", world).client.cookies[settings.SESSION_COOKIE_NAME].value
    handler, gone = BaseHandler(), ClientConnection()
    handler.load_middleware()
    gone.close()
    statements = list[str]()

    def counted(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        statements.append(sql)
        return execute(sql, params, many, context)

    worked = dict[str, int]()
    for route in (route for route in ROUTES if "GET" in SERVED.get(route, "")):
        with transaction.atomic(), connection.execute_wrapper(counted):
            statements.clear()
            asked(handler, world.address(route), cookie, gone)
            transaction.set_rollback(True)
        worked[route] = len(statements)
    assert [record.getMessage() for record in caplog.records if record.levelname == "ERROR"] == []
    assert current.get() is None, "or all tests that follow would work in a project of this one"
    #: The session, its user and the project are known before.
    assert {route: count for route, count in worked.items() if count > MOST_BEFORE} == {}


MOST_BEFORE = 5


def hang_up_after(address: str, head: bytes, body: bytes, begun: Any) -> None:
    """Send a request, and hang up once the work on it has begun."""
    place = urlsplit(address)
    with socket.create_connection((place.hostname, place.port), timeout=30) as client:
        client.sendall(head.replace(b"\n", b"\r\n") + b"\r\n" + body)
        until(begun)


@pytest.fixture
def bearer(transactional_db: None) -> bytes:
    services.one_time_code_create()
    return services.api_token_create("t", user=User.objects.get())[1].encode()


def sleeping() -> int:
    with connection.cursor() as cursor:
        cursor.execute(SLEEPING)
        return int(cursor.fetchone()[0])


def test_a_database_statement_ends_with_its_client(bearer: bytes, monkeypatch: pytest.MonkeyPatch):
    from dashboard.api import turns

    def slow(*_: object, **__: object) -> None:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_sleep(60)")

    monkeypatch.setattr(turns.selectors, "turn_get", slow)
    path = b"/api/v1/turns/00000000-0000-0000-0000-000000000001"
    head = b"GET " + path + b" HTTP/1.1\nHost: localhost\nAuthorization: Bearer " + bearer + b"\n"
    with website() as address:
        hang_up_after(address, head, b"", lambda: sleeping() == 1)
        until(lambda: sleeping() == 0, SOON)


def test_an_import_ends_with_its_client_and_nothing_is_stored(bearer: bytes, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(import_runner, "_RUN", SLEEPS)
    running = list[Any]()
    popen = import_runner.subprocess.Popen

    def opened(*args: Any, **kwargs: Any) -> Any:
        running.append(popen(*args, **kwargs))
        return running[-1]

    monkeypatch.setattr(import_runner.subprocess, "Popen", opened)
    head = b"POST /api/v1/turns/import HTTP/1.1\nHost: localhost\nContent-Type: application/json\n"
    head += b"Content-Length: 2\nAuthorization: Bearer " + bearer + b"\n"
    with website() as address:
        hang_up_after(address, head, b"{}", lambda: bool(running))
        until(lambda: running[0].poll() is not None, SOON)
    assert not Turn.objects.exists()
    with import_lock.alone(ClientConnection(), time.monotonic() + SOON):
        pass  # and the next import may begin


@pytest.mark.django_db(transaction=True)
def test_a_client_that_disconnects_while_waiting_for_an_import_stops_waiting():
    gone = ClientConnection()
    gone.close()
    with (
        import_lock.alone(ClientConnection(), time.monotonic() + SOON),
        pytest.raises(ClientGoneError),
    ):
        turn_import_apart(read=lambda: b"{}", by=None, unverified=False, client=gone)


def test_a_cancellation_runs_once_and_only_during_the_work():
    client, ended = ClientConnection(), list[str]()
    with client.ending(lambda: ended.append("before")):
        pass
    with client.ending(lambda: ended.append("within")):
        client.close()
    assert ended == ["within"]
    with pytest.raises(ClientGoneError), client.ending(lambda: None):
        pass


def test_a_write_runs_to_its_end():
    from dashboard.runtime.middleware import ClientGoneMiddleware

    gone = ClientConnection()
    gone.close()
    request = HttpRequest()
    request.method, request.path = "POST", "/agents/+new/"
    request.scope = {SCOPE_KEY: gone}  # type: ignore[attr-defined]
    assert ClientGoneMiddleware(lambda _: HttpResponse(status=200))(request).status_code != NOBODY_READS


def test_work_is_over_only_when_its_cancellation_can_no_longer_run():
    client, called, may_return = ClientConnection(), threading.Event(), threading.Event()
    left = threading.Event()

    def end() -> None:
        called.set()
        may_return.wait(10)

    def work() -> None:
        with client.ending(end):
            called.wait(10)
        left.set()

    threads = [threading.Thread(target=work)]
    threads[0].start()
    until(lambda: bool(client._ends))
    threads.append(threading.Thread(target=client.close))
    threads[1].start()
    assert called.wait(10)
    assert not left.wait(0.2)
    may_return.set()
    assert left.wait(10)
    for thread in threads:
        thread.join(10)


def test_a_pending_cancellation_does_not_run_after_the_work():
    client, called, may_return, ended = ClientConnection(), threading.Event(), threading.Event(), list[str]()

    def first() -> None:
        called.set()
        may_return.wait(10)

    with client.ending(first):
        with client.ending(lambda: ended.append("second")):
            closing = threading.Thread(target=client.close)
            closing.start()
            assert called.wait(10)
        may_return.set()
        closing.join(10)
    assert ended == []


@pytest.mark.django_db(transaction=True)
def test_the_next_statement_of_the_same_connection_is_not_cancelled(monkeypatch: pytest.MonkeyPatch):
    """The pool hands the connection to another request, whose statement may write."""
    client, another_runs = ClientConnection(), threading.Event()
    cancel = psycopg.Connection.cancel_safe

    def late(database: Any, **more: Any) -> None:
        another_runs.wait(1.0)
        cancel(database, **more)

    monkeypatch.setattr(psycopg.Connection, "cancel_safe", late)
    closing = threading.Timer(0.2, client.close)
    with connection.cursor() as cursor:
        with client.statements_end():
            closing.start()
            cursor.execute("SELECT pg_sleep(0.5)")
        threading.Timer(0.2, another_runs.set).start()
        cursor.execute("SELECT pg_sleep(1)")
        closing.join(10)
        cursor.execute("SELECT 1")


@pytest.mark.django_db(transaction=True)
def test_a_connection_with_a_pending_cancel_is_not_reused(monkeypatch: pytest.MonkeyPatch):
    client, database = ClientConnection(), list[Any]()

    def unanswered(_database: Any, **_: Any) -> None:
        raise psycopg.errors.CancellationTimeout("cancellation timeout expired")

    monkeypatch.setattr(psycopg.Connection, "cancel_safe", unanswered)
    closing = threading.Timer(0.2, client.close)
    with connection.cursor() as cursor, client.statements_end():
        database.append(connection.connection)
        closing.start()
        with pytest.raises(ClientGoneError):
            cursor.execute("SELECT pg_sleep(0.5)")
    closing.join(10)
    assert database[0].closed
    connection.close()


@pytest.mark.django_db(transaction=True)
def test_a_read_from_the_replica_ends_too(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(connections.settings, REPLICA, connection.settings_dict)
    gone = ClientConnection()
    gone.close()
    connections[REPLICA].alias = "default"  # the other may not be asked in tests
    try:
        with gone.statements_end(), connections[REPLICA].cursor() as cursor, pytest.raises(ClientGoneError):
            cursor.execute("SELECT 1")
    finally:
        connections[REPLICA].close()
        del connections[REPLICA]
