"""The timeline as people use it: found by filters, kept under a name, tagged, held still."""

import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Browser, Locator, Page, Route, WebSocketRoute, expect

from tests import forked_start
from tests.browser.conftest import DESK, PHONE, NewPage
from tests.browser.journeys import LONG, Sockets, ask, ended, resting, scrolls_sideways, until
from tests.nightly import nightly

#: Turns of two models in yesterday's hours, every third one cut off; and one of another agent for a test to erase, for
#: tests are taken in any order where several workers run them.
MADE = """
from datetime import UTC, datetime, timedelta
from uuid import UUID
from dashboard.agents.selectors import project_default
from dashboard.platform.ids import first_id_at
from dashboard.turns.models import Turn
midnight = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
for n in range(49):
    cut = n % 3 == 0
    Turn.objects.create(
        id=UUID(int=first_id_at(midnight - timedelta(minutes=30 * (n + 1))).int + n), project=project_default(),
        agent_name="made" if n < 48 else "unneeded", provider="openai", model=("alpha", "beta")[n % 2], max_tokens=100,
        input_text=f"Yesterday {n}.",
        status="partial" if cut else "completed", stop_reason="retry_limit" if cut else "completed",
        model_stop_reason="max_tokens" if cut else "end_turn", input_tokens=10, output_tokens=100, duration_ms=900,
    )
"""

#: Who may look, and take turns away as files.
WATCHER = """
from django.contrib.auth.models import Group
from dashboard.accounts.models import User
user = User.objects.create_user("wilma", password="only-to-watch-them")
user.groups.add(Group.objects.get(name="watcher"))
"""


@pytest.fixture(scope="module")
def yesterday(link: str, environment: dict[str, str]) -> None:
    forked_start.run(["shell", "-c", MADE], env=environment, check=True)


def counted(page: Page, text: str) -> None:
    """Wait for the chart to say how many turns there are."""
    expect(page.locator("#chart .total")).to_have_text(text, timeout=LONG)


def connected(page: Page) -> None:
    """Wait for the list's socket: one that is left while it still connects is an error on the console."""
    expect(page.locator("#timeline[data-live]")).to_be_attached(timeout=LONG)


def facet(page: Page, name: str, value: str) -> Locator:
    return page.locator(f"#facet-{name} input[name='{name}'][value='{value}']")


def listed(page: Page, numbers: Iterable[int]) -> None:
    """Wait for the list to be of these of yesterday's turns."""
    expect(page.locator("#rows .c-prompt a")).to_have_text([f"Yesterday {n}." for n in numbers], timeout=LONG)


def test_the_truncated_turns_of_one_model_yesterday_are_found(page: Page, new_page: NewPage, yesterday: None):
    page.goto("/?agent=made")
    counted(page, "48 turns")
    page.get_by_role("link", name="yesterday", exact=True).click()
    expect(page).to_have_url(re.compile("since="))
    expect(page.locator(".chip")).to_have_count(3)  # of two filters, and one to clear them
    counted(page, "48 turns")
    facet(page, "model", "alpha").check()
    counted(page, "24 turns")
    facet(page, "model_stop_reason", "max_tokens").check()
    counted(page, "8 turns")
    listed(page, range(0, 48, 6))
    box = page.locator("#brush").bounding_box()
    assert box
    page.mouse.move(box["x"] + box["width"] * 0.01, box["y"] + 40)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.4999, box["y"] + 40, steps=4)
    expect(page.locator("#chosen")).to_contain_text("4 turns")
    page.mouse.up()
    counted(page, "4 turns")
    listed(page, range(24, 48, 6))
    shared = new_page()
    shared.goto(page.url)
    counted(shared, "4 turns")
    listed(shared, range(24, 48, 6))
    expect(shared.locator(".chip")).to_have_count(5)


def test_the_chart_states_its_touch_gesture_and_a_tap_selects_a_bar(new_page: NewPage, yesterday: None):
    page = new_page(viewport=PHONE, has_touch=True, is_mobile=True)
    page.goto("/?agent=made")
    counted(page, "48 turns")
    told = page.locator("#chosen")
    expect(told.get_by_text("Tap a bar or slide to choose a time range")).to_be_visible()
    expect(told.get_by_text("Drag across the bars")).to_be_hidden()
    box = page.locator("#brush").bounding_box()
    assert box
    page.touchscreen.tap(box["x"] + box["width"] / 2, box["y"] + 40)
    expect(page).to_have_url(re.compile("since="))


