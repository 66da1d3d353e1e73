"""The path this product is for, as a person walks it."""

import re
from pathlib import Path

from playwright.sync_api import Page, expect

from tests.browser.journeys import LONG, ask, ended, played, words


def cut_off_and_tried_again(page: Page, tmp_path: Path) -> None:
    """60 tokens a call: cut, continued three times, partial; what more would have done is not in the recording."""
    ask(page, "sim-essay", "Why do agents stop too early?", max_tokens=60)
    address = ended(page)
    page.screenshot(path=tmp_path / "live.png")
    expect(page.locator(".verdict")).to_contain_text("Cut off 4 times by Max tokens per call (max_tokens)")
    expect(page.locator("#turn-head .facts")).to_contain_text("4 calls")
    expect(page.locator("#answer .seam")).to_have_count(4)
    expect(page.locator("#answer .notice")).to_contain_text("This answer is incomplete: 3 of 3 continuations used.")

    page.goto("/?stop_reason=retry_limit&q=agents")
    page.get_by_role("link", name="Why do agents stop too early?").click()
    expect(page).to_have_url(re.compile(address))
    page.screenshot(path=tmp_path / "turn.png")

    page.get_by_role("link", name="What if…").click()
    page.get_by_label("Max tokens per call", exact=True).fill("400")
    expect(page.locator("#what-if")).to_contain_text("the call requests 400 tokens instead of 60")
    expect(page.locator("#what-if")).to_contain_text("Re-run live to find out")
    page.screenshot(path=tmp_path / "what-if.png")
    page.get_by_role("button", name="Re-run live").click()
    expect(page.locator("#rerun")).to_contain_text("Completed in 1 call", timeout=LONG)
    assert words(page, "#rerun").startswith(words(page, "#what-if"))
    page.screenshot(path=tmp_path / "rerun.png")


def continued_and_found_to_need_one_call(page: Page, tmp_path: Path) -> None:
    """150 tokens a call: whole after continuations; 400 would have done in one, word for word."""
    page.goto(played(page, "sim-essay", "Say the whole of it.", max_tokens=150))
    expect(page.locator(".verdict")).to_contain_text("Completed after 2 continuations")
    page.get_by_role("link", name="What if…").click()
    page.get_by_label("Max tokens per call", exact=True).fill("400")
    expect(page.locator("#what-if h2 [data-certainty=estimated]")).to_be_visible()
    expect(page.locator("#what-if .assumes")).to_contain_text("The continued text takes")
    expect(page.locator("#what-if .parting")).to_contain_text("First divergence")
    page.get_by_role("button", name="Re-run live").click()
    expect(page.locator("#rerun")).to_contain_text("same text as the what-if", timeout=LONG)
    page.screenshot(path=tmp_path / "compared.png", full_page=True)
    page.get_by_role("button", name="Verify").click()
    expect(page.locator("#verify")).to_contain_text("All 4 records replayed")


def test_a_truncated_turn_from_end_to_end(page: Page, tmp_path: Path):
    cut_off_and_tried_again(page, tmp_path)
    continued_and_found_to_need_one_call(page, tmp_path)
