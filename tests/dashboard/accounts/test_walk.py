"""Everybody, at every address, by every method: who is refused changes nothing, and reading changes nothing either.

What is looked at is not how many rows a table has, but whether any row of it was inserted, changed or deleted, also
where that was undone again (`Touched`).
"""

from collections import defaultdict
from collections.abc import Iterator

import pytest

from dashboard.accounts.access import AccessForm, access_form_of
from dashboard.accounts.roles import ELSEWHERE, SAFE_METHODS, needed, needs_session
from dashboard.exports.share_links.views import WRONG_TOKENS
from tests.dashboard.accounts.walked_routes import ANY as EVERY
from tests.dashboard.accounts.walked_routes import READ, SERVED
from tests.dashboard.accounts.walking import (
    MEMBERS,
    ROUTES,
    STRANGERS,
    Caller,
    Touched,
    World,
    made_world,
    member,
    stranger,
)
from tests.nightly import nightly

pytestmark = pytest.mark.django_db
#: How strangers are answered: by the door of an address, and whether they only read and bear nothing in their headers.
OF_STRANGERS = {
    (AccessForm.OPEN, True): {200, 405},
    (AccessForm.OPEN, False): {200, 405},
    (AccessForm.SIGN_IN, True): {200, 405},
    (AccessForm.SIGN_IN, False): {200, 400, 401, 405, 429},
    (AccessForm.SHARED, True): {200, 404, 429},
    (AccessForm.SHARED, False): {200, 404, 429},
    (AccessForm.PROBLEM, True): {401},
    (AccessForm.PROBLEM, False): {401},
    (AccessForm.PAGE, True): {302},
    (AccessForm.PAGE, False): {401},
}
#: The steps after the sign-in page, to whom was not led there.
OF_FURTHER_STEPS = {302, 404}
#: Django's admin, to those it does not know as staff: its own sign-in, or none of its business.
OF_NO_STAFF = {302, 403, 404}
OF_STAFF = {200, 302, 403, 404, 405}
#: What a safe method may write, and why.
WRITTEN_BY_READING = {
    "accounts_apitoken": "when a token was last used, once a minute",
    "sharing_sharelink": "when a link was last used, and how often",
    "django_session": "a session that is worth nothing any more is let go",
    "suggesting_toldsuggestion": "which limit a page suggested, for the track record",
}
#: Pages that take long to make, and who reads them for all.
HEAVY = {
    "", "api/v1/openapi.json", "backtests/limits/map/", "timeline/facets", "turns/<uuid:turn_id>/",
    "turns/<uuid:turn_id>/operate/", "turns/<uuid:turn_id>/replay/", "turns/<uuid:turn_id>/replay/sweep/",
}  # fmt: skip
ASKING_EVERYTHING = {"anonymous", "share link's visitor"}
READERS_OF_THE_HEAVY = {"watcher", "superuser"}  #: who may the least, and who may all
#: Of members, who asks for what nobody is served: a view that took such a method would take it from these. To the
#: others it is refused before any view, as what is served is.
ASKING_UNSERVED = {"superuser", "superuser's token"}
#: Each role that may be refused something is asked by its other way in before each change.
AT_NIGHT = {"superuser", "superuser's token", "nothing", "operator's token", "admin's token", "watcher's token"}
#: Read in another thread, which sees no row of this test's.
STREAMS = {"api/v1/turns/<turn_id>/events", "api/v1/turns/export"}


@pytest.fixture
def world(no_file_is_read: None) -> World:
    WRONG_TOKENS.forget("127.0.0.1")
    return made_world()


def asked(caller: Caller) -> Iterator[tuple[str, str]]:
    """Each route and method that this caller asks for; what one leaves out another asks for in its place."""
    for route in ROUTES:
        for method in _methods(caller, route).split():
            if route in STREAMS and method in READ and caller.known:
                continue
            if route in HEAVY and method in READ and caller.known and caller.name not in READERS_OF_THE_HEAVY:
                continue
            unserved = not route.startswith(ELSEWHERE) and method not in SERVED[route].split()
            if caller.known and unserved and caller.name not in ASKING_UNSERVED:
                continue
            yield route, method


def _methods(caller: Caller, route: str) -> str:
    """Pages and the admin run the same view for GET and HEAD, and look at no other method before they look who asks:
    so of a role's two ways in, by browser and by token, each asks by some."""
    if not caller.known:
        return EVERY if caller.name in ASKING_EVERYTHING else "GET POST"
    if route.startswith(ELSEWHERE):
        return "DELETE" if caller.bears else "GET POST"
    if route.startswith("api/"):
        return "GET POST PATCH DELETE" if caller.bears else "GET HEAD OPTIONS POST PUT"
    return "HEAD POST PATCH DELETE" if caller.bears else "GET OPTIONS POST PUT"


def allowed(caller: Caller, route: str, method: str) -> set[int]:
    """The statuses that are right."""
    door = access_form_of("/" + route.lstrip("^").replace("(", "/"))
    if not caller.known:
        right = OF_STRANGERS[door, method in {"GET", "HEAD"} and not caller.bears]
        return right | OF_FURTHER_STEPS if door is AccessForm.SIGN_IN and route != "sign-in/" else right
    if caller.bears and needs_session(method, route):
        return {403}
    if route.startswith(ELSEWHERE):
        if route == "admin/login/":
            return OF_STAFF
        return OF_STAFF if caller.user is not None and caller.user.is_staff else OF_NO_STAFF
    if door is AccessForm.PAGE or door is AccessForm.PROBLEM:
        if not caller.may(needed(method, route)):
            return {403}
        if method not in SERVED[route]:
            return {405}
    return {*range(200, 500)} - {401, 403} - ({405} if method in SERVED[route].split() else set())


def walk(caller: Caller, world: World) -> tuple[list[str], set[str]]:
    """What was answered otherwise than it should be, and tables that were written to where nothing should be."""
    wrong = list[str]()

    def ask(route: str, method: str, *, undone: bool) -> None:
        status = caller.ask(method, world.address(route), undone=undone, quick=not caller.known).status_code
        if status not in allowed(caller, route, method):
            wrong.append(f"{method} {route}: {status}")

    by_change = defaultdict(list)
    for route, method in asked(caller):
        by_change[may_change(caller, route, method)].append((route, method))
    before = Touched.now()
    for route, method in by_change[False]:
        ask(route, method, undone=False)
    written = Touched.now().since(before) - WRITTEN_BY_READING.keys()
    for route, method in by_change[True]:
        ask(route, method, undone=True)
    return wrong, written


def may_change(caller: Caller, route: str, method: str) -> bool:
    """Whether it does what it asks for: it is no safe method, and the caller is not refused."""
    return caller.known and method not in SAFE_METHODS and bool({200, 302} & allowed(caller, route, method))


def test_every_route_declares_what_it_serves():
    known = {route for route in ROUTES if not route.startswith(ELSEWHERE)}
    assert known == SERVED.keys(), "a new route stands in `SERVED`, and in `roles.ACTIONS` where it changes something"


@pytest.mark.parametrize("who", STRANGERS)
def test_an_unauthenticated_visitor_can_open_and_change_nothing(world: World, who: str):
    assert walk(stranger(who, world), world) == ([], set())


@pytest.mark.parametrize("who", [nightly(who) if who in AT_NIGHT else who for who in MEMBERS])
def test_a_member_can_do_what_the_role_allows_and_nothing_else(world: World, who: str):
    wrong, written = walk(member(who, world), world)
    assert (wrong, written - {"audit_entry"}) == ([], set()), "exports and refused changes leave an entry, nothing else"