@pytest.mark.nightly
def test_a_time_range_is_selected_by_keyboard_alone(page: Page, yesterday: None):
    day = datetime.now(UTC).date() - timedelta(days=1)
    page.goto(f"/?agent=made&since={day}&until={day + timedelta(days=1)}")
    counted(page, "48 turns")
    brush = page.get_by_role("slider", name="Time")
    brush.focus()
    page.keyboard.press("Home")
    for _ in range(5):
        page.keyboard.press("Shift+ArrowRight")
    told = brush.get_attribute("aria-valuetext")
    assert told
    page.keyboard.press("Enter")
    counted(page, f"{told.rsplit(': ', 1)[1]}")
    page.get_by_role("link", name=re.compile("Without When")).click()
    counted(page, "48 turns")


def test_filters_are_removed_one_by_one_and_by_going_back(page: Page, yesterday: None):
    page.goto("/?agent=made&status=partial&model=alpha")
    connected(page)
    page.get_by_role("link", name="Without Model: alpha").click()
    expect(page).to_have_url(re.compile(r"\?status=partial&agent=made$"))
    expect(facet(page, "model", "alpha")).not_to_be_checked()
    counted(page, "16 turns")
    connected(page)
    page.get_by_label("Words in prompts").press_sequentially("nothingatall")
    expect(page).to_have_url(re.compile("q=nothingatall"))
    connected(page)
    page.get_by_role("link", name=re.compile("without Words")).click(timeout=LONG)
    # The chart may still say what it said before the words: the address alone shows that the list was replaced.
    expect(page).to_have_url(re.compile(r"\?status=partial&agent=made$"), timeout=LONG)
    counted(page, "16 turns")
    connected(page)
    page.go_back()
    expect(page.get_by_label("Words in prompts")).to_have_value("nothingatall")


@pytest.mark.nightly
def test_a_view_is_saved_and_found_again(page: Page, new_page: NewPage, yesterday: None):
    page.goto("/?agent=made&status=partial")
    page.get_by_text("Views", exact=True).click()
    page.get_by_label("Save these filters as").fill("Cut off, made")
    page.get_by_role("button", name="Save").click()
    expect(page.locator("#views .note")).to_have_text("“Cut off, made” is saved.")
    other = new_page()
    other.goto("/")
    other.get_by_text("Views", exact=True).click()
    other.get_by_role("link", name="Cut off, made").click()
    expect(other).to_have_url(re.compile(r"\?status=partial&agent=made$"))
    counted(other, "16 turns")


@pytest.mark.nightly
def test_many_turns_are_tagged_at_once_and_found_by_the_tag(page: Page, yesterday: None):
    page.goto("/?agent=made&model=beta")
    connected(page)
    boxes = page.locator("#rows .c-pick input")
    boxes.nth(1).check()
    boxes.nth(4).click(modifiers=["Shift"])
    expect(page.locator("[data-chosen]")).to_have_text("4")
    boxes.nth(1).uncheck()
    boxes.nth(4).uncheck()
    page.locator("#rows .c-prompt a").nth(1).focus()
    page.keyboard.press("x")
    for key in ("j", "j", "j", "Shift+x"):
        page.keyboard.press(key)
    expect(page.locator("[data-chosen]")).to_have_text("4")
    page.get_by_role("button", name="Tag…").click()
    page.get_by_label("several with commas").fill("look later")
    page.get_by_role("button", name="Tag 4 turns").click()
    expect(page.get_by_role("dialog")).to_contain_text("4 turns changed.")
    page.get_by_role("dialog").get_by_text("Close").click()
    expect(page.locator("#rows .tag")).to_have_text(["look later"] * 4)
    expect(page.locator("#bulk")).to_be_hidden()
    facet(page, "tag", "look later").check()
    counted(page, "4 turns")


def test_a_value_is_excluded_by_its_not_button_and_included_by_its_name(page: Page, yesterday: None):
    page.goto("/?agent=made")
    page.locator("#facet-status").get_by_role("checkbox", name="not partial").focus()
    page.keyboard.press("Space")
    listed(page, [n for n in range(48) if n % 3])
    expect(page).to_have_url(re.compile(r"not_status=partial"))
    expect(page.get_by_role("link", name="Without Status: not partial")).to_be_visible()
    counted(page, "32 turns")
    facet(page, "status", "partial").check()
    listed(page, range(0, 48, 3))
    expect(page).not_to_have_url(re.compile(r"not_status"))


