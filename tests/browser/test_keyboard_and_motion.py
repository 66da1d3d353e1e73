"""What holds of every page for who wants no motion, and for who has a keyboard alone."""

from itertools import groupby

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import NewPage
from tests.browser.places import PAGES, addressed
from tests.nightly import nightly

#: Pages with the kinds of controls that there are; the others are made of the same, and are walked nightly.
OF_EACH_KIND = {
    "the timeline", "a turn", "what if", "a sweep", "two turns compared", "the map of limits", "an agent and its turn",
    "the account", "a policy to write", "a new agent", "policies in the admin", "keys",
}  # fmt: skip
assert PAGES.keys() >= OF_EACH_KIND
STOPS = 40  #: of a page, that are tabbed through
#: Elements, with their ::before and ::after, that would move for longer than a frame, or for ever.
MOVING = """() => {
  const seconds = words => Math.max(...words.split(",").map(parseFloat));
  const moves = style => seconds(style.transitionDuration) > 0.01
    || (style.animationName !== "none"
      && (seconds(style.animationDuration) > 0.01 || style.animationIterationCount === "infinite"));
  return [...document.querySelectorAll("body *")]
    .filter(each => [null, "::before", "::after"].some(part => moves(getComputedStyle(each, part))))
    .map(each => each.outerHTML.slice(0, 80));
}"""
#: Where the focus is, and whether what had it before looks otherwise without it. A focus may be drawn on a child, on
#: what stands beside or around the element, or on its row.
FOCUSED = """() => {
  const drawn = (each, part) => {
    const style = getComputedStyle(each, part);
    return [style.outlineStyle, style.outlineWidth, style.boxShadow, style.borderColor, style.stroke, style.strokeWidth,
      style.backgroundColor, style.clipPath, style.translate, style.transform, style.top].join(" ");
  };
  const look = each => [...[...each.querySelectorAll("*")].slice(0, 12), each, each.parentElement,
    each.parentElement.parentElement, each.closest("tr"), each.closest("tr")?.lastElementChild,
    each.nextElementSibling].filter(Boolean).flatMap(one => [drawn(one, null), drawn(one, "::after")]).join("|");
  const each = document.activeElement, left = window.left;
  const seen = !left || left.each === each || look(left.each) !== left.look;
  const there = each && each !== document.body;
  // Within a control of several parts the browser draws the later ones itself.
  if (!there || left?.each !== each) window.left = there ? { each, look: look(each) } : null;
  const unseen = seen ? null : left.each.outerHTML.slice(0, 120);
  return { unseen, place: there ? [...document.querySelectorAll("*")].indexOf(each) : null };
}"""
PARTS = 10  #: of one control, such as a date's day, month and year


def walk(page: Page) -> tuple[list[int], list[str]]:
    """The first stops of the Tab key until it leaves the page or comes round, and what does not show its focus."""
    stops: list[int] = []
    unseen: list[str] = []
    for _ in range(STOPS):
        page.keyboard.press("Tab")
        found = page.evaluate(FOCUSED)
        unseen += [found["unseen"]] if found["unseen"] else []
        if found["place"] is None or (found["place"] in stops[:1] and len(stops) > 1):
            break
        stops.append(found["place"])
    return stops, unseen


@pytest.mark.parametrize("name", [name if name in OF_EACH_KIND else nightly(name) for name in PAGES])
def test_nothing_moves_with_reduced_motion_and_every_tab_stop_is_visible(
    new_page: NewPage, cut_turn: str, other_turn: str, name: str
):
    page = new_page(reduced_motion="reduce", missing=name == "what is not there")
    page.goto(addressed(name, cut_turn, other_turn))
    expect(page.locator('[aria-busy="true"]')).to_have_count(0)
    assert page.evaluate(MOVING) == []
    stops, unseen = walk(page)
    assert unseen == []
    visits = [list(parts) for _, parts in groupby(stops)]
    assert max(map(len, visits)) <= PARTS, "Tab is trapped in a control"
    assert len(visits) == len(set(stops)), "Tab is trapped between some"
    assert len(visits) > 2, "Tab reaches nothing"


#: What is focused, the key pressed there, and the dialog that opens.
DIALOGS = [
    ("the timeline", "#rows .c-prompt a[href='{turn}']", "?", "Keys"),
    ("a turn", "[data-go=back]", "?", "Keys"),
    ("a turn", "[data-go=back]", "b", "Breakpoint"),
]


@pytest.mark.parametrize(("name", "place", "key", "dialog"), DIALOGS)
def test_a_closing_dialog_returns_the_focus(
    page: Page, cut_turn: str, other_turn: str, name: str, place: str, key: str, dialog: str
):
    page.goto(addressed(name, cut_turn, other_turn))
    focused = page.locator(place.format(turn=cut_turn)).first
    focused.focus()
    page.keyboard.press(key)
    expect(page.get_by_role("dialog", name=dialog)).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(focused).to_be_focused()


def test_single_key_shortcuts_are_switched_off_for_all_pages_by_the_checkbox_on_any_page(page: Page, cut_turn: str):
    keys = page.get_by_role("dialog", name="Keys")
    page.goto("/")
    page.keyboard.press("?")
    keys.get_by_label("Enable single-key shortcuts").uncheck()
    page.goto(cut_turn)
    page.keyboard.press("?")
    page.get_by_role("button", name="Keys", exact=False).first.click()
    expect(keys.get_by_label("Enable single-key shortcuts")).not_to_be_checked()
    keys.get_by_label("Enable single-key shortcuts").check()
    page.keyboard.press("Escape")
    expect(keys).to_be_hidden()
    page.keyboard.press("b")
    expect(page.get_by_role("dialog", name="Breakpoint")).to_be_visible()


@pytest.mark.parametrize("width", [1280, 390])
def test_the_step_controls_are_three_tab_stops_away(new_page: NewPage, cut_turn: str, width: int):
    page = new_page(viewport={"width": width, "height": 860})
    page.goto(cut_turn)
    for _ in range(2):
        page.keyboard.press("Tab")
    skip = page.get_by_role("link", name="Skip to the step controls (? shows all keys)")
    expect(skip).to_be_focused()
    expect(skip).to_be_in_viewport(ratio=1)
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    expect(page.locator("[data-go=first]")).to_be_focused()
