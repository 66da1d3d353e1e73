"""Agents, connections and limits by page: from the address of a server to a limit that was tried and is active."""

import re

from playwright.sync_api import Page, expect

from tests.browser.conftest import NewPage
from tests.browser.journeys import LONG, ended

NAME = "essayist"


def create_a_connection_and_test_it(page: Page) -> None:
    page.goto("/connections/simulator")
    address = page.get_by_label("Address").input_value()
    page.goto("/agents")
    page.get_by_role("link", name="Connections", exact=True).click()
    page.get_by_role("link", name="New connection").click()
    page.get_by_label("Name", exact=True).fill("lab")
    page.get_by_label("Address").fill("nowhere")
    page.get_by_role("button", name="Create connection").click()
    expect(page.locator("#id_base_url_error")).to_contain_text("must begin with http://")
    page.get_by_label("Address").fill(address)
    page.get_by_label("Model to test with").fill("sim-essay")
    page.get_by_role("button", name="Create and test the connection").click()
    expect(page.locator("#messages")).to_contain_text("The connection “lab” was created.", timeout=LONG)
    expect(page.locator("#last-test")).to_contain_text("Tested with sim-essay")


def create_an_agent_on_it(page: Page) -> None:
    page.get_by_role("link", name="New agent").click()
    expect(page.get_by_label("Connection").locator("option:checked")).to_have_text("lab")
    page.get_by_label("Name", exact=True).fill(NAME)
    page.get_by_label("Model", exact=True).fill("sim-essay")
    page.get_by_label("Max tokens").fill("150")
    page.get_by_role("button", name="Create agent").click()
    expect(page.locator("#messages")).to_contain_text(f"The agent “{NAME}” was created.")


def talk_to_it(page: Page) -> None:
    page.get_by_role("link", name="Talk", exact=True).click()
    page.get_by_label(f"Prompt for {NAME}").fill("Why do agents stop?")
    page.get_by_role("button", name="Send").click()
    ended(page)


def change_a_limit_to_a_draft_with_its_backtest(page: Page) -> None:
    page.goto("/agents")
    page.get_by_role("link", name=NAME, exact=True).first.click()
    page.get_by_role("link", name="Change Max continuations").click()
    page.get_by_label("Max continuations").fill("1")
    panel = page.locator("#backtest-panel")
    panel.get_by_label("Agent").select_option(label=NAME)
    panel.get_by_role("button", name="Run the backtest").click()
    expect(panel.locator("#backtest")).to_contain_text("Done 1 of 1 turn", timeout=LONG)
    expect(panel.locator(".outcomes")).to_contain_text("stopped sooner 1")
    page.get_by_role("textbox", name="Reason").fill("Long answers cost too much.")
    page.get_by_role("button", name="Save draft").click()
    expect(page.locator("#messages")).to_contain_text(
        re.compile(f"Draft v1 of “{NAME}” saved with a backtest over 1 turn")
    )


def activate_it(page: Page) -> None:
    version = page.locator("#v1")
    expect(version).to_contain_text("Draft (inactive)")
    version.locator("summary").click()
    version.get_by_label("Reason").fill("As tried.")
    version.get_by_role("button", name="Activate v1").click()
    expect(page.locator("#messages")).to_contain_text(f"{NAME} v1 is now active.")
    page.get_by_role("link", name=NAME, exact=True).first.click()
    limit = page.locator("#limits tr", has_text="Max continuations")
    expect(limit).to_contain_text("1 continuation")
    expect(limit.get_by_role("link", name=f"{NAME} v1")).to_be_visible()


def test_a_connection_an_agent_and_a_limit_are_created_on_the_pages_and_the_limit_is_tested_before_activation(
    new_page: NewPage,
):
    page = new_page(missing=True)  # a form that is wrong is answered with 422
    create_a_connection_and_test_it(page)
    create_an_agent_on_it(page)
    talk_to_it(page)
    change_a_limit_to_a_draft_with_its_backtest(page)
    activate_it(page)
