"""The keyboard goes on where it was, whatever replaces the part of the page that it is in."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.journeys import until

#: Between two controls of the page, a part in which one control has the focus; how often it was answered.
ASKING = """([html, focused]) => {
  document.querySelector("main").innerHTML =
    `<button id="before">Before</button><div id="place">${html}</div><button id="after">After</button>`;
  [...document.querySelectorAll("#place :is(a, button)")].find(one => one.textContent === focused).focus();
  window.answered = 0;
  document.addEventListener("htmx:afterSettle", () => answered++);
  htmx.process(document.getElementById("place"));
}"""
#: The same part, put there as a socket's message does.
PUSH = """html => {
  const place = document.getElementById("place");
  place.innerHTML = html;
  htmx.trigger(place, "htmx:wsAfterMessage", { message: html });
}"""
ASKS = 'hx-get="/asked" hx-trigger="every 100ms" hx-swap="outerHTML"'
LINKS = '<a href="/turns/1">One</a> <a href="/turns/2">Two</a>'


def part(inner: str, asks: str = "") -> str:
    return f'<section id="part" aria-label="What is asked for" {asks}>{inner}</section>'


def asking(page: Page, first: str, focused: str, then: str = "") -> None:
    """A part of the page that shows `first`, and where that asks for itself, shows `then` from now on."""
    page.goto("/account/")
    page.route("**/asked", lambda route: route.fulfill(content_type="text/html", body=then))
    page.evaluate(ASKING, [first, focused])


def answered(page: Page) -> None:
    before = page.evaluate("answered")
    until(page, lambda: page.evaluate("answered") > before + 1, "it does not ask for itself")


def tab(page: Page, key: str = "Tab") -> str:
    page.keyboard.press(key)
    return str(page.evaluate("document.activeElement.textContent"))


def test_a_link_keeps_the_focus_while_its_fragment_refreshes(page: Page):
    asking(page, part(LINKS, ASKS), "One", part(LINKS, ASKS))
    answered(page)
    expect(page.get_by_role("link", name="One")).to_be_focused()
    assert tab(page) == "Two"


@pytest.mark.parametrize(("key", "next_one"), [("Tab", "One"), ("Shift+Tab", "Before")])
def test_tab_continues_at_a_fragment_whose_focused_button_is_gone(page: Page, key: str, next_one: str):
    asking(page, part("<button>Find</button>", ASKS), "Find", part(LINKS, ASKS))
    answered(page)
    assert tab(page, key) == next_one


def test_a_fragment_that_stops_refreshing_gets_the_focus_of_a_removed_element(page: Page):
    asking(page, part("<button>Find</button>", ASKS), "Find", part(LINKS))
    expect(page.locator("#part")).to_be_focused()


def test_a_different_button_in_the_same_place_does_not_get_the_focus(page: Page):
    asking(page, part("<button>Approve</button>"), "Approve")
    page.evaluate(PUSH, part("<button>Refuse</button>"))
    expect(page.locator("#part")).to_be_focused()
    page.evaluate(PUSH, part("<button>Refuse</button><button>Approve</button>"))
    expect(page.get_by_role("button", name="Approve")).to_be_focused()


def test_a_fragment_left_by_pointer_does_not_take_the_focus_back(page: Page):
    asking(page, part(LINKS), "One")
    page.mouse.click(5, 800)
    page.evaluate(PUSH, part(LINKS))
    page.wait_for_timeout(50)
    assert page.evaluate("document.activeElement === document.body || document.activeElement.id === 'main'")