@pytest.mark.nightly
def test_a_column_header_sorts_and_reverses_the_order(page: Page, yesterday: None):
    page.goto("/?agent=made")
    took = page.get_by_role("columnheader", name="Took")
    took.get_by_role("link").focus()
    page.keyboard.press("Enter")
    expect(took).to_have_attribute("aria-sort", "descending")
    expect(page).to_have_url(re.compile(r"agent=made&sort=-took"))
    took.get_by_role("link").click()
    expect(took).to_have_attribute("aria-sort", "ascending")
    page.reload()
    expect(took).to_have_attribute("aria-sort", "ascending")
    age = page.get_by_role("columnheader", name="Age", exact=True)
    age.get_by_role("link").click()
    expect(page).not_to_have_url(re.compile("sort"))
    listed(page, range(48))
    age.get_by_role("link").click()
    expect(age).to_have_attribute("aria-sort", "descending")
    listed(page, reversed(range(48)))


@pytest.mark.nightly
def test_every_column_sorts_both_ways_by_keyboard(page: Page, yesterday: None):
    page.goto("/?agent=made")
    page.get_by_text("Columns", exact=True).click()
    for box in page.locator("fieldset[data-columns] input").all():
        box.check()
    page.keyboard.press("Escape")
    heads = page.locator("#timeline thead th:not(.c-pick)")
    expect(heads).to_have_count(13)
    for place in range(13):
        head, seen = heads.nth(place), set[str | None]()
        for _ in range(2):
            head.get_by_role("link").focus()
            address = head.get_by_role("link").get_attribute("href")
            assert address
            page.keyboard.press("Enter")
            expect(head.get_by_role("link")).not_to_have_attribute("href", address, timeout=LONG)
            seen.add(head.get_attribute("aria-sort"))
        assert seen == {"ascending", "descending"}, head.text_content()


def test_all_matching_turns_are_erased_after_a_confirmation_that_names_the_count(page: Page, yesterday: None):
    page.goto("/?agent=unneeded")
    page.get_by_label("Select “Yesterday 48.”").check()
    page.get_by_label("all that match").check()
    page.get_by_role("button", name="Erase…").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("Erase 1 turn permanently?")
    expect(dialog.get_by_text("Keep them")).to_be_focused()
    dialog.get_by_role("button", name="Erase 1 turn").click()
    expect(dialog).to_contain_text("1 turn erased.")
    dialog.get_by_text("Close").click()
    expect(page.locator("#rows tr")).to_have_count(0)


def test_a_list_whose_connection_is_lost_is_offline_until_reconnected(page: Page):
    sockets = Sockets(page)
    page.goto("/?agent=sim-essay")
    connected(page)
    button = page.locator("[data-tail]")
    expect(button).to_have_text("Pause")
    sockets.leave()
    expect(button).to_have_text("Offline")
    expect(button).to_have_attribute("title", "Connection lost: the list is not updated until it is back")
    assert button.locator("i").evaluate("dot => getComputedStyle(dot).backgroundColor") == "rgba(0, 0, 0, 0)"
    sockets.away = False
    expect(button).to_have_text("Pause", timeout=LONG)


def test_counts_that_were_asked_for_in_vain_are_asked_for_again_with_the_list(new_page: NewPage):
    page = new_page(missing=True)
    lines: list[WebSocketRoute] = []
    page.route_web_socket(re.compile("/ws/"), lambda line: (line.connect_to_server(), lines.append(line)))
    page.goto("/?agent=sim-essay")
    connected(page)
    facets, old = page.locator("#facets"), page.get_by_text("so this may be out of date.")
    expect(facets).to_have_attribute("aria-busy", "false")
    page.route(re.compile("/timeline/(facets|chart)"), lambda route: route.abort())
    page.evaluate("() => document.dispatchEvent(new Event('bulk-done'))")
    expect(old).to_have_count(2)
    page.unroute_all()
    for line in lines:
        line.close(code=1012)
    expect(old).to_have_count(0)


