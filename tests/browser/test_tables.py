"""The tables of all pages at every width: nothing of them lies beyond an edge, and no word of them is broken."""

import pytest

from tests.browser.conftest import NewPage
from tests.browser.places import addressed

#: What lies beyond the edge of its part of the page, which a reader has to scroll sideways to see.
BEYOND = """() => [...document.querySelectorAll('main :is(.wide, .scroll, .stacks, .prose table):not(.tabs)')]
  .filter(part => part.scrollWidth > part.clientWidth + 1 && part.clientWidth > 0)
  .map(part => part.textContent.trim().slice(0, 40))"""
#: The words of tables of which one part stands on another line than the rest. Keys and addresses are no words.
BROKEN = """() => {
  const broken = [], texts = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
  for (let text; (text = texts.nextNode()); ) {
    if (!text.parentElement.closest("table:not(.turns) :is(td, th)")) continue;
    for (const word of text.data.matchAll(/(?<![^\\s(“])\\p{L}+(?=[\\s.,;:)”]|$)/gu)) {
      const range = document.createRange();
      range.setStart(text, word.index);
      range.setEnd(text, word.index + word[0].length);
      const lines = new Set([...range.getClientRects()].map((box) => Math.round(box.top)));
      if (lines.size > 1 && word[0].length < 13) broken.push(word[0]);
    }
  }
  return broken;
}"""
WIDTHS = (390, 700, 900, 1100, 1280, 1440)
TABLES = (
    "a turn",
    "a document",
    "the lint report",
    "metrics",
    "limits",
    "the map of limits",
    "the track record",
    "agents",
    "an agent",
    "connections",
    "policies",
    "the ledger",
    "the audit log",
    "the account",
    "the gateway",
    "keys",
    "a sweep",
    "two turns compared",
)


#: A percent sign that stands apart from its number, or by another space than the rest.
APART = r"""() => document.body.innerText.match(/\d[ \u00a0]%/g) || []"""


@pytest.mark.parametrize("name", TABLES)
def test_at_every_width_a_table_is_fully_visible_breaks_no_word_and_has_one_format_of_percentages(
    new_page: NewPage, cut_turn: str, other_turn: str, name: str
):
    page = new_page()
    page.goto(addressed(name, cut_turn, other_turn))
    assert page.evaluate(APART) == []
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate(BEYOND) == [], width
        assert page.evaluate(BROKEN) == [], width
