"""What people do with a recorded turn: turn its dials, sweep a limit, run it again in other words."""

import re

import pytest
from playwright.sync_api import Page, Route, expect

from tests.browser.conftest import PHONE, NewPage
from tests.browser.journeys import LONG, played, scrolls_sideways, until


@pytest.mark.nightly
def test_the_newest_answer_is_kept_even_if_an_older_one_arrives_later(page: Page, cut_turn: str):
    page.goto(f"{cut_turn}/replay")
    held: list[Route] = []
    page.route("**/replay?*max_tokens=30*", lambda route: held.append(route))
    field = page.get_by_label("Max tokens per call", exact=True)
    field.fill("30")
    until(page, lambda: held, "nothing was asked")
    field.fill("45")
    page.wait_for_timeout(300)  # time enough to ask for it
    held.pop().continue_()
    expect(page.locator("#what-if .figures dd").first).to_have_text("45")
    page.wait_for_timeout(1_000)
    expect(page.locator("#what-if .figures dd").first).to_have_text("45")
    expect(page).to_have_url(re.compile(r"max_tokens=45$"))


@pytest.mark.nightly
def test_a_number_typed_before_all_scripts_have_loaded_is_submitted(page: Page, cut_turn: str):
    held: list[Route] = []
    page.route("**/htmx-*.js", lambda route: held.append(route))
    page.goto(f"{cut_turn}/replay", wait_until="commit")
    page.get_by_label("Max tokens per call", exact=True).fill("45")
    until(page, lambda: held, "the script was not asked for")
    for route in held:
        route.continue_()
    expect(page.locator("#what-if .figures dd").first).to_have_text("45")
    expect(page).to_have_url(re.compile(r"max_tokens=45$"))


def test_dials_are_operated_by_keyboard_alone_and_announce_their_value(page: Page, cut_turn: str):
    page.goto(f"{cut_turn}/replay")
    slider = page.get_by_label("max continuations, slider")
    slider.focus()
    page.keyboard.press("Home")
    expect(slider).to_have_attribute("aria-valuetext", "0 continuations per turn")
    expect(page.get_by_label("Max continuations", exact=True)).to_have_value("0")
    expect(page.locator("#what-if")).to_contain_text("First divergence")
    expect(page.locator("#what-if-status")).to_contain_text("What if:")
    expect(slider).to_be_focused()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_label("Max continuations", exact=True)).to_have_value("1")
    expect(page).to_have_url(re.compile("max_continuations=1"))


@pytest.mark.nightly
def test_an_impossible_number_is_reported_beside_its_field_while_typing(page: Page, cut_turn: str):
    page.goto(f"{cut_turn}/replay?max_continuations=2")
    page.get_by_label("Max tokens per call", exact=True).fill("0")
    expect(page.locator("#budget_max_tokens_error")).to_have_text(
        "Max tokens per call must be a whole number from 1 to 10,000,000."
    )
    expect(page.get_by_label("Max continuations", exact=True)).to_have_value("2")
    page.get_by_label("Max tokens per call", exact=True).fill("50")
    expect(page.locator("#budget_max_tokens_error")).to_be_empty()


def test_the_smallest_limit_that_completes_is_found_and_confirmed(page: Page):
    page.goto(played(page, "sim-essay", "Find my limit.", max_tokens=150))
    page.get_by_role("link", name="What if…").click()
    page.get_by_role("link", name="Sweep").click()
    expect(page.locator("#sweep")).to_contain_text("Recommended values")
    page.get_by_label("Limit", exact=True).select_option("max_continuations")
    expect(page.locator("#sweep")).to_contain_text(re.compile(r"certain from 2\b"))
    page.get_by_role("link", name=re.compile("What if Max continuations were")).first.click()
    expect(page.locator("#what-if")).to_contain_text("same text as recorded")


@pytest.mark.nightly
def test_a_rerun_from_a_record_with_another_prompt_is_shown_in_the_family(page: Page):
    turn = played(page, "sim-essay", "First words.", max_tokens=60)
    page.goto(f"{turn}/replay?max_tokens=400")
    page.get_by_role("link", name="Re-run live from record 2").click()
    expect(page.locator("main")).to_contain_text("after record 2")
    page.get_by_label("message 1, user").fill("Other words.")
    page.get_by_role("button", name="Re-run live").click()
    expect(page.locator("#rerun")).to_contain_text("Completed", timeout=LONG)
    expect(page.locator("#lineage")).to_contain_text("from record 2 of the original: Max tokens per call 60 → 400")
    expect(page.locator("#lineage")).to_contain_text("message 1 rewritten")


@pytest.mark.nightly
def test_a_live_rerun_completes_the_part_missing_from_the_recording(page: Page):
    turn = played(page, "sim-essay", "Go on, then.", max_tokens=60)
    page.goto(f"{turn}/replay?max_continuations=9&max_total_completion_tokens=2000")
    expect(page.locator("#what-if")).to_contain_text("was never made in this recording")
    page.get_by_role("button", name="Continue live from here").click()
    expect(page.locator("#rerun")).to_contain_text("Completed", timeout=LONG)


def test_the_replay_page_fits_a_phone(new_page: NewPage, cut_turn: str):
    page = new_page(viewport=PHONE)
    for where in ("?max_tokens=400&max_retries=3", "/sweep", "/again?from_record=2"):
        page.goto(f"{cut_turn}/replay{where}")
        expect(page.locator("main")).to_be_visible()
        assert not scrolls_sideways(page), where