def test_a_filter_chosen_while_the_server_is_away_stays_and_is_applied_later(new_page: NewPage, yesterday: None):
    page = new_page(missing=True)
    sockets = Sockets(page)
    page.goto("/?agent=made")
    connected(page)
    chosen = page.locator("#facets [name=stop_reason][value=retry_limit]")
    expect(chosen).to_be_visible(timeout=LONG)
    total = page.locator("#chart .total")
    all_of_them = total.inner_text()
    sockets.leave()
    page.route(re.compile("/(timeline/|[?]|$)"), lambda route: route.abort())
    chosen.check()
    note = page.get_by_text("The server did not answer, so the result shown is not for these values. Retrying…")
    expect(note).to_be_visible()
    asked = page.evaluate("() => new Promise((done) => document.addEventListener('htmx:sendError', () => done(1)))")
    assert asked, "it is asked for again"
    expect(note).to_have_count(1)
    sockets.away = False
    page.unroute_all()
    expect(page.locator("#timeline[data-query*=retry_limit]:not([data-stale])")).to_be_visible(timeout=LONG)
    expect(note).to_have_count(0)
    expect(chosen).to_be_checked()
    expect(total).not_to_have_text(all_of_them, timeout=LONG)
    counted(page, total.inner_text())
    expect(chosen).to_be_checked()
    expect(page.locator("#rows tr").first).to_contain_text("Yesterday")


def test_counts_that_were_asked_for_in_vain_are_asked_for_again_by_themselves(new_page: NewPage):
    page = new_page(missing=True)
    away = {"now": True}
    tries: list[str] = []

    def fail(route: Route) -> None:
        tries.append(route.request.url)
        route.abort() if away["now"] else route.fallback()

    page.route(re.compile("/timeline/(facets|chart)"), fail)
    page.goto("/?agent=sim-essay")
    missing = page.get_by_text("The server did not answer, so this is not shown. Reload the page.")
    expect(missing).to_have_count(2)
    until(page, lambda: len(tries) >= 4, "what failed is asked for only once")
    expect(missing).to_have_count(2)
    away["now"] = False
    expect(missing).to_have_count(0, timeout=LONG)
    expect(page.locator("#facets .choice").first).to_be_visible()


def test_what_is_asked_for_again_is_asked_for_once_at_a_time(new_page: NewPage):
    page = new_page(missing=True)
    failed: set[str] = set()
    held: list[Route] = []

    def fail_then_hold(route: Route) -> None:
        url = route.request.url
        held.append(route) if url in failed else (failed.add(url), route.abort())

    page.route(re.compile("/timeline/facets"), fail_then_hold)
    page.goto("/?agent=sim-essay")
    missing = page.get_by_text("The server did not answer, so this is not shown. Reload the page.")
    expect(missing).to_have_count(1)
    for _ in range(2):
        until(page, lambda: held, "it is not asked for again")
        page.evaluate("() => htmx.trigger(document.body, 'htmx:wsOpen')")
        assert len(held) == 1
        held.pop().abort()  # an error that nobody catches would be on the console
    until(page, lambda: held, "it is not asked for a third time")
    held.pop().fallback()
    expect(missing).to_have_count(0, timeout=LONG)


def test_what_a_turn_asked_for_in_vain_is_asked_for_again_when_its_socket_opens(new_page: NewPage):
    page = new_page(missing=True)
    page.goto("/agents/sim-essay/live")
    page.evaluate(
        """() => {
             const late = Object.assign(document.createElement("section"), { id: "late" });
             late.setAttribute("hx-get", "/about-nothing");
             late.setAttribute("hx-trigger", "load");
             document.querySelector("main").append(late);
             window.setTimeout = new Proxy(window.setTimeout, {
               apply: (real, self, [act, pause, ...more]) => real(act, act.name === "askAgain" ? 1e9 : pause, ...more),
             });
           }"""
    )
    page.route("**/about-nothing", lambda route: route.abort())
    page.evaluate("() => htmx.process(document.getElementById('late'))")
    expect(page.locator("#late .unanswered")).to_have_text("The server did not answer, so this may be out of date.")
    page.unroute("**/about-nothing")
    page.route("**/about-nothing", lambda route: route.fulfill(body="here", content_type="text/html"))
    page.evaluate("() => htmx.trigger(document.body, 'htmx:wsOpen')")
    expect(page.locator("#late")).to_have_text("here")


