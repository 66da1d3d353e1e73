import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import NewPage


@pytest.fixture
def turn(page: Page, cut_turn: str) -> str:
    """The address of a turn that was cut four times, open in `page`."""
    page.goto(cut_turn)
    return cut_turn


def at(page: Page, number: int) -> None:
    expect(page.locator("[data-now-number]")).to_have_text(str(number))
    expect(page.locator(".moment:visible")).to_have_count(1)
    expect(page.locator(".moment:visible")).to_contain_text(f"#t{number}")


def test_keys_step_through_every_transition_and_never_ask_the_server(page: Page, turn: str):
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if "/static/" not in request.url else None)
    at(page, 14)
    for key, number in [
        ("Home", 1), ("ArrowRight", 2), ("j", 3), ("ArrowLeft", 2), ("k", 1), ("k", 1), ("End", 14), ("j", 14),
    ]:  # fmt: skip
        page.keyboard.press(key)
        at(page, number)
    assert asked == []


def test_buttons_and_the_slider_step_too(page: Page, turn: str):
    page.get_by_role("button", name="First transition").click()
    page.get_by_role("button", name="Forward").click()
    at(page, 2)
    page.get_by_label("Transition", exact=True).focus()
    page.keyboard.press("ArrowRight")
    at(page, 3)
    box = page.locator(".track").bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + 1, box["y"] + 32)
    at(page, 1)


def test_what_came_later_is_dimmed_and_the_state_is_lit(page: Page, turn: str):
    page.keyboard.press("Home")
    page.keyboard.press("j")
    expect(page.locator('.node[data-when="now"]')).to_have_attribute("data-state", "evaluate_stop")
    expect(page.locator('.piece[data-when="now"]')).to_have_count(1)
    expect(page.locator('.piece[data-when="future"]')).to_have_count(3)


def test_each_transition_has_an_address(page: Page, turn: str, new_page: NewPage):
    page.keyboard.press("Home")
    page.keyboard.press("j")
    expect(page).to_have_url(re.compile(r"#t2$"))
    another = new_page()
    another.goto(f"{turn}#t5")
    at(another, 5)
    assert another.evaluate("scrollY") == 0


def test_raw_bytes_come_when_they_are_asked_for(page: Page, turn: str):
    expect(page.locator("#attempt-2 pre")).to_have_count(0)
    page.locator("#attempt-2 summary").click()
    expect(page.locator("#attempt-2")).to_contain_text("Continue exactly from where you left off")
    expect(page.locator("#attempt-2")).to_contain_text("chat.completion.chunk")


def test_without_scripts_every_step_is_on_the_page(new_page: NewPage, turn: str):
    plain = new_page(java_script_enabled=False)
    plain.goto(turn)
    expect(plain.locator(".moment:visible")).to_have_count(14)
    expect(plain.locator(".deck")).to_be_hidden()
    plain.goto(f"{turn}#t3")
    expect(plain.locator("#t3")).to_have_count(1)
