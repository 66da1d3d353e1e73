"""A what-if, the re-run that tests it, and what the track record says of the two."""

import re

from playwright.sync_api import Page, expect

from tests.browser.conftest import PHONE, NewPage
from tests.browser.journeys import played, scrolls_sideways

RECORD = "/backtests/track-record"


def test_a_rerun_under_another_limit_enters_the_record_of_its_model(page: Page):
    turn = played(page, "sim-essay", "How often is a what-if right?", max_tokens=150)
    page.goto(f"{turn}/replay?max_continuations=1")
    page.get_by_role("button", name="Re-run live").click()
    expect(page.locator(".side.live")).to_contain_text("Open this turn")
    page.goto("/backtests")
    page.get_by_role("link", name="Track record").click()
    row = page.get_by_role("row", name=re.compile("sim-essay"))
    expect(row).to_be_visible()
    for _ in range(60):
        if re.search(r"[1-9]\d* of [1-9]", row.inner_text()):
            break
        page.wait_for_timeout(1_000)
        page.reload()
    expect(row).to_contain_text(re.compile(r"(\d+) of \1\b"))
    expect(page.get_by_role("heading", name="Add predictions")).to_be_visible()
    page.goto(f"{turn}/replay?max_tokens=100")
    page.locator("#what-if").get_by_role("link", name="Track record").click()
    expect(page).to_have_url(re.compile(RECORD))


def test_on_a_phone_the_table_scrolls_and_the_page_does_not(new_page: NewPage):
    page = new_page(viewport=PHONE)
    page.goto(RECORD)
    expect(page.get_by_role("heading", name="Track record")).to_be_visible()
    assert not scrolls_sideways(page)
