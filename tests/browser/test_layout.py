"""What a designer would send back: torn cards, broken words, edges that do not line up."""

from collections.abc import Iterator

from playwright.sync_api import Page

from tests.browser.conftest import PATIENCE, PHONE, NewPage
from tests.browser.journeys import played, scrolls_sideways, until
from tests.browser.test_operating import agent


def widths(page: Page, *all_of_them: int) -> Iterator[int]:
    """Each width in turn, while what is open has it: to load a page again for each takes longest."""
    for width in all_of_them:
        page.set_viewport_size({"width": width, "height": 900})
        yield width


FORMS = ("/agents/+new", "/connections/+new", "/policies/new", "/tour", "/import", "/account/", "/backtests/new")
#: Cards that columns tear apart, and those that hide a part of themselves.
TORN = """() => [...document.querySelectorAll("#main .card")]
  .filter((card) => card.getClientRects().length > 1 || card.scrollHeight > card.clientHeight + 1)
  .map((card) => card.innerText.slice(0, 40))"""


def test_no_card_is_split_or_clipped(new_page: NewPage):
    page, torn = new_page(), {}
    for address in FORMS:
        page.goto(address)
        for width in widths(page, 390, 1280, 1920):
            torn[address, width] = page.evaluate(TORN)
    assert not any(torn.values()), torn


#: Where a part of the page has its first thing, in pixels from the left.
EDGES = """(within) => {
  const style = getComputedStyle(document.querySelector(within)), box = document.querySelector(within);
  return Math.round(box.getBoundingClientRect().left + parseFloat(style.paddingLeft));
}"""


def test_the_admin_starts_at_the_same_position_as_every_page(new_page: NewPage):
    page = new_page()

    def edges(*parts: str) -> list[list[int]]:
        return [[page.evaluate(EDGES, part) for part in parts] for _ in widths(page, 1280, 1920)]

    page.goto("/glossary")
    expected = [[edge, edge] for (edge,) in edges("main")]
    page.goto("/admin/")
    assert edges("header.bar", "#content") == expected
    page.goto("/admin/agents/policy/add/")  # its content begins beside the list of tables
    assert edges("header.bar", ".breadcrumbs") == expected


def test_the_form_of_a_policy_in_the_admin_never_scrolls_sideways(new_page: NewPage):
    page = new_page()
    page.goto("/admin/agents/policy/")
    page.locator("#result_list tbody a").first.click()
    page.locator("#versions-group").wait_for()
    assert [width for width in widths(page, 700, 900, 1100) if scrolls_sideways(page)] == []


#: Snippets that are higher than their lines: a line of them is broken.
#: Snippets whose lines are broken, but for the one command that has a line as long as the folders of the machine.
BROKEN_SNIPPETS = """() => [...document.querySelectorAll("textarea[readonly]:not(#way-ask)")].filter((snippet) => {
  const style = getComputedStyle(snippet), rows = snippet.value.split("\\n").length;
  snippet.style.height = 0;  // or a box that is higher than its text says its own height
  const lines = snippet.scrollHeight - parseFloat(style.paddingTop) - parseFloat(style.paddingBottom);
  snippet.style.height = "";
  return snippet.clientWidth && lines > (rows + .5) * parseFloat(style.lineHeight);
}).map((snippet) => snippet.id)"""


def test_no_snippet_line_wraps(new_page: NewPage):
    page = new_page()
    for address in ("/tour", "/gateway/keys"):
        page.goto(address)
        assert page.locator(":is(.snippet, .snippets) textarea").count() > 0
        for width in widths(page, 390, 1280):
            assert page.evaluate(BROKEN_SNIPPETS) == [], width


#: Parts of words that stand in two lines: between an underscore or a space and the next one a word is whole.
BROKEN_WORDS = """(words) => [...document.querySelectorAll(words)].flatMap((word) => [...word.childNodes])
  .filter((part) => part.nodeType === Node.TEXT_NODE)
  .flatMap((part) => [...part.data.matchAll(/\\S+/g)].filter((found) => {
    const range = document.createRange();
    range.setStart(part, found.index);
    range.setEnd(part, found.index + found[0].length);
    return range.getClientRects().length > 1;
  }).map((found) => found[0]))"""
#: Lists of words in which one is out of sight, wholly or partly.
CUT_LISTS = """() => [...document.querySelectorAll("#facets .facet:has(.word) .values")]
  .filter((list) => list.scrollHeight > list.clientHeight + 1).map((list) => list.parentElement.id)"""


def test_no_stop_reason_in_the_filters_is_broken_within_a_word_or_clipped(new_page: NewPage):
    page = new_page()
    address = played(page, agent(page, "sim-context", max_tokens=400), "Read all of this, and then answer.")
    assert page.request.get(f"/api/v1{address}").json()["terminal_reason"] == "context_window_exceeded"
    page.goto("/")
    page.locator("#facet-terminal_reason input[name=terminal_reason][value='context_window_exceeded']").wait_for()
    assert page.evaluate(BROKEN_WORDS, "#facets .word") == []
    assert page.evaluate(CUT_LISTS) == []


