"""From the timeline to a limit that is proven and changed, with every click counted."""

import re

import pytest
from playwright.sync_api import Page, Route, expect

from dashboard.runtime.replay_processes import TOO_MANY_TURNS
from dashboard.runtime.request_guard.guard import NOT_BEGUN
from dashboard.runtime.request_guard.refusals import refusal
from tests.browser.conftest import PHONE, NewPage
from tests.browser.journeys import LONG, Clicks, api, played, scrolls_sideways, until


def test_a_limit_is_proven_and_changed_within_three_clicks_from_the_timeline(page: Page):
    played(page, "sim-essay", "What stops a limit?", max_tokens=40)
    page.goto("/?q=limit&stop_reason=retry_limit")
    clicks = Clicks()
    clicks.on(page, "link", "What stops a limit?")
    expect(page.locator(".verdict").first).to_contain_text("Cut off 4 times by Max tokens per call (max_tokens)")
    clicks.on(page, "button", re.compile("Find the limit|Prove it live"))
    limit = page.locator("#limit")
    expect(limit).to_contain_text("proven", timeout=LONG)
    expect(limit).to_contain_text("A live re-run completed in 1 call")
    expect(limit.get_by_role("link", name="Backtest")).to_be_visible()
    value = limit.get_by_label(re.compile("Max tokens per call")).input_value()
    clicks.on(page, "button", re.compile("Use .* for sim-essay"))
    expect(page.locator("#messages")).to_contain_text(f"changed from 150 to {value}.")
    assert clicks.count == 3


def test_a_limit_can_be_applied_by_keyboard_alone_and_on_a_phone(new_page: NewPage):
    page = new_page(viewport=PHONE)
    page.goto(played(page, "sim-flaky", "Answer at once."))
    limit = page.locator("#limit")
    expect(limit).to_contain_text("With rate limit errors set to retry and Max failures in a row at 3")
    assert not scrolls_sideways(page)
    limit.get_by_role("button", name="Try it live").press("Enter")
    found = re.compile(r"A live re-run\s+(with Max failures in a row \d\s+)?completed")
    expect(limit).to_contain_text(found, timeout=LONG)
    expect(limit).to_be_focused()
    page.keyboard.press("Tab")
    assert limit.evaluate("limit => limit.contains(document.activeElement)"), "the keyboard goes on at what was found"
    limit.get_by_role("button", name=re.compile("Create draft: Max failures in a row")).press("Enter")
    expect(page.locator("#messages")).to_contain_text("Draft v")


def test_a_button_shows_what_it_starts_while_the_server_has_not_answered(new_page: NewPage):
    page = new_page()
    page.goto(played(page, "sim-endless", "What is started?", max_tokens=40))
    limit, held = page.locator("#limit"), list[Route]()
    button = limit.get_by_role("button", name=re.compile("Find the limit|Prove it live"))
    expect(button).to_be_visible()
    expect(limit.get_by_text("Starting the re-run…")).to_be_hidden()
    page.route("**/limit/find", lambda route: held.append(route))
    button.click()
    expect(limit.get_by_text("Starting the re-run…")).to_be_visible()
    expect(button).to_be_disabled()
    page.unroute("**/limit/find")


def test_a_search_that_a_busy_server_has_not_begun_waits_and_is_sent_again(new_page: NewPage):
    page = new_page(missing=True)
    page.goto(played(page, "sim-essay", "What waits for its turn?", max_tokens=40))
    limit, sent = page.locator("#limit"), list[Route]()
    busy = refusal("/turns/x/limit/find", 503, "Whystop is busy.", more=NOT_BEGUN)
    headers = {name.decode(): value.decode() for name, value in busy.headers}

    def refused_once(route: Route) -> None:
        sent.append(route)
        if len(sent) == 1:
            route.fulfill(status=busy.status, headers=headers, body=busy.body)
        else:
            route.fallback()

    page.route("**/limit/find", refused_once)
    limit.get_by_role("button", name=re.compile("Find the limit|Prove it live")).click()
    note = limit.locator(".unanswered")
    expect(note).to_have_text(
        "The server is working on too many requests. This one waits, and is sent again by itself."
    )
    expect(limit).to_contain_text("proven", timeout=LONG)
    expect(note).to_have_count(0)
    assert len(sent) > 1


