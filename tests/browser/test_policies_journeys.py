"""Which number, and who set it: the journeys of issue 6 through the admin, the ledger, the versions and the shadow."""

import re

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from tests import forked_start
from tests.browser.conftest import DESK
from tests.browser.journeys import LONG, played, until
from tests.browser.lowered_limit import AGENT, MODEL, POLICY

FILL = "from tests.browser.lowered_limit import fill; fill()"
DIAL = "#dials input[name=max_continuations]"
WATCHER = """
from django.contrib.auth.models import Group
from dashboard.accounts.models import User
user = User.objects.create_user("wanda", password="only-to-watch-them", is_staff=True)
user.groups.add(Group.objects.get(name="watcher"))
"""
#: Asked by the page itself, with the session of who looks at it.
POST = """([address, body]) => {
  const headers = JSON.parse(document.querySelector("[hx-headers]").getAttribute("hx-headers"));
  return fetch(address, { method: "POST", body: JSON.stringify(body), headers: { ...headers,
    "Content-Type": "application/json" } }).then(async (answer) => [answer.status, (await answer.json()).detail]);
}"""
REFUSED = [
    403,
    "Read-only access: this needs the permission “Create policies”; ask an admin.",
]


def told(environment: dict[str, str], script: str) -> None:
    forked_start.run(["shell", "-c", script], env=environment, check=True)


@pytest.fixture(scope="module")
def last_week(link: str, environment: dict[str, str]) -> None:
    told(environment, FILL)


def opened(page: Page) -> None:
    page.goto("/policies/")
    page.get_by_role("link", name=POLICY, exact=True).click()


def raise_a_limit_in_the_admin_with_a_backtest_attached(page: Page) -> None:
    opened(page)
    page.get_by_role("link", name="Admin", exact=True).click()
    page.evaluate("window.same = true")
    page.get_by_role("textbox", name="Reason").fill("Answers were cut.")
    page.get_by_label("Max continuations").fill("4")
    panel = page.locator("#backtest-panel")
    expect(panel.get_by_label("Agent")).to_have_value(":own")
    panel.get_by_role("button", name="Run the backtest").click()
    expect(panel.locator("#backtest")).to_contain_text("Done 84 of 84 turns", timeout=LONG)
    expect(panel.locator(".outcomes")).to_contain_text("end not known 5")
    expect(panel.locator("#groups")).to_contain_text("gpt-4o-mini")
    expect(page.get_by_role("textbox", name="Reason")).to_have_value("Answers were cut.")
    assert page.evaluate("window.same"), "the page was loaded anew"
    stale = page.locator("#backtest-stale")
    expect(stale).to_be_hidden()
    page.get_by_label("Max continuations").fill("9")
    expect(stale).to_be_visible()
    page.get_by_label("Max continuations").fill("4")
    page.get_by_label("Status").select_option("now")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.locator(".messagelist")).to_contain_text(
        f"This is version 3 of “{POLICY}”, with a backtest over 84 turns: 79 end as recorded, 5 would have gone "
        "on to an end that is not known; of the 79 with a known end, "
        "79 recorded."
    )
    opened(page)
    expect(page.locator("#v3")).to_contain_text("Saved with a backtest over 84 turns: 79 end as recorded")
    expect(page.locator("#v2")).to_contain_text("Saved without a backtest")


def find_who_lowered_the_limit_and_its_cost(page: Page) -> None:
    page.goto("/policies/")
    page.get_by_role("link", name="Limits that stopped turns").click()
    line = page.locator("tbody tr", has_text="Long answers cost too much.")
    for words in ("1 continuation", "lowered from 5 continuations", "bob", "until", "≈ $", "5 answers cut short"):
        expect(line).to_contain_text(words)
    line.get_by_role("link", name="5 turns").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("5 turns stopped by Max continuations: 1 continuation")
    page.get_by_role("link", name="what if 5").first.click()
    expect(page).to_have_url(re.compile(r"/replay\?max_continuations=5"))
    expect(page.locator(DIAL)).to_have_value("5")


def roll_back(page: Page) -> None:
    opened(page)
    version = page.locator("#v1")
    version.locator("summary").click()
    expect(version).to_contain_text("No backtest is attached to this version.")
    version.get_by_label("Reason").fill("As it was.")
    version.get_by_role("button", name="Roll back to v1").click()
    expect(page.locator("#messages")).to_contain_text(f"{POLICY} v1 is now active.")
    expect(page.locator("#v1")).to_contain_text("active since")
    expect(page.locator(".trail li").first).to_contain_text("operator activated v1 As it was.")


