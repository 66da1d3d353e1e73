"""What each role is shown on the pages: nothing that would answer “Read-only access”, and no way to an admin it cannot
enter."""

from collections.abc import Collection, Iterator

import pytest
from django.urls import resolve
from playwright.sync_api import Browser, Page, expect

from dashboard.accounts.roles import ELSEWHERE, MAKE_ALERT, MAKE_KEY, OPERATING, WATCHING, Role, needed
from tests import forked_start
from tests.browser.conftest import DESK, base_of
from tests.browser.places import PAGES, addressed
from tests.nightly import nightly

MAY = {Role.WATCHER: {*WATCHING}, Role.OPERATOR: {*OPERATING, MAKE_KEY, MAKE_ALERT}}
PASSWORD = "only-as-much-as-the-role"
MADE = f"""
from django.contrib.auth.models import Group
from dashboard.accounts.models import User
for role in {[str(role) for role in MAY]}:
    user = User.objects.create_user("only-" + role, password="{PASSWORD}")
    user.groups.add(Group.objects.get(name=role))
"""
#: Pages that are refused as a whole, or are none of ours.
APART = {name for name, address in PAGES.items() if address.startswith("/admin/")} | {"what is not there"}
MOST_ACTING = {"the timeline", "a turn", "what if", "an agent", "policies", "the inbox", "keys", "alerts", "a sweep"}
#: Everything that can be seen and leads somewhere: a method, a path, and its words. Folded parts are opened before.
LEADING = """() => {
  document.querySelectorAll("main details").forEach((each) => { each.open = true; });
  const shown = (each) => each.checkVisibility({ visibilityProperty: true });
  const path = (address) => new URL(address || "", location.href);
  const asked = (each, name) => each.getAttribute(name) ?? each.form?.getAttribute(name);
  const links = [...document.querySelectorAll("a[href]:not([href^='#'])")].filter(shown);
  const found = links.map((link) => ["GET", path(link.getAttribute("href")), link]);
  for (const button of [...document.querySelectorAll("button, input[type=submit]")].filter(shown)) {
    const posts = asked(button, "hx-post") ?? button.getAttribute("formaction");
    const form = button.type === "submit" && button.form?.method === "post" && button.form;
    if (posts || form) found.push(["POST", path(posts ?? form.getAttribute("action")), button]);
  }
  return found.filter(([, to]) => to.origin === location.origin)
    .map(([method, to, each]) => [method, to.pathname, each.textContent.trim().slice(0, 40)]);
}"""


@pytest.fixture(scope="module")
def users(link: str, environment: dict[str, str]) -> None:
    forked_start.run(["shell", "-c", MADE], env=environment, check=True)


@pytest.fixture
def opened(chrome: Browser, link: str, role: Role, users: None) -> Iterator[Page]:
    """A browser of someone who has this role and no other right."""
    context = chrome.new_context(base_url=base_of(link), viewport=DESK)
    page = context.new_page()
    page.goto("/sign-in/")
    page.locator("#id_username").fill(f"only-{role}")
    page.locator("#id_password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").last.click()
    expect(page.locator("#bar")).to_contain_text(f"only-{role}")
    yield page
    context.close()


def refused(method: str, path: str, may: Collection[str]) -> bool:
    """Whether who may do only this is turned away there."""
    route = resolve(path).route
    needs = needed(method, route)
    return route.startswith(ELSEWHERE) or (needs is not None and needs not in may)


@pytest.mark.parametrize("names", [MOST_ACTING, nightly(PAGES.keys() - APART)], ids=["each change", "nightly"])
@pytest.mark.parametrize("role", [Role.WATCHER, nightly(Role.OPERATOR)])
def test_no_control_is_offered_that_the_role_may_not_use(
    opened: Page, cut_turn: str, other_turn: str, role: Role, names: Collection[str]
):
    wrong = []
    for name in sorted(names):
        opened.goto(addressed(name, cut_turn, other_turn))
        expect(opened.locator('[aria-busy="true"]')).to_have_count(0)
        for method, path, words in opened.evaluate(LEADING):
            wrong += [f"{name}: {method} {path} “{words}”"] if refused(method, path, MAY[role]) else []
    assert wrong == []
