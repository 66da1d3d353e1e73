"""Two projects with one of everything each: nothing of one is read or changed by the members of the other.

Every route is asked, by every method, for what it names in the other project; every page and list is searched for what
the other project has. A new route is among them by itself, and so is a new table that names a project or a turn.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import product
from urllib.parse import urlencode

import pytest
from django.db import connection
from django.http import HttpResponse, StreamingHttpResponse

from dashboard.accounts.roles import SAFE_METHODS, shows_all_projects
from dashboard.agents.models import Project
from dashboard.agents.selectors import project_default
from dashboard.exports.share_links.views import WRONG_TOKENS
from tests.dashboard.accounts.walked_routes import SERVED
from tests.dashboard.accounts.walking import MEMBERS, NAME, ROUTES, Caller, World, made_world, member
from tests.nightly import nightly

pytestmark = pytest.mark.django_db
CALLED, SECRET = "zebra-9f3", "quagga7c1"  #: what things of the other project are called, and what they say
#: Each way in is asked by and each project looked at from before each change; every caller at either at night. Admins
#: read what the others do, and they alone ask for changes.
BEFORE_EACH_CHANGE = {("from default", "admin's token"), ("into default", "admin")}
FROM = ("from default", "into default")
WHO = tuple(pair if pair in BEFORE_EACH_CHANGE else nightly(*pair) for pair in product(FROM, MEMBERS))
#: What lets everybody in who has the link, and what belongs to all projects: superusers read that (`roles`).
CHANGING = ("admin", "admin's token")
ANYBODYS = ("docs/", "api/v1/docs", "admin/")  #: pages that name no thing of a project
OPEN = ("share/", "^share", "healthz")
ENDS = {"sign-out/"}  #: the session
#: Read in another thread, which sees no row of this test's; `test_walk_live` reads them.
STREAMS = {"api/v1/turns/<turn_id>/events", "api/v1/turns/export"}
#: By what names things are given in addresses and forms: each is given what the other project has.
GIVEN = {
    "turn_id": ("turn", "turns", "left", "right", "run", "rerun", "parent", "turn_id", "id", "newest", "oldest"),
    "conversation_id": ("conversation", "conversation_id"),
    "backtest_id": ("backtest", "backtest_id"),
    "policy_id": ("policy_id",),
    "version_id": ("version", "version_id", "start", "from"),
    "view_id": ("view", "view_id"),
    "key_id": ("key_id",),
    "name": ("agent", "connection", "policy", "name", "tag", "key", "stands_for", "default_connection"),
}  # fmt: skip


@dataclass(frozen=True)
class Two:
    """The caller's project and the other one."""

    own: World
    other: World


@pytest.fixture
def two(request: pytest.FixtureRequest, no_file_is_read: None) -> Two:
    """A project that is not `default` beside the one that is, looked at from either."""
    WRONG_TOKENS.forget("127.0.0.1")
    beside = Project.objects.create(name="beside")
    first, second = (project_default(), beside) if request.param == "from default" else (beside, project_default())
    return Two(made_world(first, name=NAME), made_world(second, name=CALLED, said=SECRET))


def asked(caller: Caller) -> list[tuple[str, str]]:
    """Each route and method; what only lists comes first, before anything of the other project has been sent."""
    pairs = [(route, method) for route in ROUTES if _is_asked(caller, route) for method in _methods(caller, route)]
    return sorted(pairs, key=lambda pair: not _lists(*pair))


def _is_asked(caller: Caller, route: str) -> bool:
    across = caller.name.startswith("superuser") and shows_all_projects(route)
    return not (route.startswith(OPEN) or route in ENDS or across)


def _methods(caller: Caller, route: str) -> list[str]:
    """Only admins ask for changes: what they may not do to another project, nobody else of theirs may."""
    served = [method for method in SERVED.get(route, "GET POST").split() if method not in {"HEAD", "OPTIONS"}]
    if route in STREAMS:
        served.remove("GET")
    return served if caller.name in CHANGING else [method for method in served if method in SAFE_METHODS]


def _lists(route: str, method: str) -> bool:
    return method in SAFE_METHODS and not _names(route)


def _names(route: str) -> bool:
    return "<" in route


def body_of(answer: HttpResponse) -> str:
    if isinstance(answer, StreamingHttpResponse):
        return "" if answer.is_async else b"".join(answer.streaming_content).decode(errors="replace")
    return str(answer.headers) + answer.content.decode(errors="replace")


