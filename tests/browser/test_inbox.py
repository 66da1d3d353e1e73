"""What needs a person, from any page: the badge, the title, a notification; a decision in two clicks; two windows."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import PHONE, NewPage
from tests.browser.journeys import Clicks, api, played, until
from tests.browser.test_operating import agent

TOLD = """() => {
  window.told = [];
  window.Notification = class extends EventTarget {
    static permission = "granted";
    static requestPermission = async () => "granted";
    constructor(heading, more) { super(); window.told.push(`${heading}: ${more.body}`); window.note = this; }
    close() {}
  };
  Object.defineProperty(document, "hidden", { get: () => true });
}"""


#: A browser that answers with `answer`, once it is asked; how often it is asked is counted over all pages.
ANSWERING = """answer => {
  window.Notification = class {
    static get permission() { return localStorage.answered ?? "default"; }
    static async requestPermission() {
      localStorage.asked = Number(localStorage.asked ?? 0) + 1;
      if (answer !== "default") localStorage.answered = answer;
      return answer;
    }
  };
}"""


def asking(page: Page, prompt: str, seconds: float = 900) -> str:
    """The address of a turn whose calls of the calculator wait for approval."""
    approvals = {"tools": ["calculator"], "seconds": seconds}
    return played(page, agent(page, "sim-tools", max_tokens=400, tools=["calculator"], approvals=approvals), prompt)


def waiting_in(page: Page) -> int:
    """How much the badge says is waiting; other tests leave turns held."""
    expect(page.locator("#inbox-badge")).to_have_attribute("data-count", re.compile(r"\d"))
    return int(page.locator("#inbox-badge").get_attribute("data-count") or 0)


def test_an_approval_is_given_from_any_page_in_two_clicks(page: Page):
    page.goto("/glossary")
    before = waiting_in(page)
    turn = asking(page, "Approve this from the inbox.")
    expect(page.locator("#inbox-badge")).to_have_text(f"{before + 1} waiting")
    expect(page).to_have_title(f"({before + 1}) Glossary – Whystop")
    clicks = Clicks()
    clicks.on(page, "link", "Inbox")
    waiting = page.locator("#inbox .entry", has_text="Approve this from the inbox.")
    expect(waiting).to_contain_text("Approval needed")
    expect(waiting).to_contain_text("calculator")
    expect(waiting.locator("[data-deadline]")).to_have_text(re.compile(r"1[45]\smin \d+\ss left"))
    expect(waiting).to_contain_text("left, then they are refused")
    clicks.on(waiting, "button", "Approve")
    expect(waiting).to_have_count(0)
    expect(page).to_have_title(f"({before}) Inbox – Whystop" if before else "Inbox – Whystop")
    ends = f"/api/v1{turn}"
    until(page, lambda: page.request.get(ends).json()["status"] == "completed", "it does not go on", every=200)
    assert clicks.count == 2


def test_after_a_decision_by_keyboard_the_focus_moves_to_the_next_entry(new_page: NewPage):
    page = new_page(viewport=PHONE)
    asking(page, "Approve this by keyboard.")
    page.goto("/inbox")
    waiting = page.locator("#inbox .entry", has_text="Approve this by keyboard.")
    waiting.get_by_role("button", name="Approve").press("Enter")
    expect(waiting).to_have_count(0)
    expect(page.locator("#inbox")).to_be_focused()


def test_two_windows_show_the_same_inbox_and_the_second_decision_is_reported_as_too_late(page: Page, new_page: NewPage):
    other, clicks = new_page(), Clicks()
    page.goto("/inbox")
    other.goto("/inbox")
    asking(page, "Two look at this.")
    mine, theirs = (one.locator("#inbox .entry", has_text="Two look at this.") for one in (page, other))
    expect(mine).to_be_visible()
    expect(theirs).to_be_visible()
    other.locator("#inbox-socket").evaluate("socket => htmx.remove(socket)")  # it hears no more: it is the slower one
    clicks.on(mine, "button", "Refuse")
    expect(mine).to_have_count(0)
    clicks.on(theirs, "button", "Approve")
    expect(other.locator("#messages")).to_contain_text("This turn has ended already")  # the page was read again
    expect(theirs).to_have_count(0)
    assert clicks.count == 2


def test_of_two_simultaneous_decisions_the_later_is_refused_above_the_list(page: Page, new_page: NewPage):
    other = new_page()
    page.goto("/inbox")
    other.goto("/inbox")
    asking(page, "Two decide this.")
    mine, theirs = (one.locator("#inbox .entry", has_text="Two decide this.") for one in (page, other))
    expect(mine).to_be_visible()
    refuse = theirs.get_by_role("button", name="Refuse")
    expect(refuse).to_be_visible()
    other.evaluate("document.body.addEventListener('htmx:wsBeforeMessage', m => window.hears || m.preventDefault())")
    mine.get_by_role("button", name="Approve").evaluate("button => button.click()")
    refuse.click()
    told = re.compile("“Two decide this.” was not carried out.*approved these calls", re.DOTALL)
    expect(other.locator(":is(#inbox-told, #messages)")).to_contain_text([told])
    other.evaluate("window.hears = true")
    asking(page, "This is the next.")
    expect(theirs).to_have_count(0)
    expect(other.locator(":is(#inbox-told, #messages)")).to_contain_text([told])


@pytest.mark.nightly
def test_a_time_out_stays_in_the_inbox_until_it_is_acknowledged(page: Page):
    page.goto("/inbox")
    asking(page, "Nobody sees this in time.", seconds=1)
    late = page.locator("#inbox .entry", has_text="Nobody sees this in time.")
    expect(late).to_contain_text("Approval expired")
    expect(late).to_contain_text("The approval time limit of the calls of calculator has expired. They were refused.")
    late.get_by_role("button", name="Mark as seen").click()
    expect(late).to_have_count(0)
    expect(page.locator("#inbox .seen")).to_contain_text("Nobody sees this in time.")


@pytest.mark.nightly
def test_a_hidden_page_notifies_once_per_entry_if_the_browser_allows_it(page: Page):
    page.add_init_script(f"({TOLD})()")
    page.goto("/inbox")
    page.get_by_role("button", name="Notify me in this browser").click()
    expect(page.get_by_role("button", name="Notifications are on")).to_have_attribute("aria-pressed", "true")
    turn = asking(page, "Tell me of this.")
    expect(page.locator("#inbox .entry", has_text="Tell me of this.")).to_be_visible()
    until(page, lambda: page.evaluate("window.told.length") == 2, "nothing is told")
    said, told = page.evaluate("window.told")
    assert said == "Notifications are on: Whystop tells you here what needs a person."
    assert told.endswith(": Tell me of this.")
    page.evaluate("window.note.dispatchEvent(new Event('click'))")
    expect(page.locator("#inbox .entry[data-called]")).to_contain_text("Tell me of this.")
    api(page, f"turns/{turn.rsplit('/', 1)[1]}/cancel", {})
    expect(page.locator("#inbox .entry", has_text="Tell me of this.")).to_have_count(0)


def test_the_button_says_when_the_browser_does_not_support_page_notifications(page: Page):
    page.add_init_script(f"({ANSWERING})('granted')")
    page.add_init_script("Notification = class extends Notification { constructor() { throw new TypeError(); } }")
    page.goto("/inbox")
    page.locator("#inbox-notify").click()
    expect(page.locator("#inbox-notify")).to_have_text("This browser does not show notifications of pages")
    expect(page.locator("#inbox-notify")).to_have_attribute("aria-pressed", "false")


def test_notification_permission_is_requested_only_by_a_click_and_not_once_blocked(page: Page):
    button = page.locator("#inbox-notify")
    page.add_init_script(f"({ANSWERING})('default')")
    page.goto("/inbox")
    expect(button).to_have_text("Notify me in this browser")
    assert page.evaluate("localStorage.asked") is None
    button.click()
    expect(button).to_have_text("Notify me in this browser")  # the question was closed without an answer
    page.add_init_script(f"({ANSWERING})('denied')")
    page.goto("/inbox")
    button.click()
    expect(button).to_have_text("Notifications are blocked in this browser's settings")
    page.goto("/inbox")
    expect(button).to_have_text("Notifications are blocked in this browser's settings")
    button.click(force=True)  # it says that it is disabled
    expect(button).to_have_attribute("aria-pressed", "false")
    assert page.evaluate("localStorage.asked") == "2"
