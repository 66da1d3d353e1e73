"""Every page in light and dark, at a desk and on a phone: nothing scrolls sideways, the policy refuses nothing."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import DESK, PHONE, NewPage
from tests.browser.journeys import played, scrolls_sideways, until
from tests.browser.looks import LOOKS
from tests.browser.places import PAGES
from tests.browser.test_accessible import ALIKE
from tests.browser.test_tables import BEYOND


@pytest.fixture
def addresses(cut_turn: str) -> dict[str, str]:
    return {
        "timeline": "/",
        "nothing": "/?q=nothingatall",
        "turn": cut_turn,
        "replay": f"{cut_turn}/replay?max_tokens=400",
        "choose": "/live/",
        "live": f"/agents/sim-essay/live?turn={cut_turn.rsplit('/', 1)[1]}",
    }


def test_on_a_phone_a_long_name_in_the_audit_log_wraps_and_hides_nothing(new_page: NewPage):
    page = new_page(viewport=PHONE)
    page.goto("/audit/")
    page.evaluate(
        "document.querySelectorAll('.audit td:not(.num), .audit td small').forEach(e => e.append('name'.repeat(30)))"
    )
    assert page.evaluate(BEYOND) == []


def test_on_a_phone_the_longest_word_on_a_replay_fits(new_page: NewPage, cut_turn: str):
    page = new_page(viewport=PHONE)
    page.goto(cut_turn)
    verified = page.locator("#turn-head .facts .word").last
    verified.evaluate("word => word.append(', not all compared, origin not proven')")
    assert not scrolls_sideways(page)


def test_on_a_phone_the_longest_name_of_an_agent_fits_beside_the_scope_of_a_key(new_page: NewPage, cut_turn: str):
    page = new_page(viewport=PHONE)
    page.goto("/gateway/keys")
    page.locator(".opens-of code").last.evaluate("name => name.append('n'.repeat(64))")
    assert not scrolls_sideways(page)


def test_a_shared_page_shows_the_numbers_of_each_attempt(page: Page, cut_turn: str):
    page.goto(f"{cut_turn}/share")
    page.get_by_role("button", name="Create link").click()
    page.goto(page.get_by_label("Address of the link").input_value())
    expect(page.locator(".shared-attempts tbody tr").first).to_contain_text("max_tokens")


@pytest.mark.parametrize(("viewport", "scheme"), LOOKS)
def test_no_page_scrolls_sideways(new_page: NewPage, addresses: dict[str, str], scheme, viewport):
    page = new_page(viewport=viewport, color_scheme=scheme)
    for name, address in addresses.items():
        page.goto(address)
        expect(page.locator("main")).to_be_visible()
        assert not scrolls_sideways(page), name


def test_at_every_width_the_navigation_shows_its_labels_whole_and_the_page_does_not_scroll_sideways(new_page: NewPage):
    page = new_page(viewport=PHONE)
    page.goto("/inbox")
    cut = "[...document.querySelectorAll('header.bar .who')].filter(name => name.scrollWidth > name.clientWidth + 1)"
    for width in range(600, 1300, 20):
        page.set_viewport_size({"width": width, "height": 800})
        assert not scrolls_sideways(page), width
        assert page.evaluate(f"{cut}.map(name => name.textContent)") == [], width


def test_the_navigation_has_the_same_height_in_the_admin_as_on_every_page(new_page: NewPage):
    page, heights = new_page(), list[list[int]]()
    for address in ("/agents", "/admin/"):
        page.goto(address)
        heights.append([])
        for size in (PHONE, DESK):
            page.set_viewport_size(size)
            heights[-1].append(page.locator("#bar").evaluate("bar => bar.offsetHeight"))
    assert heights[0] == heights[1]


def test_a_scrollable_navigation_fades_at_its_end_but_not_over_the_current_item(new_page: NewPage):
    page = new_page(viewport=PHONE)
    page.goto("/agents")
    bar = page.locator("#bar nav")
    assert "linear-gradient" in bar.evaluate("bar => getComputedStyle(bar).maskImage")
    current = bar.locator("[aria-current]").bounding_box()
    whole = bar.bounding_box()
    assert current
    assert whole
    assert current["x"] - whole["x"] >= 40
    assert whole["x"] + whole["width"] - current["x"] - current["width"] >= 40
    page.set_viewport_size(DESK)
    assert bar.evaluate("bar => getComputedStyle(bar).maskImage") == "none"


def test_a_row_of_tabs_fades_where_it_goes_on_wherever_it_was_scrolled_to(new_page: NewPage):
    page = new_page(viewport=PHONE)
    page.goto("/agents/sim-tools/live")
    tabs = page.locator(".tabs")
    before = "tabs => getComputedStyle(tabs).maskImage.match(/rgb\\(0, 0, 0\\) (\\S+),/)[1]"
    tabs.evaluate("tabs => { tabs.scrollLeft = 120; }")
    until(page, lambda: tabs.evaluate(before) == "40px", "what is left of the tabs does not fade")
    tabs.evaluate("tabs => { tabs.scrollLeft = 0; }")
    until(page, lambda: tabs.evaluate(before) == "0px", "the first tab fades")


def test_names_of_states_fit_their_boxes_and_labels_never_collide(new_page: NewPage, addresses: dict[str, str]):
    page = new_page()
    page.goto(addresses["turn"])
    overlapping = page.evaluate("""() => {
      const boxes = [...document.querySelectorAll('.machine .by:not(:empty), .machine .node rect')]
        .map(e => [e.getBoundingClientRect(), e.textContent || e.parentNode.dataset.state]);
      const cross = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom - 1 && b.top < a.bottom - 1;
      return boxes.flatMap(([a, x], i) => boxes.slice(i + 1).filter(([b]) => cross(a, b)).map(([, y]) => [x, y]));
    }""")
    assert overlapping == []
    wide = page.evaluate("""() => [...document.querySelectorAll('.machine .node')]
      .filter(n => n.querySelector('text').getBBox().width > n.querySelector('rect').getBBox().width - 6)
      .map(n => n.dataset.state)""")
    assert wide == []


#: Whether of two words in an element's text the first stands further right than the second.
RIGHT_OF = """([selector, first, second]) => {
  const text = document.createTreeWalker(document.querySelector(selector), NodeFilter.SHOW_TEXT).nextNode();
  const [right, left] = [first, second].map((word) => {
    const range = document.createRange();
    range.setStart(text, text.data.indexOf(word));
    range.setEnd(text, text.data.indexOf(word) + word.length);
    return range.getBoundingClientRect().left;
  });
  return right > left;
}"""


def test_text_runs_in_the_direction_of_its_own_language(page: Page):
    address = played(page, "sim-odd", "لماذا توقف agent")
    places = [(address, "#turn-head .prompt"), (address, "#answer .user > p"), ("/", "#rows .c-prompt a")]
    for place, selector in places:
        page.goto(place)
        expect(page.locator(selector).first).to_contain_text("agent")
        page.wait_for_function(RIGHT_OF, arg=[selector, "لماذا", "agent"])


#: What a lesson of the tour has above its turn.
BANNER = """turn => turn.insertAdjacentHTML("beforebegin", `<aside class="note lesson"><p><b>Cut too often.</b>
  The answer was still cut.</p><p class="row"><a class="btn small" href="/tour">Next lesson</a></p></aside>`)"""
SIDE_BY_SIDE = 800  #: pixels of width, from which on the machine stands beside the answer
#: Whether a box is hidden, wholly or partly, by another.
COVERED = """([box, over]) => box.x < over.x + over.width && over.x < box.x + box.width
  && box.y < over.y + over.height && over.y < box.y + box.height"""


def test_the_deck_covers_no_state_of_the_machine(new_page: NewPage, cut_turn: str):
    """Beside the banner of the tour, which a turn of it shows above the panel of the limit."""
    page = new_page()
    page.goto(cut_turn)
    page.locator("#turn").evaluate(BANNER)
    for width, height in ((1280, 860), (1280, 720), (390, 844)):
        page.set_viewport_size({"width": width, "height": height})
        if width < SIDE_BY_SIDE:
            page.locator(".machine-card").evaluate("card => card.scrollIntoView({ block: 'end' })")
        places = page.locator(".machine .node")
        boxes = [places.nth(index).bounding_box() for index in range(places.count())]
        deck = page.locator("#deck").bounding_box()
        assert [box for box in boxes if page.evaluate(COVERED, [box, deck])] == [], (width, height)
        assert len(boxes) > 10


def test_the_final_state_of_a_turn_is_visible_without_scrolling(new_page: NewPage, cut_turn: str):
    page = new_page(viewport={"width": 1280, "height": 860})
    page.goto(cut_turn)
    page.locator("#turn").evaluate(BANNER)
    state = page.locator(".machine .node[data-when='now']").bounding_box()
    assert state
    assert state["y"] + state["height"] <= 860


def test_on_a_wide_screen_header_and_deck_line_up_with_the_content(new_page: NewPage, cut_turn: str):
    page = new_page(viewport={"width": 1920, "height": 1000})
    page.goto(cut_turn)
    logo, out, deck, content = (page.locator(at).first for at in (".logo", "#bar form", "#deck form", ".turn .cols"))
    boxes = [place.bounding_box() for place in (logo, out, deck, content)]
    assert all(boxes)
    edges = [(round(box["x"]), round(box["x"] + box["width"])) for box in boxes if box]
    assert edges[0][0] == edges[2][0] == edges[3][0]
    assert edges[1][1] == edges[2][1] == edges[3][1]


LINES_OF_ADDRESSES = """() => [...document.querySelectorAll(
    '.audit td[data-label="IP address"], .audit td:not([data-label="Action"]) small')]
  .filter((each) => !each.textContent.includes("/"))
  .map((each) => {
    const text = document.createRange();
    text.selectNodeContents(each);
    return text.getClientRects().length;
  })"""


def test_no_user_and_no_address_in_the_audit_log_is_broken_within_a_word(page: Page):
    page.goto("/audit/")
    lines = page.evaluate(LINES_OF_ADDRESSES)
    assert lines
    assert set(lines) == {1}


#: Pages that are lists or forms, by their addresses: what they are for stands below their headings.
OF_A_KIND = (
    "/agents",
    "/agents/+new",
    "/connections",
    "/connections/+new",
    "/live/",
    "/inbox",
    "/policies/",
    "/policies/new",
    "/policies/changes",
    "/policies/ledger",
    "/backtests",
    "/backtests/new",
    "/backtests/limits",
    "/backtests/track-record",
    "/lint",
    "/metrics-board",
    "/metrics-board/alerts",
    "/metrics-board/alerts/new",
    "/gateway/",
    "/gateway/keys",
    "/webhooks/",
    "/telemetry/",
    "/timeline/views",
    "/projects/",
    "/audit/",
    "/tour",
    "/glossary",
    "/compare",
    "/import",
    "/timeline/backtest",
    "/admin/",
)
#: Pages that `test_accessible.py` opens before each change, so that what they complain of is heard there.
OPENED = {PAGES[name] for name in PAGES.keys() - ALIKE}
#: The first text after the heading of the page at an address, or after the line that it stands in. It is the same
#: however the page is drawn, so the page is only read: to open each takes most of the time.
BELOW_THE_HEADING = """async (address) => {
  const answer = await fetch(address);
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const heading = page.querySelector("#main h1, #content h1");
  return ((heading.closest(".titled") || heading).nextElementSibling || heading).textContent.trim();
}"""


def test_every_page_has_a_purpose_line_below_its_heading(page: Page):
    page.goto("/glossary")
    said = {}
    for address in OF_A_KIND:
        if address not in OPENED:
            page.goto(address)
        said[address] = page.evaluate(BELOW_THE_HEADING, address)
    assert {address: text for address, text in said.items() if "." not in text or len(text.split()) < 5} == {}


#: How far the cards, tables and lists of a page reach, as a share of the room between the edges of the bar.
REACH = """() => {
  const bar = document.querySelector("#bar"), style = getComputedStyle(bar), box = bar.getBoundingClientRect();
  const [left, right] = [box.left + parseFloat(style.paddingLeft), box.right - parseFloat(style.paddingRight)];
  const parts = [...document.querySelectorAll("#main :is(.card, table)")];
  return (Math.max(...parts.map((part) => part.getBoundingClientRect().right)) - left) / (right - left);
}"""


@pytest.mark.parametrize(
    "address",
    [
        "/agents/+new",
        "/audit/",
        "/backtests/limits/map?evaluate=page",
        "/connections/+new",
        "/glossary",
        "/import",
        "/policies/changes",
        "/timeline/backtest",
    ],
)
def test_on_a_wide_screen_no_page_leaves_a_third_of_it_empty(new_page: NewPage, cut_turn: str, address: str):
    page = new_page(viewport={"width": 1920, "height": 1080})
    page.goto(address)
    assert page.evaluate(REACH) > 0.95


def test_on_a_wide_screen_the_composer_is_as_wide_as_the_window(new_page: NewPage):
    page = new_page(viewport={"width": 1920, "height": 1080})
    page.goto("/agents/sim-essay/live")
    outset = page.locator(".composer").evaluate("composer => getComputedStyle(composer).borderImageOutset")
    assert outset.endswith("1920px")