@pytest.mark.parametrize("width", [1280, 1920])
def test_the_time_for_which_a_turn_was_held_stands_whole(new_page: NewPage, cut_turn: str, width: int):
    page = new_page(viewport={"width": width, "height": 900})
    page.goto("/")
    page.locator("#rows .c-took").first.evaluate(
        """took => took.insertAdjacentHTML("beforeend", "<small>+ 10\u202fmin 3\u202fs held</small>")"""
    )
    clipped = page.locator("#rows .c-took small").first.evaluate("small => small.scrollWidth > small.clientWidth")
    assert not clipped
    cell = page.locator("#rows .c-took").first
    assert cell.evaluate("cell => cell.scrollHeight <= cell.clientHeight && cell.scrollWidth <= cell.clientWidth")


def test_the_headings_to_sort_by_stand_whole_on_a_phone(new_page: NewPage, cut_turn: str):  # which makes a row
    page = new_page(viewport=PHONE)
    page.goto("/")
    expect(page.locator(".turns thead th a").first).to_be_visible()
    cut = page.locator(".turns thead th a").evaluate_all(
        """links => links.filter(link => link.checkVisibility()).filter(link => {
             const { left, right } = link.getBoundingClientRect();
             return left < 0 || right > innerWidth;
           }).map(link => link.textContent)"""
    )
    assert cut == []


@pytest.mark.nightly
def test_live_updates_of_the_list_can_be_paused_and_resumed(page: Page, new_page: NewPage):
    page.goto("/?agent=sim-essay")
    connected(page)
    page.get_by_role("button", name="Pause").click()
    expect(page.get_by_role("button", name="Resume")).to_be_visible()
    other = new_page()
    ask(other, "sim-essay", "While you wait.", max_tokens=60)
    expect(page.locator("#new-turns")).to_have_text("1 new turn", timeout=LONG)
    expect(page.locator("#rows")).not_to_contain_text("While you wait.")
    page.get_by_role("link", name="1 new turn").click()
    expect(page.locator("#rows tr").first).to_contain_text("While you wait.")
    expect(page.locator("#new-turns")).to_be_empty()
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    ended(other)


@pytest.mark.nightly
def test_arriving_rows_do_not_move_what_is_being_read(page: Page, new_page: NewPage, yesterday: None):
    page.goto("/")
    expect(page.locator("#chart .total")).to_have_text(re.compile(r"\d+ turns"), timeout=LONG)
    connected(page)
    page.evaluate("scrollTo({top: 1800, behavior: 'instant'})")  # a wheel's animation rests on a busy machine
    until(page, lambda: page.evaluate("scrollY") > 500, "it does not scroll")
    row_id = page.locator("#rows tr").nth(30).get_attribute("id")
    before = resting(page, f"#{row_id}")
    other = new_page()
    ask(other, "sim-essay", "Far above.", max_tokens=60)
    expect(page.locator("#new-turns")).to_contain_text("new turn", timeout=LONG)
    assert resting(page, f"#{row_id}") == before


LIMIT = """<span title="{whole}"><span class="word">12,000 to 14,000 estimated</span>
  <span class="soft">was 120,000</span><small>Max completion tokens per turn<span class="beside">+
  12 continuations</span><span class="beside">+ 240,000 tokens per turn</span></small></span>"""


@pytest.mark.parametrize("width", [390, 1280, 1920])
def test_a_limit_that_arrives_late_changes_no_height_of_its_row(new_page: NewPage, yesterday: None, width: int):
    page = new_page(viewport={"width": width, "height": 860})
    asked: list[Route] = []
    page.route("**/turns/limits?*", lambda route: asked.append(route))
    page.goto("/?agent=made&status=partial")
    row = page.locator("#rows tr").first
    expect(row.locator(".c-limit .scripted")).to_be_visible()
    until(page, lambda: bool(asked), "no limit is asked for")
    before = row.bounding_box()
    whole = "The whole sentence of this limit."
    for one in asked:
        ids = parse_qs(urlsplit(one.request.url).query)["turn"]
        cells = "".join(f'<td id="limit-{each}">{LIMIT.format(whole=whole)}</td>' for each in ids)
        one.fulfill(body=cells, content_type="text/html")
    expect(row.locator(".c-limit")).to_contain_text("estimated")
    assert row.bounding_box() == before
    assert row.locator(".c-limit > span").get_attribute("title") == whole
    assert page.evaluate(CUT_LETTERS) == []


