"""Claims that once were false, and what is said in their place; the four certainties wherever one is shown."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import NewPage
from tests.browser.journeys import played, scrolls_sideways
from tests.browser.looks import LOOKS


@pytest.fixture(scope="module")
def continued(chrome, signed_in, link) -> str:
    """The address of a turn that completed after continuations by a hint."""
    context = chrome.new_context(base_url=link.split("/sign-in", maxsplit=1)[0], storage_state=signed_in)
    page = context.new_page()
    address = played(page, "sim-essay", "How certain is that?", max_tokens=150)
    context.close()
    return address


def test_a_sweep_of_a_single_call_turn_suggests_no_value_below_the_tried_ones(page: Page):
    turn = played(page, "sim-essay", "All of it at once.", max_tokens=400)
    page.goto(f"{turn}/replay/sweep?limit=max_tokens&begin=20&end=400&step=20")
    found = page.locator("#sweep .named")
    expect(found).to_contain_text("certain")
    assert " 88 " not in found.inner_text()
    expect(page.locator("#sweep .chart svg.wide .band.sure")).not_to_have_count(0)


def test_a_verdict_names_no_number_where_it_is_not_certain(page: Page, continued: str):
    page.goto(continued)
    expect(page.locator(".verdict").first).to_contain_text("Completed after 2 continuations.")
    told = page.request.get(f"/api/v1/turns/{continued.rsplit('/', 1)[-1]}").json()
    assert told["verdict"] == "Completed after 2 continuations."


def test_both_endings_of_an_undecidable_what_if_are_shown_side_by_side(page: Page, continued: str):
    page.goto(f"{continued}/replay?max_tokens=100")
    endings = page.locator("#what-if .endings > div")
    expect(endings).to_have_count(2)
    expect(endings.first).to_contain_text("nothing is repeated")
    expect(endings.last).to_contain_text("tokens are repeated at each seam")
    page.get_by_text("How certain is this?").click()
    for certainty in ("recorded", "certain", "estimated", "undecidable"):
        expect(page.locator(f".certainties dt [data-certainty={certainty}]")).to_be_visible()


def test_a_backtest_counts_four_levels_of_certainty(page: Page, continued: str, cut_turn: str):
    page.goto("/backtests/new")
    page.get_by_label("Max tokens per call").first.fill("100")
    page.get_by_role("button", name="Start").click()
    expect(page.locator("#backtest h2").first).to_contain_text("Done")
    for certainty in ("recorded", "certain", "likely", "not known"):
        expect(page.locator(".outcomes")).to_contain_text(certainty)


@pytest.mark.parametrize(("viewport", "scheme"), LOOKS)
def test_pages_with_certainties_do_not_scroll_sideways(new_page: NewPage, continued: str, viewport, scheme):
    page = new_page(viewport=viewport, color_scheme=scheme)
    addresses = {
        "endings": f"{continued}/replay?max_tokens=100",
        "estimated": f"{continued}/replay?max_tokens=400",
        "sweep": f"{continued}/replay/sweep",
        "map": "/backtests/limits/map?evaluate=page",
        "limits": "/backtests/limits",
        "cell": "/backtests/limits/map?continuations=3&max_tokens=100",
        "backtests": "/backtests/",
    }
    page.goto("/backtests/new")
    page.get_by_role("button", name="Start").click()
    expect(page.locator("#backtest h2").first).to_contain_text("Done")
    addresses["backtest"] = page.url
    for name, address in addresses.items():
        page.goto(address)
        if page.locator(".certainties summary").count():
            page.locator(".certainties summary").first.click()
        assert not scrolls_sideways(page), name
