"""axe-core complains of no page: in light and dark, at a desk and on a phone (WCAG 2.2 AA)."""

import re
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any
from zlib import crc32

import pyotp
import pytest
from axe_playwright_python.sync_playwright import Axe
from django.urls import resolve
from playwright.sync_api import Page, expect

from dashboard.accounts import two_factor
from tests.browser.conftest import DESK, PHONE, NewPage
from tests.browser.journeys import LONG, api, ask, played, until
from tests.browser.places import PAGES, addressed
from tests.browser.test_operating import agent, calling, drawer
from tests.dashboard.accounts.walked_routes import SERVED
from tests.nightly import nightly

PASSWORD = "nothing without a code"

#: Without `preload`: that copies style sheets into the page, which the page's policy refuses and reports.
RULES: dict[str, object] = {
    "resultTypes": ["violations"],
    "preload": False,
    "runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
}
#: The rules that ask what colour anything has. What the others ask is the same in light and dark: names, roles, order,
#: sizes; each of those is asked once at either size.
OF_COLOURS = {**RULES, "runOnly": ["color-contrast", "link-in-text-block"]}
Look = tuple[Mapping[str, int], str, dict[str, object]]  #: a size, a scheme, and the rules that it is held to
AXE = Axe().axe_script
#: Colours change at once, so that none is judged on its way.
STILL = """() => {
  const still = new CSSStyleSheet();
  still.replaceSync("*, ::before, ::after { transition: none !important; animation: none !important }");
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, still];
}"""
#: Every rule at either size, and the colours of either scheme: one of the two before each change, the other nightly.
LOOKS: tuple[Look, ...] = ((DESK, "light", RULES), (PHONE, "dark", RULES))
#: The colours of a scheme at the other size: a size has few colours of its own.
OTHER_LOOKS: tuple[Look, ...] = ((DESK, "dark", OF_COLOURS), (PHONE, "light", OF_COLOURS))
#: Routes of pages whose subject is made by a test below.
MADE = {
    "backtests/<uuid:backtest_id>", "metrics-board/alerts/<uuid:alert_id>", "policies/<uuid:policy_id>",
    "policies/<uuid:policy_id>/change", "policies/<uuid:policy_id>/diff", "policies/ledger/turns",
    "share/<str:token>", "sign-in", "sign-in/code", "account/two-factor", "webhooks/<uuid:webhook_id>",
    "webhooks/deliveries/<uuid:delivery_id>",
}  # fmt: skip
#: Routes of files, of parts of pages, and of what programs read.
NO_PAGES = {
    ".well-known/openwop", r"^share(?:/[\s\S]*)?$", "audit/file", "healthz", "metrics", "policies/file",
    "policies/versions/<uuid:version_id>", "sign-in/oidc", "sign-in/oidc/return",
    "timeline/backtests/<uuid:backtest_id>", "timeline/chart", "timeline/drops", "timeline/export", "timeline/facets",
    "turns/<uuid:turn_id>/attempts", "turns/<uuid:turn_id>/attempts/<int:index>/bytes",
    "turns/<uuid:turn_id>/attempts/<int:index>/curl", "turns/<uuid:turn_id>/attempts/<int:index>/request",
    "turns/<uuid:turn_id>/limit", "turns/<uuid:turn_id>/operate", "turns/limits",
}  # fmt: skip
#: Pages made of the same parts as another that is looked at before each change: at night only.
ALIKE = {
    "a backtest to start", "a choice of agents", "a choice to compare with", "a new agent", "a new alert",
    "a new alias", "a new backtest", "a new connection", "a new connection in the admin", "a new destination",
    "a new policy in the admin", "a new tool server", "a timeline without turns", "a turn at a step",
    "agents in the admin", "alerts", "an agent and its turn", "another try", "changes to agents", "keys in the admin",
    "links to share", "policies in the admin", "runs", "share links", "the members of a project", "the projects",
    "views", "what if with a refused number",
}  # fmt: skip
ANY_TURN = "/turns/01890000-0000-7000-8000-000000000000"
FEW = "/?q=Look+at+this"  #: the timeline with few rows, where they are not what is looked at