#: Cells of limits that show a line in part.
CUT_LETTERS = """() => [...document.querySelectorAll('#rows .c-limit > span')].flatMap(cell => {
  const words = document.createRange(), end = cell.getBoundingClientRect().bottom;
  words.selectNodeContents(cell);
  const lines = [...words.getClientRects()].filter(line => line.top + 2 < end && end + 2 < line.bottom);
  return lines.map(() => cell.innerText);
})"""


def test_rows_are_walked_selected_and_opened_by_keyboard_alone(page: Page, yesterday: None):
    page.goto("/?agent=made")
    expect(page.locator("#rows tr").nth(2)).to_be_visible()
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("x")
    expect(page.locator("#rows tr").nth(1).locator(".c-pick input")).to_be_checked()
    page.locator("#rows tr").nth(1).locator(".c-prompt a").focus()
    page.keyboard.press("k")
    expect(page.locator("#rows tr").first.locator(".c-prompt a")).to_be_focused()
    page.keyboard.press("/")
    expect(page.get_by_label("Words in prompts")).to_be_focused()
    page.keyboard.press("Tab")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keys")).to_be_visible()
    page.keyboard.press("Escape")


@pytest.mark.nightly
def test_selected_columns_are_remembered(page: Page, yesterday: None):
    page.goto("/?agent=made")
    expect(page.locator("#rows .c-cap").first).to_be_hidden()
    page.get_by_text("Columns", exact=True).click()
    page.get_by_label("Max tokens per call", exact=True).first.check()
    page.get_by_label("Took").first.uncheck()
    page.reload()
    expect(page.locator("#rows .c-cap").first).to_be_visible()
    expect(page.locator("#rows .c-took").first).to_be_hidden()


#: Of each head and each cell of the list that is shown: what runs out of it.
CROWDED = """() => [...document.querySelectorAll('table.turns :is(th, #rows td):not(.c-pick)')].flatMap(cell => {
  const words = document.createRange(), box = cell.getBoundingClientRect();
  words.selectNodeContents(cell);
  const {right, width} = words.getBoundingClientRect();
  const clipped = cell.matches('th, .num') && right > box.right + 0.5;
  return width && clipped ? [`${cell.className}: ${cell.textContent.trim()}`] : [];
})"""


@pytest.mark.parametrize("width", [1280, 1366, nightly(1440), nightly(1920)])
def test_with_all_columns_each_is_readable_and_the_prompt_stays_in_sight(
    new_page: NewPage, yesterday: None, width: int
):
    page = new_page(viewport={"width": width, "height": 900})
    page.goto("/?agent=made")
    page.get_by_text("Columns", exact=True).click()
    for box in page.locator("fieldset[data-columns] input").all():
        box.check()
    page.keyboard.press("Escape")
    assert page.evaluate(CROWDED) == []
    assert not scrolls_sideways(page)
    prompt = page.locator("#rows .c-prompt").first
    head = page.locator("table.turns th.c-prompt")
    before = prompt.bounding_box()
    assert before
    assert before["width"] > 16 * 9, "16 letters"
    page.locator(".list").evaluate("list => { list.scrollLeft = list.scrollWidth; }")
    assert prompt.bounding_box() == before
    stays = head.bounding_box()
    assert stays
    assert stays["x"] == before["x"]
    age = page.locator("#rows .c-age").first.bounding_box()
    assert age
    assert before["x"] + before["width"] <= age["x"] < age["x"] + age["width"] <= width
    covering = "([x, y]) => document.elementFromPoint(x, y).closest('td').className"
    middle = [before["x"] + before["width"] - 8, before["y"] + before["height"] / 2]
    assert page.evaluate(covering, middle) == "c-prompt", "columns pass below the prompt"


def test_on_a_phone_further_columns_are_lines_with_their_names(new_page: NewPage, yesterday: None):
    page = new_page(viewport=PHONE)
    page.goto("/?agent=made")
    page.get_by_text("Columns", exact=True).click()
    boxes = page.locator("fieldset[data-columns] input")
    shown = [box.get_attribute("value") for box in boxes.all() if box.is_checked()]
    assert shown == ["ended", "limit", "cost", "age"], "no more is checked than the rows show"
    for box in boxes.all():
        box.check()
    page.keyboard.press("Escape")
    row = page.locator("#rows tr").first
    for name in ("c-raw", "c-failed", "c-model", "c-cap", "c-tokens", "c-tries", "c-more", "c-took"):
        expect(row.locator(f".{name}")).to_be_visible()
        assert row.locator(f".{name}").evaluate("cell => getComputedStyle(cell, '::before').content") != "none"
    assert not scrolls_sideways(page)