def test_a_result_of_a_busy_server_is_not_blamed_on_the_database(new_page: NewPage, cut_turn: str):
    page = new_page(missing=True)
    page.goto(f"{cut_turn}/replay")
    page.route("**/replay?*", lambda route: route.fulfill(status=503, headers={"X-Not-Begun": "1"}, body="no"))
    page.get_by_label("Max tokens per call", exact=True).fill("70")
    expect(page.locator("#dials .unanswered")).to_have_text(
        "The server is working on too many requests, so the result shown is not for these values. Retrying…"
    )


def test_a_result_that_could_not_be_refreshed_is_marked_as_old(new_page: NewPage, cut_turn: str):
    page = new_page(missing=True)
    page.goto(f"{cut_turn}/replay")
    failing: list[Route] = []
    page.route("**/replay?*", lambda route: (failing.append(route), route.fulfill(status=500, body="no")))
    page.get_by_label("Max tokens per call", exact=True).fill("70")
    note = page.locator("#dials .unanswered")
    expect(note).to_have_text("The server failed, so the result shown is not for these values. Try again.")
    expect(page.locator("#what-if[data-stale]")).to_be_visible()
    page.unroute("**/replay?*")
    page.get_by_label("Max tokens per call", exact=True).fill("80")
    expect(page.locator("#what-if:not([data-stale])")).to_contain_text("80")
    expect(note).to_have_count(0)
    assert failing


def test_a_button_that_names_several_settings_fits_a_phone(new_page: NewPage):
    page = new_page(viewport=PHONE)
    page.goto("/")
    limits = {"limits": {"max_total_output_chars": 300}}
    asked = {"agent": "sim-endless", "input": "List everything.", "overrides": {**limits, "max_tokens": 40}}
    turn = api(page, "turns", asked)["id"]
    until(page, lambda: page.request.get(f"/api/v1/turns/{turn}").json()["status"] == "partial", "it is not cut")
    page.goto(f"/turns/{turn}/replay/sweep")
    expect(page.locator(".found .btn.primary")).to_contain_text(" + ")
    assert not scrolls_sideways(page)


def test_a_result_that_is_late_is_marked_as_old_and_that_is_said(new_page: NewPage, cut_turn: str):
    page = new_page()
    page.goto(f"{cut_turn}/replay")
    page.route("**/replay?*", lambda _: None)
    page.get_by_label("Max tokens per call", exact=True).fill("70")
    expect(page.locator("#what-if[data-late]")).to_be_visible()
    note = page.locator("#dials .unanswered")
    expect(note).to_have_text("The server has not answered yet, so the result shown is not for these values.")
    page.unroute("**/replay?*")  # what was held goes on
    expect(page.locator("#what-if:not([data-late])")).to_contain_text("70")
    expect(note).to_have_count(0)


def test_counts_of_another_list_are_marked_as_old_until_they_come(new_page: NewPage, cut_turn: str):
    page = new_page()
    page.goto("/")
    chosen = page.locator("#facets .choice [name=stop_reason]").first
    expect(chosen).to_be_visible()
    page.route(re.compile("/timeline/(facets|chart)"), lambda _: None)
    chosen.check()
    for part in ("chart", "facets"):
        expect(page.locator(f"#{part}[data-late]")).to_be_visible()
    page.unroute(re.compile("/timeline/(facets|chart)"))
    expect(page.locator("#chart[data-late], #facets[data-late]")).to_have_count(0)


def test_a_failed_filter_request_is_reported_at_the_list(new_page: NewPage, cut_turn: str):
    page = new_page(missing=True)
    page.goto("/")
    chosen = page.locator("#facets .choice [name=stop_reason]").first
    expect(chosen).to_be_visible()
    page.route("**/*", lambda route: route.abort() if "hx-request" in route.request.headers else route.fallback())
    chosen.check()
    note = page.locator("#timeline > .unanswered")
    expect(note).to_be_in_viewport()
    expect(page.locator(".unanswered")).to_have_count(1)
    page.unroute("**/*")
    chosen.uncheck()
    expect(page.locator("#timeline:not([data-stale])")).to_be_visible()
    expect(page.locator(".unanswered")).to_have_count(0)