def violations(page: Page, within: str, rules: dict[str, object]) -> list[str]:
    """A sentence for each element that breaks a rule: the rule, where it is, what is wrong."""
    judged = page.evaluate("([within, rules]) => axe.run(within, rules)", [within, rules])
    found: list[dict[str, Any]] = judged["violations"]
    return [f"{rule['id']} at {at['target']}: {at['failureSummary']}" for rule in found for at in rule["nodes"]]


@pytest.fixture(autouse=True, params=["each change", pytest.param("nightly", marks=pytest.mark.nightly)])
def looks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Which of the two is looked at before each change goes by the test's name: half of all are looked at in either."""
    first, second = LOOKS[:: 1 if crc32(request.node.name.replace(request.param, "").encode()) % 2 else -1]
    now = (second, *OTHER_LOOKS) if request.param == "nightly" else (first,)
    monkeypatch.setattr(sys.modules[__name__], "LOOKS", now)


def check(page: Page, prepare: Callable[[Page], None] = lambda page: None, *, within: str = "html") -> None:
    """Hold what is open to the rules in every one of `LOOKS`, each after `prepare`."""
    expect(page.locator("main")).to_be_visible()
    expect(page.locator('[aria-busy="true"]')).to_have_count(0)
    page.evaluate(AXE)
    page.evaluate(STILL)
    wrong = []
    for size, scheme, rules in LOOKS:
        page.set_viewport_size({"width": size["width"], "height": size["height"]})
        page.evaluate("scrollTo(0, 0)")  # what sticks to an edge covers whatever happens to be scrolled there
        page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
        prepare(page)
        wrong += [f"{scheme}, {size['width']}: {sentence}" for sentence in violations(page, within, rules)]
    assert not wrong, "\n".join(wrong)


def test_every_page_is_checked():
    addresses = (addressed(name, ANY_TURN, ANY_TURN) for name in PAGES.keys() - {"what is not there"})
    looked_at = {resolve(address.split("?")[0]).route.rstrip("/") for address in addresses}
    served = {route.rstrip("/") for route, methods in SERVED.items() if "GET" in methods and "api/v1" not in route}
    assert served - looked_at == MADE | NO_PAGES


@pytest.mark.parametrize("name", [nightly(name) if name in ALIKE else name for name in PAGES])
def test_axe_finds_no_violation_on_the_page(new_page: NewPage, cut_turn: str, other_turn: str, name: str):
    page = new_page(missing=name == "what is not there")
    page.goto(FEW if name == "the timeline" else addressed(name, cut_turn, other_turn))
    check(page)


def test_the_rows_of_a_run_are_accessible(page: Page, cut_turn: str):
    """Each has a link beside that to its turn; another test's turns are in sight only by chance."""
    again = api(page, f"{cut_turn.strip('/')}/replay", {"mode": "rerun", "overrides": {"max_tokens": 400}})
    until(page, lambda: page.request.get(f"/api/v1/turns/{again['id']}").json()["run_id"], "it belongs to no run")
    page.goto(FEW)
    expect(page.locator("#rows .of-run").first).to_be_visible()
    check(page, within="#rows")


def test_a_turn_is_accessible_while_it_streams(page: Page, talker: str):
    ask(page, talker, "Go on and on.", max_tokens=4_000)
    page.goto("/?q=Go+on+and+on")
    page.get_by_role("link", name="Go on and on.").first.click()
    cancel = page.get_by_role("button", name="Cancel", exact=True)
    expect(cancel).to_be_visible()
    check(page)
    expect(cancel).to_be_visible()
    cancel.click()
    expect(cancel).to_be_hidden()


def test_the_open_filters_are_accessible(page: Page, cut_turn: str):
    def opened(page: Page) -> None:
        toggle = page.get_by_role("button", name="Filters", exact=True)
        if toggle.is_visible() and toggle.get_attribute("aria-expanded") == "false":
            toggle.click()
        expect(page.locator("#facets legend").first).to_be_visible()

    page.goto(FEW)
    check(page, opened, within="#facet-panel")


def test_the_filter_by_signs_of_truncation_and_its_link_are_accessible(page: Page):
    cut = agent(page, "sim-cut-label", max_tokens=60, tools=["calculator"])
    played(page, cut, "Add up the third invoice.")
    page.goto(f"/?agent={cut}")
    expect(page.locator("#facet-lint legend a[href='/lint']")).to_be_visible()
    page.evaluate(AXE)
    page.evaluate(STILL)
    page.emulate_media(color_scheme="light")
    wrong = violations(page, "#facet-lint", OF_COLOURS)
    page.emulate_media(color_scheme="dark")
    assert wrong + violations(page, "#facet-lint", OF_COLOURS) == []


