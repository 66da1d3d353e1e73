import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import NewPage
from tests.browser.journeys import LONG, ask, ended, until


def test_a_reload_mid_turn_misses_nothing(page: Page, new_page: NewPage, talker: str):
    ask(page, talker, "Go on for long.", max_tokens=150)
    expect(page.locator("#draft")).to_contain_text(" ", timeout=LONG)
    page.reload()
    address = ended(page)
    fresh = new_page()
    fresh.goto(address)
    page.locator("details.calls > summary").click()
    for part in ("#turn-head h1", ".verdict", "#turn-head .facts", "#machine", "#answer", "#attempts"):
        expect(page.locator(part)).to_have_text(fresh.locator(part).inner_text(), use_inner_text=True)


def test_cancel_ends_the_turn_and_keeps_the_text(page: Page, talker: str):
    ask(page, talker, "I will cancel this.", max_tokens=2000)
    expect(page.locator("#draft")).to_contain_text(" ", timeout=LONG)
    page.get_by_role("button", name="Cancel").click()
    ended(page)
    expect(page.locator(".verdict")).to_contain_text("Cancelled by")
    expect(page.locator("#answer .seam")).to_have_text(["cancelled"])


def test_an_empty_prompt_is_refused_beside_its_field_which_gets_the_focus(page: Page):
    page.goto("/agents/sim-essay/live")
    page.get_by_label("Max tokens per call").fill("70")
    page.get_by_role("button", name="Send").click()
    expect(page.get_by_role("alert").last).to_have_text("Prompt is required.")
    expect(page.get_by_role("alert").first).to_contain_text("Nothing was sent. Correct 1 field: Prompt")
    expect(page.get_by_label("Prompt for sim-essay")).to_be_focused()
    expect(page.get_by_label("Max tokens per call")).to_have_value("70")


def test_a_prompt_can_be_sent_by_keyboard_alone(page: Page):
    page.goto("/agents/sim-essay/live")
    page.get_by_label("Prompt for sim-essay").fill("By keyboard.")
    page.keyboard.press("Shift+Enter")
    page.keyboard.type("In two lines.")
    expect(page.get_by_label("Prompt for sim-essay")).to_have_value("By keyboard.\nIn two lines.")
    page.keyboard.press("Enter")
    ended(page)
    expect(page.get_by_label("Prompt for sim-essay")).to_have_value("")


@pytest.mark.nightly
def test_enter_inserts_a_line_break_where_this_browser_is_set_to(page: Page):
    page.goto("/agents/sim-refuse/live")
    page.get_by_label("Keys").select_option("Enter adds a line, Shift+Enter sends")
    page.reload()
    prompt = page.get_by_label("Prompt for sim-refuse")
    prompt.fill("One line.")
    page.keyboard.press("Enter")
    page.keyboard.type("Another.")
    expect(prompt).to_have_value("One line.\nAnother.")
    page.keyboard.press("Shift+Enter")
    ended(page)
    expect(prompt).to_have_value("")


END = "document.getElementById('draft').getBoundingClientRect().bottom"


def test_the_page_follows_the_stream_until_the_reader_scrolls_away_and_counts_its_tokens(page: Page, talker: str):
    ask(page, talker, "Let me read.", max_tokens=4_000)
    expect(page.locator("#tokens-out")).to_have_text(re.compile(r"≈\s+[0-9]"))
    until(page, lambda: page.evaluate("scrollY > 400"), "it does not follow")
    composer = "document.getElementById('composer').getBoundingClientRect().top"
    until(page, lambda: page.evaluate(f"{END} < {composer}"), "the end of the text is hidden")
    early = page.locator("#tokens-out").inner_text()
    page.mouse.move(400, 300)
    page.mouse.wheel(0, -5_000)
    until(page, lambda: page.evaluate("scrollY") == 0, "it does not scroll")
    length = len(page.locator("#draft").inner_text())
    until(page, lambda: len(page.locator("#draft").inner_text()) > length + 200, "the stream has stopped")
    assert page.evaluate("scrollY") == 0, "the reader is left where they are"
    assert page.locator("#tokens-out").inner_text() != early
    page.evaluate("scrollTo(0, document.body.scrollHeight)")
    until(page, lambda: len(page.locator("#draft").inner_text()) > length + 800, "the stream has stopped")
    until(page, lambda: page.evaluate(f"{END} < {composer}"), "it does not follow again")
    page.get_by_role("button", name="Cancel", exact=True).first.click()
    ended(page)


SEEN = """selector => { const box = document.querySelector(selector).getBoundingClientRect();
  const there = document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2);
  return Boolean(there) && document.querySelector(selector).contains(there); }"""
USED = "#heading [data-count=used]"


@pytest.mark.parametrize("budget", [None, 90_000])
def test_the_budget_counts_what_streams_in_the_first_call_and_stays_in_sight(
    new_page: NewPage, talker: str, budget: int | None
):
    page = new_page(viewport={"width": 1280, "height": 860})
    page.goto(f"/agents/{talker}/live")
    page.get_by_label(f"Prompt for {talker}").fill("Count while it streams.")
    page.get_by_label("Max tokens per call").fill("4000")
    if budget:
        page.get_by_label("Conversation budget").fill(str(budget))
    page.get_by_role("button", name="Send").click()
    expect(page.locator(USED)).to_have_text(re.compile(r"≈ [1-9]"))
    until(page, lambda: page.evaluate("scrollY > 400"), "it does not follow")
    assert page.evaluate(SEEN, USED)
    early = page.locator(USED).inner_text()
    expect(page.locator(USED)).not_to_have_text(early)
    page.get_by_role("button", name="Cancel", exact=True).first.click()
    ended(page)
    expect(page.locator(USED)).to_have_text(re.compile(r"^[0-9,]+$"))
    if budget:
        expect(page.locator("#heading [data-count=left]")).to_have_text(re.compile(r"^[0-9,]+$"))


def test_the_page_follows_a_stream_whose_text_starts_below_the_window(new_page: NewPage, talker: str):
    page = new_page(viewport={"width": 1280, "height": 500})
    ask(page, talker, "Let me read on.", max_tokens=4_000)
    until(page, lambda: page.evaluate("scrollY > 400"), "it does not follow")
    page.get_by_role("button", name="Cancel", exact=True).first.click()
    ended(page)


@pytest.mark.nightly
def test_the_timeline_shows_a_new_turn_without_a_reload(page: Page, new_page: NewPage):
    timeline = new_page()
    timeline.goto("/?agent=sim-essay")
    ask(page, "sim-essay", "Look at the timeline.", max_tokens=60)
    row = timeline.locator("#rows tr", has_text="Look at the timeline.")
    expect(row).to_be_visible()
    expect(row).to_contain_text("retry_limit", timeout=LONG)
    ask(page, "sim-refuse", "This one is filtered out.")
    ended(page)
    expect(timeline.locator("#rows")).not_to_contain_text("This one is filtered out.")


def test_no_text_of_an_answer_is_executed(page: Page):
    prompt = "<script>alert(1)</script><img src=x onerror=alert(2)>"
    ask(page, "sim-essay", prompt, max_tokens=60)
    page.goto(ended(page))
    expect(page.locator("h1")).to_contain_text(prompt)