def test_failed_counts_are_reported_in_their_place(new_page: NewPage, cut_turn: str):
    page = new_page(missing=True)
    page.route("**/timeline/*", lambda route: route.fulfill(status=500, body="no"))
    page.goto("/")
    missing = "The server failed, so this is not shown. Reload the page."
    for part in ("#chart", "#facets"):
        expect(page.locator(f"{part} .unanswered")).to_have_text(missing)
        expect(page.locator(f"{part} [data-pending]")).to_have_count(0)


def test_a_chart_that_was_not_refreshed_is_marked_as_old(new_page: NewPage, cut_turn: str):
    page = new_page(missing=True)
    page.goto("/")
    expect(page.locator("#chart .stack-by label")).to_have_count(2)
    page.route("**/timeline/chart?*", lambda route: route.abort())
    page.locator("#chart .stack-by label", has_text="agent").click()
    note = page.locator("#chart[data-stale] .unanswered")
    expect(note).to_have_text("The server did not answer, so this may be out of date.")
    assert page.locator("#chart").evaluate("chart => chart.scrollHeight <= chart.clientHeight"), "its legend is inside"
    page.unroute("**/timeline/chart?*")
    page.locator("#chart .stack-by label", has_text="model").click()
    expect(page.locator(".unanswered")).to_have_count(0)
    expect(page.locator("#chart[data-stale]")).to_have_count(0)


def test_limits_of_rows_that_failed_to_load_are_reported(new_page: NewPage, cut_turn: str):
    page = new_page(missing=True)
    page.route("**/turns/limits?*", lambda route: route.abort())
    page.goto("/")
    expect(page.locator("td.needs-limit").first).to_have_text("not loaded")


def test_limits_of_rows_out_of_sight_are_loaded_without_scrolling(new_page: NewPage, cut_turn: str):
    page = new_page(viewport={"width": 1280, "height": 120})
    page.goto("/")
    cells = page.locator("td.needs-limit")
    expect(cells.last).not_to_be_in_viewport()
    expect(cells.filter(has_text="…")).to_have_count(0)


def test_a_request_and_response_that_failed_to_load_are_reported_in_their_place(new_page: NewPage, cut_turn: str):
    page = new_page(missing=True)
    page.goto(cut_turn)
    page.route("**/raw", lambda route: route.abort())
    page.locator("#attempt-1 > summary").click()
    expect(page.locator("#raw-1 .unanswered")).to_contain_text("The server did not answer")
    expect(page.locator("#raw-1").get_by_role("link", name="Request and response")).to_be_visible()


@pytest.mark.parametrize("address", ["/backtests/limits", "/backtests/limits/map"])
def test_a_map_that_took_too_long_says_what_to_do(new_page: NewPage, cut_turn: str, address: str):
    page, asked = new_page(missing=True), "**/backtests/limits/map?*"
    stopped = refusal("/backtests/limits/map", 503, TOO_MANY_TURNS).body
    page.route(asked, lambda route: route.fulfill(status=503, content_type="text/html; charset=utf-8", body=stopped))
    page.goto(address)
    expect(page.locator("#map")).to_have_text(TOO_MANY_TURNS)
    page.unroute(asked)
    page.route(asked, lambda route: route.abort())
    page.reload()
    expect(page.locator("#map")).to_have_text("The server did not answer, so this is not shown. Reload the page.")


def test_the_page_of_the_map_is_there_while_the_map_is_evaluated(page: Page, cut_turn: str):
    waiting: list[Route] = []

    def kept_waiting(route: Route) -> None:
        """The first; the map may be asked for in parts."""
        route.fallback() if waiting else waiting.append(route)

    page.route("**/backtests/limits/map?*", kept_waiting)
    page.goto("/backtests/limits/map")
    expect(page.get_by_role("heading", name="Two limits at once")).to_be_visible()
    expect(page.locator("#map[aria-busy=true]").get_by_role("status")).to_contain_text("Evaluating the newest turns")
    until(page, lambda: waiting, "the map is never asked for")
    waiting[0].continue_()
    expect(page.locator("#map table.map")).to_be_visible(timeout=LONG)
    expect(page.locator("#map[aria-busy]")).to_have_count(0, timeout=LONG)


def test_the_play_button_says_pause_while_playing(page: Page, cut_turn: str):
    page.goto(cut_turn)
    page.get_by_role("button", name="First transition").click()
    page.get_by_role("button", name="Play", exact=True).click()
    page.get_by_role("button", name="Pause", exact=True).click()
    expect(page.get_by_role("button", name="Play", exact=True)).to_be_visible()