def test_the_derivation_of_a_stop_and_the_other_transitions_are_accessible(page: Page, cut_turn: str):
    page.goto(f"{cut_turn}#t13")
    page.locator("#why > summary").click()
    page.locator(".others > summary").click()
    expect(page.locator(".tree")).to_contain_text("Max continuations (max_continuations) is 3")
    expect(page.locator(".others .road").first).to_be_visible()
    check(page)


def test_a_link_to_a_re_run_among_the_facts_of_a_turn_is_a_target_of_24_pixels(page: Page, cut_turn: str):
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(cut_turn)
    page.locator(".under .facts").evaluate(
        "(facts) => facts.insertAdjacentHTML('beforeend', '<span><a href=\"/\">re-run 1</a></span>')"
    )
    heights = page.locator(".under .facts a").evaluate_all(
        "(links) => links.map((a) => a.getBoundingClientRect().height)"
    )
    assert min(heights) >= 24


@pytest.mark.parametrize("menu", ["Columns", nightly("Views")])
def test_an_open_menu_is_accessible(page: Page, cut_turn: str, menu: str):
    page.goto(FEW)
    page.locator("summary", has_text=menu).click()
    check(page)


@pytest.mark.nightly
def test_selected_turns_and_their_actions_are_accessible(page: Page, cut_turn: str):
    page.goto(FEW)
    page.locator("#rows tr").first.wait_for()
    page.keyboard.press("j")
    page.keyboard.press("x")
    check(page)
    page.set_viewport_size({"width": 1280, "height": 900})
    for button, words in (("Tag…", "several with commas"), ("Erase…", "permanently?")):
        page.get_by_role("button", name=button).click()
        expect(page.get_by_role("dialog")).to_contain_text(words)
        check(page, within="dialog[open]")
        page.keyboard.press("Escape")
        expect(page.get_by_role("dialog")).to_have_count(0)


@pytest.mark.parametrize(("place", "key"), [nightly("timeline", "?"), nightly("turn", "?"), ("turn", "b")])
def test_a_dialog_that_a_key_opens_is_accessible(page: Page, cut_turn: str, place: str, key: str):
    page.goto(FEW if place == "timeline" else cut_turn)
    page.wait_for_load_state()
    page.keyboard.press(key)
    expect(page.get_by_role("dialog")).to_be_visible()
    check(page, within="dialog[open]")


@pytest.mark.nightly  # by day another below looks at a backtest with its result
def test_a_backtest_and_its_result_are_accessible(page: Page, cut_turn: str):
    page.goto("/timeline/backtest?q=Look+at+this")
    page.get_by_role("button", name="Start").click()
    expect(page.locator("#backtest")).to_contain_text("Done")
    check(page)


def test_the_raw_request_and_response_are_accessible(page: Page, cut_turn: str):
    page.goto(cut_turn)
    page.locator("#attempt-2 summary").click()
    expect(page.locator("#attempt-2 pre").first).to_be_visible()
    check(page, within="#attempt-2")


@pytest.mark.nightly
def test_a_refused_file_is_accessible(new_page: NewPage):
    page = new_page(missing=True)
    page.goto("/import")
    page.get_by_label("Turn file, log").set_input_files({"name": "a.json", "mimeType": "text/plain", "buffer": b"{}"})
    page.get_by_role("button", name="Import").click()
    expect(page.get_by_role("alert")).to_be_visible()
    check(page)


def test_the_controls_the_drawer_and_the_breakpoint_form_of_a_turn_are_accessible(page: Page):
    calling(page)
    check(page)
    drawer(page)
    check(page)
    page.get_by_label("Arguments").first.fill("{")
    page.get_by_role("button", name="Change only").click()
    expect(page.locator("#operate_arguments_0_error")).to_be_visible()
    check(page)
    page.get_by_role("button", name="Close").click()
    page.keyboard.press("b")
    expect(page.get_by_role("dialog", name="Breakpoint")).to_be_visible()
    check(page)


def test_a_shared_turn_is_accessible(page: Page, cut_turn: str):
    page.goto(f"{cut_turn}/share")
    page.get_by_role("button", name="Create link").click()
    address = page.get_by_label("Address of the link").input_value()
    check(page, within=".made")
    page.goto(address)
    check(page)


