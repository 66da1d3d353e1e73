"""What stands beside each other is aligned and spaced alike, and nothing lies on anything."""

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import PHONE, NewPage
from tests.browser.journeys import played, until
from tests.browser.places import addressed


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


@pytest.mark.parametrize("width", [PHONE["width"], 1280])
def test_the_button_of_the_sign_in_page_stands_under_its_fields(page: Page, width: int):
    page.context.clear_cookies()
    page.set_viewport_size({"width": width, "height": 900})
    page.goto("/sign-in/")
    field, button, card = (box(page, each) for each in ("#id_code", ".sign-in .btn", ".sign-in"))
    assert (button["x"], button["width"]) == (field["x"], field["width"])
    assert card["y"] + card["height"] - button["y"] - button["height"] >= 24


#: Where something of the state diagram begins, and where it ends; its strokes do not count.
EDGES = "drawn => { const box = drawn.getBBox(); return [box.x, box.x + box.width]; }"


def test_the_word_over_a_state_ends_before_its_arrow(page: Page, cut_turn: str):
    page.goto(cut_turn)
    word = page.locator(".machine .by[data-label=complete]")
    expect(word).to_have_text("return_partial_with_notice")
    arrow = page.locator(".machine .going path[data-when=now]")
    assert word.evaluate(EDGES)[1] < arrow.evaluate(EDGES)[0]


@pytest.mark.parametrize("address", ["/", "/metrics-board"])
def test_the_largest_value_of_a_chart_is_written_above_its_plot(page: Page, cut_turn: str, address: str):
    # The board shows sums, which are made a few seconds after a turn has ended.
    until(page, lambda: 'class="tallest"' in page.request.get("/metrics-board").text(), "no chart yet", every=500)
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


def test_a_button_beside_fields_has_their_height_and_is_aligned_with_them(page: Page, cut_turn: str):
    for address, row in (("/metrics-board", ".board-choices .inline"), (f"{cut_turn}/replay/sweep", ".range")):
        page.goto(address)
        field, button = box(page, f"{row} select"), box(page, f"{row} .btn.primary")
        assert abs(field["y"] - button["y"]) < 1, address
        assert abs(field["height"] - button["height"]) < 1, address


@pytest.mark.parametrize("address", ["/metrics-board", "/webhooks/"])
def test_a_card_heading_is_vertically_centred_on_the_choices_beside_it(page: Page, cut_turn: str, address: str):
    page.goto(address)
    if address == "/webhooks/":
        if not page.locator("main .outgoing a").count():
            page.locator("[name=name]").fill("on-call")
            page.locator("[name=url]").fill("http://127.0.0.1:9/hook")
            page.locator("[name=events]").first.check()
            page.get_by_role("button", name="Create webhook").click()
            page.goto(address)
        page.locator("main .outgoing a").first.click()
    heading = page.locator(".card > h2:has(.btn)").first
    assert (
        heading.evaluate(
            """heading => {
          const words = document.createRange(), choice = heading.querySelector(".btn").getBoundingClientRect();
          words.selectNode(heading.firstChild);
          const box = words.getBoundingClientRect();
          return Math.abs(box.top + box.bottom - choice.top - choice.bottom) / 2;
        }"""
        )
        < 1.5
    )


def test_cards_beside_each_other_on_the_page_of_the_gateway_end_at_one_height(page: Page):
    page.goto("/gateway/")
    ends = page.locator(".overview > *").evaluate_all("cards => cards.map(card => card.getBoundingClientRect().bottom)")
    assert len(ends) == 2
    assert abs(ends[0] - ends[1]) < 1


def test_snippets_beside_each_other_begin_and_end_at_one_height(new_page: NewPage):
    page = new_page(viewport={"width": 1280, "height": 900})
    page.goto("/tour")
    boxes = page.locator(".ways .snippet").evaluate_all(
        "all => all.map(one => one.getBoundingClientRect()).map(box => [Math.round(box.top), Math.round(box.bottom)])"
    )
    assert len(boxes) == 3
    assert len({tuple(each) for each in boxes}) == 1


#: Of the values in one line of a stacked row, how far their first words stand apart vertically.
UNEVEN = """() => [...document.querySelectorAll(".stacks tbody tr")].flatMap((row) => {
  const lines = new Map(), words = document.createRange();
  for (const value of row.querySelectorAll("td[data-label]")) {
    const text = document.createTreeWalker(value, NodeFilter.SHOW_TEXT, (one) => (one.data.trim() ? 1 : 3)).nextNode();
    if (!text) continue;
    words.selectNode(text);
    const line = Math.round(value.getBoundingClientRect().top / 12), bottom = words.getBoundingClientRect().bottom;
    lines.set(line, [...(lines.get(line) ?? []), bottom]);
  }
  return [...lines.values()].map((bottoms) => Math.max(...bottoms) - Math.min(...bottoms)).filter((apart) => apart > 3);
})"""


@pytest.mark.parametrize("address", ["/agents", "/lint"])
def test_values_in_one_line_of_a_stacked_row_are_aligned(new_page: NewPage, cut_turn: str, address: str):
    page = new_page(viewport=PHONE)
    page.goto(address)
    assert page.evaluate(UNEVEN) == []