def test_no_limit_key_is_broken_within_a_word_on_the_change_form(new_page: NewPage):
    page = new_page(viewport={"width": 1920, "height": 1080})
    stops = [{"state": "continue_pending"}]
    turn = played(page, agent(page, "sim-essay", max_tokens=60, breakpoints=stops), "Hold this.")
    page.goto(f"{turn}/operate")
    assert page.locator(".operate-form .mono").count() > 0
    assert page.evaluate(BROKEN_WORDS, ".operate-form .help .mono") == []


def test_the_map_of_two_limits_is_fully_visible_below_the_answer_lengths(new_page: NewPage):
    page = new_page()
    played(page, "sim-essay", "Map this.", max_tokens=60)
    page.goto("/backtests/limits")
    page.locator(".map").wait_for(timeout=3 * PATIENCE)  # the first one starts a program for replays
    region = "document.querySelector('.wide:has(> .map)')"
    for width in widths(page, 1200, 1280, 1400):
        assert page.evaluate(f"{region}.scrollWidth <= {region}.clientWidth"), width


#: The least distance, in pixels, between the text of a figure and that of the word in the column after it.
NEAREST_WORD = """(table) => Math.min(...[...document.querySelectorAll(`${table} .num + :not(.num)`)].map((word) => {
  const edges = [word.previousElementSibling, word].map((cell) => {
    const range = document.createRange();
    range.selectNodeContents(cell);
    return range.getBoundingClientRect();
  });
  return edges[1].width ? edges[1].left - edges[0].right : Infinity;
}))"""
#: How far the text of a row that has a ground of its own is from the edge of that ground.
OFF_THE_EDGE = """(selector) => {
  const row = document.querySelector(selector);
  return row.querySelector("th").getBoundingClientRect().left - row.getBoundingClientRect().left;
}"""


def test_a_figure_of_the_sweep_is_separated_from_the_word_beside_it(new_page: NewPage):
    page = new_page()
    page.goto(f"{played(page, 'sim-essay', 'Sweep this.', max_tokens=150)}/replay/sweep")
    page.locator(".advice .recorded").wait_for()
    assert page.evaluate(NEAREST_WORD, ".advice tbody") >= 20
    page.set_viewport_size(PHONE)  # type: ignore[arg-type]
    assert page.evaluate(OFF_THE_EDGE, ".advice .recorded") >= 8


#: Charts whose number does not end the line of their title, and labels below or above a plot that lie on each other.
CHART_FAULTS = """() => [...document.querySelectorAll(".chart-card")].flatMap((card) => {
  const box = (part) => part.getBoundingClientRect(), title = card.querySelector("h2"), faults = [];
  if (box(title.querySelector("span")).right < box(title).right - 1) faults.push(`${card.id}: the number`);
  const labels = [...card.querySelectorAll(".tallest, .ticks li")].map((label) => {
    const range = document.createRange();
    range.selectNodeContents(label);
    return range.getBoundingClientRect();
  });
  const onEachOther = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom - 1 && b.top < a.bottom - 1;
  if (labels.some((a, n) => labels.slice(n + 1).some((b) => onEachOther(a, b)))) faults.push(`${card.id}: labels`);
  if ([...card.querySelectorAll(".ticks li")].some((tick) => getComputedStyle(tick).visibility !== "visible"))
    faults.push(`${card.id}: a time is hidden`);
  return faults;
})"""


def test_a_metrics_chart_has_its_number_beside_its_title_and_all_its_times(new_page: NewPage):
    page = new_page()
    played(page, "sim-essay", "Draw this.", max_tokens=60)

    def has_times() -> bool:
        return '<ol class="ticks"' in page.request.get("/metrics-board").text()

    # The board shows sums, which are made a few seconds after a turn has ended; it is read until then, not opened.
    until(page, has_times, "no chart has any time", every=500)
    page.goto("/metrics-board")
    assert page.locator(".chart-card .ticks").count()
    for width in widths(page, 390, 700, 1280):
        assert page.evaluate(CHART_FAULTS) == [], width


def test_the_attach_form_shows_only_the_fields_of_the_chosen_target(new_page: NewPage):
    page = new_page()
    page.goto("/policies/")
    fields = {
        "the whole site": [],
        "a provider": ["Provider"],
        "a connection and model": ["Connection", "Model"],
    }
    for place, shown in fields.items():
        page.get_by_label("Applies to").select_option(place)
        asked = [
            name
            for name in ("Provider", "Connection", "Model")
            if page.locator("#attach").get_by_label(name).is_visible()
        ]
        assert asked == shown


def test_a_share_stays_beside_its_number_where_a_row_wraps(new_page: NewPage):
    page = new_page()
    played(page, "sim-essay", "Share this.", max_tokens=60)
    page.goto("/admin/agents/policy/add/")
    page.get_by_role("button", name="Run the backtest").click()
    row = page.locator("#groups tbody tr").first
    row.wait_for()
    for width in widths(page, 390, 1280, 1920):
        assert row.evaluate("row => getComputedStyle(row).display") == "flex", width
        assert row.locator("td small").first.evaluate("share => getComputedStyle(share).display") == "inline", width
