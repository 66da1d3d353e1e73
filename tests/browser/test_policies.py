"""A limit is lowered, found out, rolled back; a draft runs in the shadow; who may only look changes nothing."""

import re

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import DESK, PHONE, NewPage
from tests.browser.journeys import LONG, played, scrolls_sideways

AGENT, POLICY = "policy-trial", "trial"
PASSWORD = "only-to-look-around"


WITHIN = "cells => cells.every(cell => cell.getBoundingClientRect().right <= innerWidth)"


def saved(page: Page) -> None:
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.locator(".messagelist .success, .messagelist .info").first).to_be_visible()


def said(page: Page, why: str, continuations: int, counts: str = "now") -> None:
    """The policy's next version, made in the admin."""
    page.get_by_role("textbox", name="Reason").fill(why)
    page.get_by_label("Max continuations").fill(str(continuations))
    page.get_by_label("Status").select_option(counts)
    saved(page)


def opened(page: Page) -> None:
    page.goto("/policies/")
    page.get_by_role("link", name=POLICY, exact=True).click()


@pytest.mark.nightly
def test_a_limit_is_lowered_backtested_shadowed_and_rolled_back(page: Page):
    page.goto("/admin/agents/policy/add/")
    page.get_by_label("Name").fill(POLICY)
    said(page, "A start.", 5)
    page.goto("/admin/agents/agent/add/")
    for label, text in {"Name": AGENT, "Model": "sim-essay", "Max tokens": "150"}.items():
        page.get_by_label(label, exact=False).first.fill(text)
    page.get_by_label("Connection").select_option(label="simulator")
    page.locator("#id_policy").select_option(label=POLICY)
    saved(page)

    opened(page)
    page.get_by_role("link", name="Admin", exact=True).click()
    said(page, "It costs too much.", 1)

    turn = played(page, AGENT, "Why do agents stop?")
    page.goto(turn)
    ran_under = page.locator("#policy-of")
    expect(ran_under).to_contain_text("Lowered from 5 continuations by operator")
    ran_under.locator("summary").click()
    expect(ran_under).not_to_contain_text("continuation_max_attempts")
    expect(ran_under.locator("tr.by")).to_contain_text("ended this turn")

    ran_under.get_by_role("link", name="limits that stopped turns").click()
    line = page.locator("tbody tr", has_text="It costs too much.")
    expect(line).to_contain_text("1 continuation")
    expect(line).to_contain_text("operator")
    expect(line).to_contain_text("1 answer cut short")
    expect(line).to_contain_text("saved without a backtest")
    line.get_by_role("link", name=f"{POLICY} v2").click()
    expect(page.locator("#v2")).to_contain_text("active since")

    page.get_by_role("link", name="Compare with v1").click()
    expect(page.locator(".compared-versions")).to_contain_text("lowered")

    opened(page)
    page.locator("#v1 summary").click()
    page.locator("#v1").get_by_label("Reason").fill("Answers were cut.")
    page.get_by_role("button", name="Roll back to v1").click()
    expect(page.locator("#messages")).to_contain_text("trial v1 is now active.")
    expect(page.locator(".trail li").first).to_contain_text("operator activated v1")
    page.goto(played(page, AGENT, "Why do agents stop?"))
    expect(page.locator("#policy-of")).to_contain_text("Effective limits and their sources")
    expect(page.locator("#policy-of .stopped-by")).to_have_count(0)
    _a_draft_runs_in_the_shadow(page)


def _a_draft_runs_in_the_shadow(page: Page) -> None:
    opened(page)
    page.get_by_role("link", name="Admin", exact=True).click()
    said(page, "None at all?", 0, counts="draft")
    opened(page)
    expect(page.locator("#v3")).to_contain_text("Draft (inactive)")
    page.get_by_role("button", name="Start shadow run of v3").click()
    turn = played(page, AGENT, "Why do agents stop?")
    opened(page)
    shadow = page.locator("#shadow")
    expect(shadow).to_contain_text("would have stopped sooner 1", timeout=LONG)
    expect(shadow.get_by_role("link", name="Why do agents stop?")).to_have_attribute("href", turn)
    shadow.get_by_role("button", name="End shadow run").click()
    expect(page.locator("#messages")).to_contain_text("The shadow run has ended")


def test_a_watcher_cannot_change_anything(page: Page, chrome: Browser, link: str):
    page.goto("/admin/accounts/user/add/")
    page.get_by_label("Username").fill("vera")
    page.get_by_label("Password", exact=False).first.fill(PASSWORD)
    page.locator("#id_password2").fill(PASSWORD)
    saved(page)
    base = link.split("/sign-in", maxsplit=1)[0]
    viewer = chrome.new_context(base_url=base, viewport=DESK).new_page()
    viewer.goto("/sign-in/")
    viewer.locator("#id_username").fill("vera")
    viewer.locator("#id_password").fill(PASSWORD)
    viewer.get_by_role("button", name="Sign in").last.click()
    expect(viewer.get_by_role("link", name="Policies")).to_be_visible()
    viewer.goto("/policies/")
    viewer.get_by_role("link", name="default", exact=True).click()
    expect(viewer.locator("main")).to_contain_text("History")
    expect(viewer.locator("main form")).to_have_count(0)
    expect(viewer.get_by_role("link", name="Change", exact=True)).to_have_count(0)
    refused = viewer.goto("/admin/agents/policy/")
    assert refused is not None
    expect(viewer.locator("body")).not_to_contain_text("Select policy to change")
    viewer.context.close()


def test_policy_pages_do_not_scroll_sideways(new_page: NewPage, cut_turn: str):
    page = new_page(viewport=PHONE)
    for address in ("/policies/", "/policies/ledger", "/policies/changes", cut_turn):
        page.goto(address)
        expect(page.locator("main")).to_be_visible()
        assert not scrolls_sideways(page), address
    page.goto("/policies/")
    page.get_by_role("link", name="default", exact=True).click()
    expect(page).to_have_url(re.compile(r"/policies/[0-9a-f-]{36}$"))
    assert not scrolls_sideways(page)


def test_no_table_of_a_policy_form_is_clipped_on_a_phone(new_page: NewPage, cut_turn: str):
    page = new_page(viewport=PHONE)
    page.goto("/admin/agents/policy/")
    page.locator("#result_list tbody a", has_text="default").first.click()
    page.get_by_role("button", name="Run the backtest").click()
    expect(page.locator("#groups")).to_be_visible()
    for table in ("#versions-group", "#groups"):
        assert page.locator(f"{table} td:visible").count(), table
        assert page.locator(f"{table} td:visible").evaluate_all(WITHIN), table


@pytest.mark.parametrize("width", [1280, 1920])
def test_the_table_of_a_drafts_backtest_has_room_beside_the_form(new_page: NewPage, cut_turn: str, width: int):
    page = new_page(viewport={"width": width, "height": 900})
    page.goto("/policies/")
    page.get_by_role("link", name="default", exact=True).click()
    page.goto(f"{page.url}/change")
    page.get_by_role("button", name="Run the backtest").click()
    expect(page.locator("#groups")).to_be_visible(timeout=LONG)
    assert page.locator("#groups .wide").evaluate("table => table.scrollWidth - table.clientWidth") <= 0