def test_columns_selected_on_a_phone_apply_only_there(new_page: NewPage, yesterday: None):
    page = new_page(viewport=PHONE)
    page.goto("/?agent=made")
    page.get_by_text("Columns", exact=True).click()
    page.locator("fieldset[data-columns] input[value=cap]").check()
    page.reload()
    row = page.locator("#rows tr").first
    expect(row.locator(".c-cap")).to_be_visible()
    page.set_viewport_size(DESK)
    expect(row.locator(".c-took")).to_be_visible()
    expect(row.locator(".c-cap")).to_be_hidden()
    page.set_viewport_size(PHONE)
    expect(row.locator(".c-cap")).to_be_visible()


@pytest.mark.nightly
def test_two_selected_turns_are_compared_with_the_older_one_first(page: Page, yesterday: None):
    page.goto("/?agent=made")
    boxes = page.locator("#rows .c-pick input")
    newer, older = (boxes.nth(n).get_attribute("value") for n in (0, 3))
    boxes.nth(0).check()
    expect(page.get_by_role("button", name="Compare")).to_be_hidden()
    boxes.nth(3).check()
    page.get_by_role("button", name="Compare").click()
    expect(page).to_have_url(re.compile(rf"/compare/?\?left={older}&right={newer}$"))


def test_on_a_phone_the_filters_collapse_and_nothing_scrolls_sideways(new_page: NewPage, yesterday: None):
    page = new_page(viewport=PHONE)
    page.goto("/?agent=made")
    expect(page.locator("#facet-panel")).to_be_hidden()
    page.get_by_role("button", name="Filters").click()
    facet(page, "status", "partial").check()
    counted(page, "16 turns")
    page.locator("#rows .c-pick input").first.check()
    assert not scrolls_sideways(page)


@pytest.mark.nightly
def test_without_scripts_the_filters_are_a_plain_form(new_page: NewPage, yesterday: None):
    page = new_page(java_script_enabled=False)
    page.goto("/")
    page.get_by_label("partial", exact=True).check()
    page.locator("input[name='agent']").fill("made")
    page.get_by_role("button", name="Find").first.click()
    listed(page, range(0, 48, 3))


@pytest.mark.nightly
def test_a_watcher_can_download_selected_turns_and_is_offered_no_actions(
    chrome: Browser, link: str, environment: dict[str, str], cut_turn: str
):
    forked_start.run(["shell", "-c", WATCHER], env=environment, check=True)
    page = chrome.new_context(base_url=link.split("/sign-in", maxsplit=1)[0], accept_downloads=True).new_page()
    page.goto("/sign-in/")
    page.locator("#id_username").fill("wilma")
    page.locator("#id_password").fill("only-to-watch-them")
    page.get_by_role("button", name="Sign in").last.click()
    page.locator("#rows input").first.check()
    bar = page.get_by_role("form", name="Selected turns")
    expect(bar.get_by_role("button")).to_have_text(["Export", "Clear selection"])
    with page.expect_download() as taken:
        bar.get_by_role("button", name="Export").click()
    assert taken.value.suggested_filename == "turns.zip"
    bar.get_by_role("button", name="Clear selection").click()
    expect(bar).to_be_hidden()
    page.goto(cut_turn)
    page.keyboard.press("b")
    page.keyboard.press("?")
    expect(page.locator("dialog[open]")).to_have_count(1)
    expect(page.get_by_role("dialog", name="Keys")).not_to_contain_text("a breakpoint", use_inner_text=True)
    page.context.close()


@pytest.mark.parametrize(("size", "cell"), [({"width": 1280, "height": 860}, ".c-cost"), (PHONE, ".c-ended")])
def test_a_click_anywhere_in_a_row_opens_its_turn(new_page: NewPage, yesterday: None, size: dict[str, int], cell: str):
    page = new_page(viewport=size)
    page.goto("/")
    row = page.locator(".turns tbody tr").first
    expect(row.locator(cell)).to_be_visible()
    address = row.locator(".c-prompt a").get_attribute("href") or "none"
    page.wait_for_load_state("networkidle")
    box = row.locator(cell).bounding_box() or {}
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)  # what lies there gets the click
    expect(page).to_have_url(re.compile(f"{address}$"))
