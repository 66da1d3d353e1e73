"""Statements may take so long and no longer, by who asks; who asks for too much is told so, and not that it is away."""

import asyncio
import contextvars
import time

import pytest
from django.db import OperationalError, connection
from django.test import RequestFactory
from django.test.utils import CaptureQueriesContext

from dashboard.accounts.error_responses import server_failed
from dashboard.agents.selectors import project_default
from dashboard.api.problems import of_no_database
from dashboard.platform.db_threads import in_database, retrying
from dashboard.platform.statement_timeout import TOO_SLOW, timed, working_as
from dashboard.turns.filters import TimelineFilters
from dashboard.turns.id_range import IdRange
from dashboard.turns.turn_query import find

pytestmark = pytest.mark.django_db(transaction=True)


def allowed() -> str:
    """As the database says, on a connection that is taken anew."""
    connection.close()
    with connection.cursor() as cursor:
        cursor.execute("SHOW statement_timeout")
        (said,) = cursor.fetchone()
        return str(said)


def allowed_as(role: str) -> str:
    def ask() -> str:
        working_as(role)
        return allowed()

    return contextvars.copy_context().run(ask)


def too_slow() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SET statement_timeout = '20ms'")
        try:
            cursor.execute("SELECT pg_sleep(5)")
        finally:
            cursor.execute("SET statement_timeout = 0")


def test_each_role_has_its_timeout_even_on_a_reused_connection():
    roles = ("page", "job", "command", "page")
    assert [allowed_as(role) for role in roles] == ["30s", "5min", "0", "30s"]
    assert allowed() == "0"  # a command's


def test_the_role_is_inherited_by_database_threads():
    async def ask() -> str:
        working_as("job")
        return await in_database(allowed)

    assert asyncio.run(ask()) == "5min"


def test_requests_and_sockets_have_the_page_role():
    said: list[str] = []

    async def app(*_: object) -> None:
        said.append(await in_database(allowed))

    asyncio.run(timed(app, "page")({}, None, None))  # type: ignore[typeddict-item, arg-type]
    assert said == ["30s"]


def test_a_search_has_a_shorter_statement_timeout():
    with CaptureQueriesContext(connection) as asked:
        find(project=project_default(), filters=TimelineFilters(q="rivers"), reach=IdRange(newest_first=True), limit=9)
    assert any("SET LOCAL" in each["sql"] and "statement_timeout = 10000" in each["sql"] for each in asked)
    assert allowed() == "0"


@pytest.mark.parametrize("path", ["/", "/api/v1/turns"])
def test_a_user_whose_query_timed_out_is_told_to_narrow_it(path: str):
    try:
        too_slow()
    except OperationalError as error:
        answer = server_failed(RequestFactory().get(path))
        problem = of_no_database(RequestFactory().get(path), error)
    for each in (answer, problem):
        assert each.status_code == 503
        assert TOO_SLOW[:40] in each.content.decode()


def test_a_timed_out_query_is_not_retried_endlessly():
    began = time.monotonic()
    with pytest.raises(OperationalError):
        asyncio.run(retrying(too_slow))
    assert time.monotonic() - began < 10
