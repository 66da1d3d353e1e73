"""What pages weigh on the wire, and that nothing moves while they load."""

from typing import Any

import pytest
from playwright.sync_api import Page, ViewportSize, expect

from tests.browser.conftest import DESK, PHONE, NewPage
from tests.browser.journeys import played
from tests.browser.paint import PLACES, painted


def loaded(page: Page, address: str) -> dict[str, float]:
    """The bytes on the wire of each answer that a page asks for, headers included, by its address."""
    session = page.context.new_cdp_session(page)
    session.send("Network.enable")
    names: dict[str, str] = {}
    weights: dict[str, float] = {}

    def finished(event: dict[str, Any]) -> None:
        weights[names[event["requestId"]]] = event["encodedDataLength"]

    session.on("Network.responseReceived", lambda event: names.update({event["requestId"]: event["response"]["url"]}))
    session.on("Network.loadingFinished", finished)
    page.goto(address)
    page.wait_for_load_state("networkidle")
    return {name: weight for name, weight in weights.items() if not name.startswith("data:")}


BLOCKING = """performance.getEntriesByType("resource").filter((entry) => entry.renderBlockingStatus === "blocking")
  .map((entry) => entry.name)"""


@pytest.mark.parametrize(
    ("place", "most_bytes", "most_requests", "most_blocking"),
    [("timeline", 60_000, 27, 4), ("turn", 25_000, 30, 4)],
)
def test_a_page_is_small_makes_few_requests_and_none_twice_and_few_of_them_block_its_first_paint(
    new_page: NewPage, cut_turn: str, place: str, most_bytes: int, most_requests: int, most_blocking: int
):
    """Small without the shared files. The limits of the rows in sight are asked for besides; a list that is up to date
    is not pushed again. What blocks: its style sheets, the theme, and which columns the list has."""
    page, asked, pushed = new_page(), list[str](), list[str | bytes]()
    page.on("request", lambda request: asked.append(request.url))
    page.on("websocket", lambda socket: socket.on("framereceived", lambda frame: pushed.append(frame)))
    weights = loaded(page, PLACES[place].format(turn=cut_turn))
    page.wait_for_function("document.getElementById('inbox-badge').dataset.count !== undefined")
    assert 0 < sum(weight for name, weight in weights.items() if "/static/" not in name) < most_bytes
    assert len([url for url in asked if "/turns/limits?" not in url]) <= most_requests
    assert len(asked) == len(set(asked))
    assert not any('id="rows"' in str(frame) for frame in pushed)
    blocking = page.evaluate(BLOCKING)
    assert 0 < len(blocking) <= most_blocking, blocking


@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES)
def test_a_page_loads_without_layout_shift(new_page: NewPage, cut_turn: str, place: str):
    paint = painted(new_page(), place.format(turn=cut_turn))
    assert paint.moved == ()
    assert paint.largest > 0


# Few of the agents: a long name of another test's, late in the list, would widen a column.
@pytest.mark.parametrize("place", ["/admin/agents/agent/?q=sim-odd", "/?q=nothingatall"], ids=["admin", "no turns"])
def test_a_page_with_deferred_fragments_loads_without_layout_shift(new_page: NewPage, place: str):
    # Django's own script writes how many rows of a list are selected.
    assert set(painted(new_page(), place).moved) <= {"text"}


def test_the_inbox_on_a_phone_does_not_shift_when_notifications_are_blocked(new_page: NewPage):
    page = new_page(viewport=PHONE)
    # Other tests leave entries: what stands behind an age or a time left moves when that gains or loses a digit.
    assert set(painted(page, "/inbox").moved) <= {"text"}
    expect(page.locator("#inbox-notify")).to_have_text("Notifications are blocked in this browser's settings")


@pytest.mark.nightly
@pytest.mark.parametrize("size", [DESK, PHONE], ids=["desk", "phone"])
def test_a_row_reserves_space_for_the_limit_that_loads_later(new_page: NewPage, size: ViewportSize):
    page = new_page(viewport=size)
    turn = played(page, "sim-essay", "Is there room?", max_tokens=60)  # of no turn that a list has shown
    page.route("**/turns/limits?*", lambda _: None)
    page.goto("/")
    row = page.locator(f"#row-{turn.rsplit('/', 1)[-1]}")
    expect(row.locator(".c-limit .scripted")).to_be_visible()
    before = row.bounding_box()
    page.unroute("**/turns/limits?*")  # what was held goes on
    expect(row.locator(".c-limit small")).to_be_visible()
    assert row.bounding_box() == before


@pytest.mark.nightly
def test_a_second_visit_requests_no_static_file_again(new_page: NewPage, cut_turn: str):
    page = new_page()
    page.goto(cut_turn)
    page.wait_for_load_state("networkidle")
    asked: list[str] = []
    page.on("response", lambda answer: asked.append(answer.url) if not _from_cache(answer) else None)
    page.goto(cut_turn)
    page.wait_for_load_state("networkidle")
    assert [url for url in asked if "/static/" in url and "icon" not in url] == []
    assert any("/static/" not in url for url in asked)


def _from_cache(answer: Any) -> bool:
    return answer.request.timing["requestStart"] < 0 or answer.request.sizes()["responseHeadersSize"] == 0
