"""A turn is compared, talked about, shared, and brought back."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import DESK, PHONE, NewPage
from tests.browser.journeys import exported, played, scrolls_sideways
from tests.browser.looks import LOOKS


@pytest.mark.nightly
def test_importing_the_same_file_again_leads_to_the_existing_turn(page: Page, cut_turn: str, tmp_path: Path):
    file = exported(page, cut_turn, tmp_path)
    page.goto("/import")
    page.get_by_label("Turn file, log").set_input_files(file)
    page.get_by_role("button", name="Import").click()
    expect(page).to_have_url(re.compile(f"{cut_turn}$"))
    expect(page.locator("#messages")).to_contain_text("already exists here")


def test_a_share_link_shows_the_turn_without_sign_in_until_revoked(
    page: Page, chrome: Browser, cut_turn: str, tmp_path: Path
):
    page.goto(cut_turn)
    page.get_by_role("link", name="Share").click()
    page.get_by_label("Redact prompt and answer").uncheck()
    page.get_by_role("button", name="Create link").click()
    address = page.get_by_label("Address of the link").input_value()
    stranger = chrome.new_context(viewport=DESK).new_page()
    asked: list[str] = []
    stranger.on("request", lambda request: asked.append(request.url))
    stranger.goto(address)
    expect(stranger.locator(".verdict")).to_contain_text("Cut off 4 times by Max tokens per call (max_tokens)")
    stranger.keyboard.press("Home")
    stranger.keyboard.press("j")
    expect(stranger.locator("[data-now-number]")).to_have_text("2")
    assert all("/static/" in url for url in asked[1:])
    assert stranger.context.cookies() == []
    page.get_by_role("button", name="Revoke the link").first.click()
    expect(page.locator("#messages")).to_contain_text("revoked")
    gone = stranger.goto(address)
    assert gone is not None
    assert gone.status == 404
    expect(stranger.locator("main")).to_contain_text("This link is not valid")
    stranger.context.close()


def test_a_redacted_link_contains_no_word_of_the_prompt(page: Page, chrome: Browser, cut_turn: str):
    page.goto(f"{cut_turn}/share")
    page.get_by_role("button", name="Create link").click()
    stranger = chrome.new_context(viewport=PHONE).new_page()
    stranger.goto(page.get_by_label("Address of the link").input_value())
    expect(stranger.locator("h1")).to_have_text("[13 characters redacted]")
    assert "Look at this" not in stranger.content()
    assert not scrolls_sideways(stranger)
    stranger.context.close()


def test_two_turns_are_compared_from_the_page_of_one(page: Page, cut_turn: str):
    other = played(page, "sim-essay", "Look at this.", max_tokens=150)
    page.goto(cut_turn)
    page.get_by_role("link", name="Compare").click()
    page.locator(".candidates a").first.click()
    expect(page.locator("h1")).to_have_text("Two turns compared")
    expect(page.locator(".path .parting")).to_contain_text("First divergence")
    expect(page.locator(".answers ins").last).to_be_visible()
    hidden = page.locator(".answers details")
    hidden.locator("summary").focus()
    page.keyboard.press("Enter")
    assert hidden.get_attribute("open") is not None
    page.goto(f"/compare?left={cut_turn.rsplit('/', 1)[1]}&right=http://somewhere{other}#t3")
    expect(page.locator("h1")).to_have_text("Two turns compared")


def test_a_comment_is_added_to_a_step_and_shown_there(page: Page, cut_turn: str):
    page.goto(f"{cut_turn}#t3")
    page.locator("#step").get_by_role("link", name="Comment on this transition").click()
    expect(page.get_by_label("Your comment")).to_be_focused()
    page.keyboard.type("Here it was cut.")
    page.get_by_role("button", name="Comment", exact=True).click()
    expect(page).to_have_url(re.compile(r"step=3#c[0-9a-f-]+$"))
    page.wait_for_load_state()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.closest('.comment') !== null"), "the keyboard goes on at the comment"
    said = page.locator("#step .remark")
    expect(said).to_be_visible()
    expect(said).to_contain_text("Here it was cut.")
    page.keyboard.press("j")
    expect(said).to_be_hidden()
    page.keyboard.press("k")
    expect(said).to_be_visible()
    expect(page.locator(".track .remarked")).to_have_count(1)
    page.get_by_role("button", name="Delete").click()
    expect(page.locator("#comments")).to_contain_text("No comments yet")


@pytest.mark.parametrize(("viewport", "scheme"), LOOKS)
def test_these_pages_do_not_scroll_sideways(new_page: NewPage, cut_turn: str, scheme: str, viewport: dict[str, int]):
    page = new_page(viewport=viewport, color_scheme=scheme)
    turn = cut_turn.rsplit("/", 1)[1]
    for address in (f"/compare?left={turn}&right={turn}", f"/compare?left={turn}", "/compare", "/import"):
        page.goto(address)
        expect(page.locator("main")).to_be_visible()
        assert not scrolls_sideways(page), address
    page.goto(f"{cut_turn}/share")
    page.get_by_role("button", name="Create link").click()
    expect(page.locator("#address")).to_be_visible()
    assert not scrolls_sideways(page)
    page.goto(page.locator("#address").input_value())
    assert not scrolls_sideways(page)