def see_the_shadow_tally_and_promote_with_it(page: Page) -> None:
    page.get_by_role("button", name="Start shadow run of v2").click()
    expect(page.locator("#shadow")).to_contain_text("v2 since")
    turn = played(page, AGENT, "Why do agents stop?", max_tokens=150)
    opened(page)
    tally = page.locator("#shadow .tally")
    expect(tally).to_contain_text("1 turn evaluated", timeout=LONG)
    expect(tally).to_contain_text("would have stopped sooner 1")
    expect(tally).to_contain_text("differs from record 3 on: 1 call fewer")
    expect(tally.get_by_role("link", name="Why do agents stop?")).to_have_attribute("href", turn)
    expect(tally.get_by_role("link", name="what if")).to_have_attribute("href", f"{turn}/replay?max_continuations=1")
    page.get_by_label(re.compile("Reason for activating")).fill("As tried.")
    page.get_by_role("button", name="Activate with these results").click()
    expect(page.locator("#v2")).to_contain_text("Activated after a shadow run over 1 turn (1 would have stopped sooner")


@pytest.mark.nightly
def test_a_limit_is_raised_on_evidence_backtested_rolled_back_and_tried_in_a_shadow(page: Page, last_week: None):
    raise_a_limit_in_the_admin_with_a_backtest_attached(page)
    find_who_lowered_the_limit_and_its_cost(page)
    roll_back(page)
    see_the_shadow_tally_and_promote_with_it(page)


@pytest.mark.nightly
def test_saving_while_a_backtest_is_being_started_does_not_lose_it(page: Page, last_week: None):
    opened(page)
    page.get_by_role("link", name="Admin", exact=True).click()
    page.get_by_role("textbox", name="Reason").fill("In a hurry.")
    page.get_by_label("Max continuations").fill("7")
    page.get_by_label("Status").select_option("draft")
    asked: list[Route] = []
    page.route("**/backtests/draft*", lambda route: asked.append(route))
    page.get_by_role("button", name="Run the backtest").click()
    page.get_by_role("button", name="Save", exact=True).click()
    until(page, lambda: asked, "the backtest was not asked for")
    asked[0].continue_()
    # It may be done by then, or the form waits for it; saved without it the version is not.
    told = page.locator(".messagelist, #backtest-panel .note.error").first
    expect(told).to_contain_text(re.compile("with a backtest over|The backtest of these words"), timeout=LONG)


def test_a_cell_of_the_map_opens_its_turns_by_keyboard_alone(page: Page, last_week: None):
    page.goto(f"/backtests/limits?agent={AGENT}&model={MODEL}")
    expect(page.locator("#estimate")).to_contain_text("of further answers like these have at most ")
    cell = page.get_by_role(
        "link", name=re.compile("71 % complete, .* not known: Max continuations 1, Max tokens per call 100")
    )
    expect(cell).to_be_visible(timeout=LONG)
    cell.focus()
    page.keyboard.press("Enter")
    title = page.get_by_role("heading", level=1)
    expect(title).to_contain_text("71 % complete with Max continuations 1 and Max tokens per call 100")
    expect(page.get_by_role("heading", name="Cut short, or stopped")).to_contain_text("24 of 84")
    page.get_by_role("region", name="Turns").get_by_role("link").first.click()
    expect(page.locator(DIAL)).to_have_value("1")


def test_a_watcher_sees_everything_and_changes_nothing(
    chrome: Browser, link: str, environment: dict[str, str], last_week: None
):
    told(environment, WATCHER)
    viewer = chrome.new_context(base_url=link.split("/sign-in", maxsplit=1)[0], viewport=DESK).new_page()
    viewer.goto("/sign-in/")
    viewer.locator("#id_username").fill("wanda")
    viewer.locator("#id_password").fill("only-to-watch-them")
    viewer.get_by_role("button", name="Sign in").last.click()
    expect(viewer.get_by_role("link", name="Policies")).to_be_visible()
    opened(viewer)
    expect(viewer.locator("#v2")).to_contain_text("Long answers cost too much.")
    expect(viewer.locator("main form")).to_have_count(0)
    viewer.goto("/policies/ledger")
    expect(viewer.locator("tbody")).to_contain_text("bob")
    viewer.goto("/admin/")
    expect(viewer.locator("#content")).to_contain_text("You don’t have permission to view or edit anything.")
    viewer.goto("/policies/")
    assert viewer.evaluate(POST, ["/api/v1/policies", {"name": POLICY, "limits": {"max_continuations": 9}}]) == REFUSED
    assert viewer.evaluate(POST, ["/api/v1/backtests", {"policy": {}}])[0] == 403
    viewer.context.close()