def test_a_policy_and_its_versions_are_accessible(page: Page):
    page.goto("/admin/agents/policy/")
    page.locator("#result_list tbody th a").first.click()
    expect(page).to_have_url(re.compile("/change/"))
    page.get_by_role("button", name="Run the backtest").click()
    expect(page.locator("#backtest")).to_contain_text("Done", timeout=LONG)
    check(page)
    page.get_by_role("link", name="Versions, roll back, schedule").click()
    check(page)
    page.get_by_role("link", name="Compare versions").click()
    check(page)


def test_the_turns_of_a_ledger_line_and_of_a_pair_of_limits_are_accessible(page: Page, cut_turn: str):
    page.goto("/policies/ledger")
    page.locator("a.stopped").first.click()
    check(page)
    page.goto("/backtests/limits?q=Look+at+this")
    page.locator("#map a").filter(has_text="%").first.click(timeout=LONG)
    check(page)


def test_an_alert_a_backtest_and_the_form_of_a_policy_are_accessible(page: Page, cut_turn: str):
    alert = api(page, "alerts", {"name": "Cut too often", "metric": "truncation_rate", "number": 20})["id"]
    backtest = api(page, "backtests", {"policy": {}, "filter": {"q": "Look at this"}})["id"]
    policy = api(page, "policies", {"name": "looked-at", "limits": {"max_continuations": 2}})
    page.goto("/policies/")
    page.get_by_role("link", name=policy["name"], exact=True).click()
    change = f"{page.url}/change"
    for address in (change, f"/metrics-board/alerts/{alert}", f"/backtests/{backtest}"):
        page.goto(address)
        check(page)


def test_a_webhook_and_its_deliveries_are_accessible(page: Page):
    page.goto("/webhooks/")
    page.locator("details.make-key").evaluate("fold => fold.open = true")  # folded where another test made one
    page.locator("[name=name]").fill("looked-at")
    page.locator("[name=url]").fill("http://127.0.0.1:9/hook")
    page.locator("[name=events]").first.check()
    page.get_by_role("button", name="Create webhook").click()
    page.locator('main a[href*="/webhooks/"]').filter(has_text="looked-at").first.click()
    expect(page).to_have_url(re.compile("/webhooks/[0-9a-f-]+$"))
    check(page)
    page.locator('form[action$="/test"] button').click()
    expect(page).to_have_url(re.compile("/webhooks/deliveries/"))
    check(page)


def test_the_sign_in_page_is_accessible(page: Page):
    page.context.clear_cookies()
    page.goto("/sign-in/")
    expect(page.get_by_role("button", name="Sign in")).to_be_visible()
    check(page)


def test_the_steps_of_two_factor_authentication_are_accessible(page: Page):
    page.goto("/admin/accounts/user/add/")
    page.get_by_label("Username").fill("guarded")
    page.locator("#id_password1").fill(PASSWORD)
    page.locator("#id_password2").fill(PASSWORD)
    page.get_by_role("button", name="Save", exact=True).click()
    sign_in(page, "guarded", PASSWORD)
    page.goto("/account/")
    page.locator("#two-factor").get_by_label("Current password").fill(PASSWORD)
    page.get_by_role("button", name="Set up").click()
    page.get_by_text("Enter the key by hand").click()
    check(page)
    app = pyotp.TOTP(page.locator("code.secret").inner_text().replace(" ", ""))
    page.get_by_role("textbox", name="Code").fill(app.now())
    page.get_by_role("button", name="Turn on").click()
    check(page)
    page.get_by_role("link", name="I have saved them").click()
    check(page, within="#two-factor")
    sign_in(page, "guarded", PASSWORD)
    check(page)
    page.get_by_role("textbox", name="Code").fill(app.at(time.time() + two_factor.STEP))
    page.get_by_role("button", name="Sign in", exact=True).click()
    expect(page.get_by_role("link", name="guarded")).to_be_visible()


def sign_in(page: Page, name: str, password: str) -> None:
    """As somebody else."""
    page.context.clear_cookies()
    page.goto("/sign-in/")
    page.locator("#id_username").fill(name)
    page.locator("#id_password").fill(password)
    page.get_by_role("button", name="Sign in", exact=True).click()
