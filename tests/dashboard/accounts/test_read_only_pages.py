"""Who may only read is offered nothing that they may not do, and is told so where a form would stand."""

import re

import pytest
from django.http import HttpResponse
from django.urls import Resolver404, resolve

from dashboard.accounts.roles import ACTIONS, may
from tests.dashboard.accounts.walked_routes import SERVED
from tests.dashboard.accounts.walking import Caller, World, made_world, member
from tests.dashboard.pages import text_of

pytestmark = pytest.mark.django_db
_LINK = re.compile(r"<a\b([^>]*)>")
_BUTTON = re.compile(r'class="[^"]*\bbtn\b')
_HIDDEN = re.compile(r'class="[^"]*\bacts\b')
#: Pages that list what a watcher may read beside their form; and what `components.css` hides from who watches.
_ALSO_READ = re.compile(r"^/gateway/keys$|^/webhooks/$|^/import$|/share$")
#: Addresses that answer a person with a page: no file, no part of a page, no API.
PAGES = [
    route
    for route, methods in SERVED.items()
    if "GET" in methods and not route.startswith(("api/", "admin", "^", "share", "sign", ".well", "export", "projects"))
]


@pytest.fixture
def world() -> World:
    return made_world()


def needs(address: str) -> str | None:
    """The permission without which the page of an address has nothing but its form."""
    try:
        route = resolve(address.partition("?")[0].partition("#")[0]).route
    except Resolver404:
        return None
    return ACTIONS.get(route.rstrip("/"))


def page_of(caller: Caller, address: str) -> str:
    answer: HttpResponse = caller.ask("GET", address, undone=False)
    kind = answer.headers.get("Content-Type", "")
    return answer.content.decode() if answer.status_code == 200 and kind.startswith("text/html") else ""


def offered(html: str, caller: Caller) -> set[str]:
    """Addresses of buttons that lead to what the caller may not do, apart from what styles hide from them."""
    wrong = set()
    for attributes in _LINK.findall(html):
        found = re.search(r'href="([^"]*)"', attributes)
        if found and _BUTTON.search(attributes) and not _HIDDEN.search(attributes):
            permission = needs(found[1])
            if permission is not None and not _ALSO_READ.search(found[1]) and not may(caller.user, permission):
                wrong.add(found[1])
    return wrong


def test_no_button_leads_a_watcher_to_what_they_may_not_do(world: World):
    watcher = member("watcher", world)
    found = {route: offered(page_of(watcher, world.address(route)), watcher) for route in PAGES}
    assert {route: addresses for route, addresses in found.items() if addresses} == {}


@pytest.mark.parametrize("address", ["/agents/nobody", "/agents/nobody/live/", "/connections/nobody", "/nowhere"])
def test_a_page_that_is_not_found_names_no_permission(world: World, address: str):
    answer = member("watcher", world).ask("GET", address, undone=False)
    shown = text_of(answer.content.decode())
    assert (answer.status_code, "Page not found" in shown) == (404, True)
    assert "permission" not in shown
    assert "Read-only access" not in shown


def test_a_page_whose_form_a_watcher_may_not_use_says_who_may(world: World):
    watcher = member("watcher", world)
    told, silent = [], []
    for route in PAGES:
        permission = ACTIONS.get(route.rstrip("/"))
        html = page_of(watcher, world.address(route)) if permission and not may(watcher.user, permission) else ""
        if "<main" in html:
            (told if "needs the permission" in text_of(html) else silent).append(route)
    assert silent == []
    assert {"agents/<str:name>/live/", "backtests/new/", "import/"} <= set(told)