def given(world: World) -> dict[str, str]:
    return {name: world.ids[kind] for kind, names in GIVEN.items() for name in names}


def found_in(text: str, *, world: World, echoed: bool) -> list[str]:
    """What of a project stands in a text. `echoed`: its ids and names were sent, and may stand there again."""
    ids = [] if echoed else [one for one in world.ids.values() if len(one) > 20]
    return [mark for mark in (SECRET, f"m-{CALLED}", *([] if echoed else [CALLED]), *ids) if mark in text]


def rows_of(world: World) -> dict[str, tuple[int, str]]:
    """How many rows each table has that name the project or something in it, and a digest of them."""
    ids = [str(world.project.pk), *(one for one in world.ids.values() if len(one) > 20)]
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT relname FROM pg_class WHERE relkind IN ('r', 'p') AND NOT relispartition"
            " AND relnamespace = 'public'::regnamespace AND relname NOT IN ('django_session', 'accounts_apitoken')"
        )
        one = (
            "SELECT '{0}', count(*), coalesce(md5(string_agg(told::text, '' ORDER BY told::text)), '')"
            " FROM (SELECT to_jsonb(t) AS told FROM {0} t) each"
            " WHERE EXISTS (SELECT FROM jsonb_each_text(told) v WHERE v.value = ANY(%(ids)s))"
        )
        cursor.execute(" UNION ALL ".join(one.format(name) for (name,) in cursor.fetchall()), {"ids": ids})
        return {name: (count, digest) for name, count, digest in cursor.fetchall()}


@dataclass(frozen=True)
class Way:
    """One way to ask. `told`: the ids and names of the other project are sent, and may stand in the answer."""

    place: str
    body: bytes
    kind: str
    told: bool


def bare(route: str, method: str, two: Two) -> Way:
    """By what the route names in the other project, and nothing else."""
    names = _names(route)
    address = two.other.address(route) if names else "/" + route
    return Way(address, b"" if method in SAFE_METHODS else b"{}", "application/json", names)


def laden(route: str, method: str, two: Two) -> Iterator[Way]:
    """The same, and what the route names in one's own project, with all that is there named beside it."""
    query, address = urlencode(given(two.other)), bare(route, method, two).place
    for place in dict.fromkeys((address, two.own.address(route) if _names(route) else address)):
        if method in SAFE_METHODS:
            yield Way(f"{place}?{query}", b"", "application/json", True)
        else:
            yield Way(place, query.encode(), "application/x-www-form-urlencoded", True)


def told_by(caller: Caller, two: Two, way: Way, method: str) -> tuple[int, list[str]]:
    """The status, and what of the other project stands in the answer."""
    answer = caller.client.generic(method, way.place, way.body, content_type=way.kind)
    return answer.status_code, found_in(body_of(answer), world=two.other, echoed=way.told)


@contextmanager
def unchanged(world: World) -> Iterator[None]:
    before = rows_of(world)
    yield
    assert {name for name, rows in rows_of(world).items() if rows != before.get(name)} == set()


@pytest.mark.parametrize(("two", "who"), WHO, indirect=["two"])
def test_members_of_one_project_read_and_change_nothing_of_another(two: Two, who: str):
    caller, wrong = member(who, two.own), list[str]()
    with unchanged(two.other):
        for route, method in asked(caller):
            status, found = told_by(caller, two, bare(route, method, two), method)
            if found or (_names(route) and status < 300 and not route.startswith(ANYBODYS)):
                wrong.append(f"{method} {route}: {status} tells {found}")
    assert wrong == []


@pytest.mark.parametrize(
    ("two", "who"),
    [
        ("into default", "admin"),
        nightly("from default", "admin's token"),
        nightly("from default", "admin"),
        nightly("into default", "admin's token"),
    ],
    indirect=["two"],
)
def test_responses_name_nothing_of_another_project(two: Two, who: str):
    caller, wrong = member(who, two.own), list[str]()
    with unchanged(two.other):
        for route, method in asked(caller):
            for way in laden(route, method, two):
                status, found = told_by(caller, two, way, method)
                if found:
                    wrong.append(f"{method} {route} ({way.place[:70]}): {status} tells {found}")
    assert wrong == []