def test_on_a_phone_no_line_above_a_heading_ends_with_a_separator(new_page: NewPage, cut_turn: str, other_turn: str):
    page = new_page(viewport=PHONE)
    for address in (cut_turn, addressed("two turns compared", cut_turn, other_turn)):
        page.goto(address)
        about = page.locator(".crumb-about").first
        assert about.evaluate("one => getComputedStyle(one, '::before').content") == "none"
        assert about.evaluate("one => getComputedStyle(one).display") == "block"


def test_the_main_button_of_a_recommended_value_comes_first(page: Page):
    page.goto(f"{played(page, 'sim-essay', 'Which button is the first?', max_tokens=150)}/replay/sweep")
    use = page.locator(".advice .acts:has(form)")
    use.first.wait_for()
    assert set(use.evaluate_all("all => all.map(one => one.children[0].tagName)")) == {"FORM"}


def test_the_switch_of_a_charts_colours_has_its_words_on_a_phone(new_page: NewPage, cut_turn: str):
    page = new_page(viewport=PHONE)
    page.goto("/")
    words = page.get_by_text("Colours: stop reason of the")
    expect(words).to_be_visible()
    said, switch, plot = box(page, ".colours > span"), box(page, ".colours fieldset"), box(page, "#chart .plot")
    assert abs(said["y"] + said["height"] / 2 - switch["y"] - switch["height"] / 2) < 1.5
    assert switch["y"] + switch["height"] <= plot["y"]


@pytest.mark.parametrize(
    ("address", "opens", "sends"), [("/gateway/keys", "New key", "Create key"), ("/account/", "", "Create token")]
)
def test_an_error_of_one_field_moves_none_of_those_beside_it(new_page: NewPage, address: str, opens: str, sends: str):
    page = new_page(missing=True)  # the form is refused
    page.goto(address)
    if opens and not page.locator("#make[open]").count():
        page.get_by_text(opens, exact=True).click()
    page.evaluate("document.querySelectorAll('form').forEach(form => { form.noValidate = true; })")
    page.get_by_role("button", name=sends).click()
    row = page.locator(".inline:has(.wrong)").first
    expect(row).to_be_visible()
    tops = row.locator(":scope > .field").evaluate_all("all => all.map(one => one.getBoundingClientRect().top)")
    assert len(tops) > 1
    assert max(tops) - min(tops) < 1


#: The colours of a chosen row, and of its prompt, which stays in sight where columns are scrolled.
PAINTED = """row => [row, row.querySelector(".c-prompt")].map(each => getComputedStyle(each).backgroundColor)"""


def test_a_chosen_row_has_one_colour_also_under_the_pointer(page: Page, cut_turn: str):
    page.goto("/")
    row = page.locator("#rows tr").first
    row.locator("input[name=turn]").check()
    colours = [row.evaluate(PAINTED)]
    row.hover()
    colours.append(row.evaluate(PAINTED))
    assert len({colour for each in colours for colour in each}) == 1, colours


def test_found_words_have_the_pages_own_colour_in_prompts_too(page: Page, cut_turn: str):
    page.goto("/?q=look")
    mark = page.locator("#rows .c-prompt a mark").first
    assert mark.evaluate("mark => getComputedStyle(mark).backgroundColor") != "rgb(255, 255, 0)"


#: How the sign before each thing that folds is drawn, in parts of its own size.
SIGNS = """() => [...document.querySelectorAll("#main summary")].flatMap((summary) => {
  const style = getComputedStyle(summary, "::before"), size = parseFloat(style.fontSize);
  if (!style.content.includes("›") || !summary.getClientRects().length || summary.closest(".folds, .ended")) return [];
  return [[style.width, style.marginInlineEnd].map((length) => (parseFloat(length) / size).toFixed(2)).join(" ")];
})"""


def test_what_folds_has_one_sign_at_the_edge_of_its_text(page: Page, cut_turn: str, other_turn: str):
    drawn = {}
    compared = f"/compare?left={cut_turn.rsplit('/', 1)[1]}&right={other_turn.rsplit('/', 1)[1]}"
    for address in (cut_turn, f"{cut_turn}/replay", "/gateway/keys", "/webhooks/", compared, "/agents/sim-essay/live"):
        page.goto(address)
        drawn[address] = set(page.evaluate(SIGNS))
    assert {sign for signs in drawn.values() for sign in signs} == {"0.50 0.45"}, drawn


def test_the_button_row_of_the_admin_has_one_filled_button_in_the_case_of_the_others(page: Page):
    page.goto("/admin/agents/policy/add/")
    buttons = page.locator(".submit-row input[type=submit]")
    fills = buttons.evaluate_all("all => all.map((one) => getComputedStyle(one).backgroundColor)")
    cases = buttons.evaluate_all("all => all.map((one) => getComputedStyle(one).textTransform)")
    assert [fills.count(fill) for fill in dict.fromkeys(fills)] == [1, len(fills) - 1]
    assert set(cases) == {"none"}
