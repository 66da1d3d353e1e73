"""axe-core complains of no page: in light and dark, at a desk and on a phone (WCAG 2.2 AA)."""

import re
from collections.abc import Callable
from itertools import product
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import DESK, PHONE, NewPage
from tests.browser.journeys import ask, ended

#: Without `preload`: that copies style sheets into the page, which the page's policy refuses and reports.
EVERY: dict[str, object] = {"resultTypes": ["violations"], "preload": False}
ALL = {**EVERY, "runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]}
CONTRAST = {**EVERY, "runOnly": ["color-contrast", "link-in-text-block"]}  #: what a scheme can change
AXE = Axe().axe_script
#: Colours have arrived, also those that an element passes on to the next; what blinks for ever is not waited for.
SETTLED = """async () => {
  const ends = a => a.playState === "running" && a.effect.getTiming().iterations !== Infinity;
  for (let still = 0, tries = 0; still < 2 && tries < 90; tries++) {
    still = document.getAnimations().some(ends) ? 0 : still + 1;
    await new Promise(done => setTimeout(done, 16));
  }
}"""

PAGES = {
    "the timeline": "/",
    "a timeline without turns": "/?q=nothingatall",
    "views": "/timeline/views",
    "a turn": "{turn}",
    "a turn at a step": "{turn}?step=3",
    "what if": "{turn}/replay?max_tokens=400",
    "what if with a refused number": "{turn}/replay?max_tokens=0",
    "a sweep": "{turn}/replay/sweep",
    "another try": "{turn}/replay/again?from_record=2",
    "a choice to compare with": "/compare?left={id}",
    "two turns compared": "/compare?left={id}&right={other}",
    "import": "/import",
    "a choice of agents": "/live/",
    "an agent": "/agents/sim-essay/live",
    "an agent and its turn": "/agents/sim-essay/live?turn={id}",
    "the account": "/account/",
    "the admin": "/admin/",
    "policies": "/admin/agents/policy/",
    "a new policy": "/admin/agents/policy/add/",
    "agents": "/admin/agents/agent/",
    "a new connection": "/admin/agents/connection/add/",
    "a new tool server": "/admin/tools/mcpserver/add/",
    "share links": "/admin/sharing/sharelink/",
}


def violations(page: Page, rules: dict[str, object]) -> list[str]:
    """A sentence for each element that breaks a rule: the rule, where it is, what is wrong."""
    page.evaluate(SETTLED)
    found: list[dict[str, Any]] = page.evaluate("rules => axe.run(document, rules)", rules)["violations"]
    return [f"{rule['id']} at {at['target']}: {at['failureSummary']}" for rule in found for at in rule["nodes"]]


def check(page: Page, prepare: Callable[[Page], None] = lambda page: None) -> None:
    """Hold the page that is open to the rules in every look, each after `prepare`."""
    expect(page.locator("main")).to_be_visible()
    expect(page.locator('[aria-busy="true"]')).to_have_count(0)
    page.evaluate(AXE)
    wrong = []
    for width, (scheme, rules) in product((DESK, PHONE), (("light", ALL), ("dark", CONTRAST))):
        page.set_viewport_size({"width": width["width"], "height": width["height"]})
        page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
        prepare(page)
        wrong += [f"{scheme}, {width['width']}: {sentence}" for sentence in violations(page, rules)]
    assert not wrong, "\n".join(wrong)


@pytest.fixture(scope="package")
def other_turn(chrome: Browser, signed_in: dict[str, object], link: str) -> str:
    """The address of a turn that was cut otherwise."""
    context = chrome.new_context(base_url=link.split("/sign-in", maxsplit=1)[0], storage_state=signed_in)
    page = context.new_page()
    ask(page, "sim-essay", "Look at this.", max_tokens=150)
    address = ended(page)
    context.close()
    return address


@pytest.mark.parametrize("name", PAGES)
def test_axe_has_nothing_to_say_of(page: Page, cut_turn: str, other_turn: str, name: str):
    ids = {"id": cut_turn.rsplit("/", 1)[1], "other": other_turn.rsplit("/", 1)[1]}
    page.goto(PAGES[name].format(turn=cut_turn, **ids))
    check(page)


def test_nor_of_the_filters_when_they_are_open(page: Page, cut_turn: str):
    def opened(page: Page) -> None:
        toggle = page.get_by_role("button", name="Filters", exact=True)
        if toggle.is_visible() and toggle.get_attribute("aria-expanded") == "false":
            toggle.click()
        expect(page.locator("#facets legend").first).to_be_visible()

    page.goto("/")
    check(page, opened)


@pytest.mark.parametrize("menu", ["Columns", "Views"])
def test_nor_of_a_menu_when_it_is_open(page: Page, cut_turn: str, menu: str):
    page.goto("/")
    page.locator("summary", has_text=menu).click()
    check(page)


def test_nor_of_the_keys_told_and_turns_chosen(page: Page, cut_turn: str):
    page.goto("/")
    page.locator("#rows tr").first.wait_for()
    page.keyboard.press("j")
    page.keyboard.press("x")
    check(page)
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_be_visible()
    check(page)


def test_nor_of_what_was_sent_and_received_when_it_is_shown(page: Page, cut_turn: str):
    page.goto(cut_turn)
    page.locator("#attempt-2 summary").click()
    expect(page.locator("#attempt-2 pre").first).to_be_visible()
    check(page)


def test_nor_of_sharing_nor_of_what_is_shared(page: Page, cut_turn: str):
    page.goto(f"{cut_turn}/share")
    page.get_by_role("button", name="Make a link").click()
    address = page.get_by_label("Address of the link").input_value()
    check(page)
    page.goto(address)
    check(page)


def test_nor_of_a_policy_and_its_versions(page: Page):
    page.goto("/admin/agents/policy/")
    page.locator("#result_list tbody th a").first.click()
    expect(page).to_have_url(re.compile("/change/"))
    check(page)


def test_nor_of_signing_in(new_page: NewPage):
    page = new_page()
    page.context.clear_cookies()
    page.goto("/sign-in/")
    expect(page.get_by_role("button", name="Sign in")).to_be_visible()
    check(page)
