"""What stands beside each other is aligned and spaced alike, and nothing lies on anything."""

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import NewPage
from tests.browser.journeys import played


def box(page: Page, selector: str) -> dict[str, Any]:
    found = page.locator(selector).first.bounding_box()
    assert found, selector
    return dict(found)


def test_choices_of_a_period_have_the_same_size_and_gaps_on_every_page(page: Page):
    spaces = set()
    for address in ("/gateway/", "/lint", "/metrics-board", "/policies/ledger"):
        page.goto(address)
        first, second = (box(page, f".choices .btn:nth-child({place})") for place in (1, 2))
        spaces.add((first["x"], first["height"], round(second["x"] - first["x"] - first["width"], 1)))
    assert len(spaces) == 1


#: Where something of the state diagram begins, and where it ends; its strokes do not count.
EDGES = "drawn => { const box = drawn.getBBox(); return [box.x, box.x + box.width]; }"


def test_the_word_over_a_state_ends_before_its_arrow(page: Page, cut_turn: str):
    page.goto(cut_turn)
    word = page.locator(".machine .by[data-label=complete]")
    expect(word).to_have_text("return_partial_with_notice")
    arrow = page.locator(".machine .going path[data-when=now]")
    assert word.evaluate(EDGES)[1] < arrow.evaluate(EDGES)[0]


@pytest.mark.parametrize("address", ["/", "/metrics-board"])
def test_the_largest_value_of_a_chart_stands_above_its_plot(page: Page, cut_turn: str, address: str):
    page.goto(address)
    largest, plot = box(page, ".tallest"), box(page, ".plot")
    assert largest["y"] + largest["height"] <= plot["y"] + 1


#: For each height at which cards stand, at how many heights their plots begin.
PLOTS = """() => {
  const rows = new Map();
  for (const card of document.querySelectorAll(".chart-card:has(.plot)")) {
    const top = Math.round(card.getBoundingClientRect().top);
    rows.set(top, [...(rows.get(top) ?? []), Math.round(card.querySelector(".plot").getBoundingClientRect().top)]);
  }
  return [...rows.values()].map((plots) => new Set(plots).size);
}"""


def test_plots_of_a_row_begin_at_one_height(new_page: NewPage):
    page = new_page(viewport={"width": 1440, "height": 900})
    played(page, "sim-essay", "Draw this beside that.", max_tokens=60)
    page.goto("/metrics-board")
    page.locator(".chart-card .plot").first.wait_for()
    assert set(page.evaluate(PLOTS)) == {1}


def test_a_folded_card_is_as_high_above_its_name_as_below(page: Page):
    page.goto("/webhooks/")
    if page.locator("details.card[open]").count():
        page.locator("details.card > summary").click()
    card, name = box(page, "details.card"), box(page, "details.card > summary h2")
    above = name["y"] - card["y"]
    below = card["y"] + card["height"] - name["y"] - name["height"]
    assert abs(above - below) <= 2
