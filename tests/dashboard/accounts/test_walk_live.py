"""Everybody, at a turn's events and at the gateway, which the walk over the URLconf (`test_walk`) does not reach."""

import asyncio
from typing import Any

import pytest
from channels.db import aclose_old_connections, database_sync_to_async
from channels.testing import ApplicationCommunicator
from django.conf import settings
from django.db import connection, transaction

from dashboard.accounts.roles import START
from dashboard.asgi import application
from dashboard.gateway import app
from dashboard.gateway.serving.uploads import UPLOADED
from dashboard.gateway.wire.relay_routes import _ROUTES, RELAYED
from tests.dashboard.accounts.walking import MEMBERS, STRANGERS, Caller, World, made_world, member, stranger

pytestmark = pytest.mark.django_db(transaction=True)
#: Of the gateway and of streams, which Django's URLconf does not name, or its test client cannot read.
GATEWAY = (
    ("POST", "/v1/chat/completions"), ("GET", "/v1/chat/completions"), ("GET", "/v1/models"), ("GET", "/v1/models/x"),
    ("POST", "/v1/embeddings"), ("DELETE", "/v1/models/x"), ("POST", "/v1/traces"),
)  # fmt: skip
#: How each of them is answered: to who may call, `{}` lacks a model, twice, and is an export without spans.
SHUT = (401,) * len(GATEWAY)
SERVED = (400, 405, 200, 404, 400, 405, 200)
OF_A_WATCHERS_TOKEN = (403,) * len(GATEWAY)
DIALECTS = ("/v1/chat/completions", "/v1/messages", "/v1/responses")
#: Tables that may have other rows afterwards: a session that is worth nothing any more is let go, one used is noted.
WRITTEN_BY_COMING_IN = {"accounts_apitoken", "django_session", "suggesting_toldsuggestion"}


@pytest.fixture
def world() -> World:
    return made_world()


def headers_of(caller: Caller) -> list[tuple[bytes, bytes]]:
    """What its program or browser sends, from a page of this very origin."""
    headers = [(b"host", b"testserver"), (b"origin", b"http://testserver")]
    if caller.bears:
        headers.append((b"authorization", caller.client.defaults["HTTP_AUTHORIZATION"].encode()))
    elif cookie := caller.client.cookies.get(settings.SESSION_COOKIE_NAME):
        headers.append((b"cookie", f"{settings.SESSION_COOKIE_NAME}={cookie.value}".encode()))
    return headers


def callers(world: World) -> list[Caller]:
    """Everybody."""
    made = [stranger(name, world) for name in STRANGERS]
    return made + [member(name, world) for name in MEMBERS]


def rows() -> dict[str, int]:
    """How many rows each table has."""
    tables = sorted(connection.introspection.django_table_names(only_existing=True, include_views=False))
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(" UNION ALL ".join(f"SELECT '{table}', count(*) FROM \"{table}\"" for table in tables))
        return {table: count for table, count in cursor.fetchall() if table not in WRITTEN_BY_COMING_IN}


async def answered(caller: Caller, method: str, path: str) -> int:
    """The status that the whole application answers with."""
    headers = [*headers_of(caller), (b"content-type", b"application/json"), (b"content-length", b"2")]
    scope: dict[str, Any] = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": method, "path": path,
        "raw_path": path.encode(), "query_string": b"", "headers": headers, "client": ("127.0.0.1", 1),
        "server": ("testserver", 80), "scheme": "http",
    }  # fmt: skip
    talk = ApplicationCommunicator(application, scope)
    await talk.send_input({"type": "http.request", "body": b"{}"})
    status = (await talk.receive_output(60))["status"]
    await talk.send_input({"type": "http.disconnect"})
    await asyncio.wait_for(talk.wait(60), 60)
    await aclose_old_connections()
    return int(status)


async def test_only_members_read_events(world: World):
    everybody = await database_sync_to_async(callers)(world)
    before = await database_sync_to_async(rows)()
    path = world.address("api/v1/turns/<turn_id>/events")
    found = {caller.name: await answered(caller, "GET", path) for caller in everybody}
    assert found == {caller.name: 200 if caller.known else 401 for caller in everybody}
    assert await database_sync_to_async(rows)() == before


def by_the_gateway(caller: Caller) -> tuple[int, ...]:
    """How somebody is answered there."""
    if caller.name == "gateway key":
        return SERVED
    if not caller.known or not caller.bears:  # the gateway knows no sessions
        return SHUT
    return SERVED if caller.may(START) else OF_A_WATCHERS_TOKEN


async def test_only_its_keys_and_operator_tokens_open_the_gateway(world: World):
    everybody = await database_sync_to_async(callers)(world)
    before = await database_sync_to_async(rows)()
    try:
        for caller in everybody:
            found = tuple([await answered(caller, method, path) for method, path in GATEWAY])
            assert found == await database_sync_to_async(by_the_gateway)(caller), caller.name
    finally:
        await app.close()
    assert await database_sync_to_async(rows)() == before


#: Every address that the gateway and the ingest serve, with what stands for an id or a model.
ADDRESSES = (
    *(("POST", path) for path in DIALECTS),
    *(("POST", path) for path in RELAYED),
    *((method, address.replace("{id}", "file-x")) for address, _, methods in _ROUTES for method in methods),
    *(("POST", path) for path in sorted(UPLOADED)),
    *(("POST", f"/v1beta/models/m:{method}") for method in ("generateContent", "streamGenerateContent", "countTokens")),
    ("GET", "/v1/models"), ("GET", "/v1/models/m"), ("GET", "/v1beta/models"), ("GET", "/v1/responses/resp_x"),
    ("DELETE", "/v1/responses/resp_x"), ("POST", "/v1/responses/resp_x/cancel"),
    ("GET", "/v1/responses/resp_x/input_items"), ("POST", "/v1/traces"), ("POST", "/v1/logs"),
)  # fmt: skip


async def test_an_unknown_caller_gets_nothing_at_any_gateway_url(world: World):
    everybody = [one for one in await database_sync_to_async(callers)(world) if one.name != "gateway key"]
    may = {one.name: await database_sync_to_async(one.may)(START) and one.bears for one in everybody}
    before = await database_sync_to_async(rows)()
    wrong = []
    try:
        for caller in everybody:
            if may[caller.name]:
                continue
            right = 403 if caller.known and caller.bears else 401
            for method, path in ADDRESSES:
                if (status := await answered(caller, method, path)) != right:
                    wrong.append((caller.name, method, path, status))
    finally:
        await app.close()
    assert wrong == []
    assert await database_sync_to_async(rows)() == before
