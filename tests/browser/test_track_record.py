"""A what-if, the re-run that tests it, and what the track record says of the two."""

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from agentcore.sufficient_max_tokens import END_AT_MOST
from dashboard.policies.predictions.suggested_record import SOURCES
from tests.browser.conftest import PHONE, NewPage
from tests.browser.forgetful_provider import FIRST, forgetful_provider
from tests.browser.journeys import LONG, api, played, scrolls_sideways, until

RECORD = "/backtests/track-record"


@pytest.mark.nightly
def test_a_rerun_under_another_limit_is_added_to_the_track_record_of_its_model(page: Page):
    turn = played(page, "sim-essay", "How often is a what-if right?", max_tokens=150)
    page.goto(f"{turn}/replay?max_continuations=1")
    page.get_by_role("button", name="Re-run live").click()
    expect(page.locator(".side.live")).to_contain_text("Open the re-run")
    page.goto("/backtests")
    page.get_by_role("link", name="Track record").click()
    row = page.get_by_role("row", name=re.compile("sim-essay"))
    expect(row).to_be_visible()
    for _ in range(60):
        if re.search(r"[1-9]\d* of [1-9]", row.inner_text()):
            break
        page.wait_for_timeout(1_000)
        page.reload()
    expect(row).to_contain_text(re.compile(r"(\d+) of \1\b"))
    expect(page.get_by_role("heading", name="Add predictions")).to_be_visible()
    page.goto(f"{turn}/replay?max_tokens=100")
    page.locator("#what-if").get_by_role("link", name="Track record").click()
    expect(page).to_have_url(re.compile(RECORD))


def counted(page: Page, word: str, source: str) -> tuple[int, int]:
    """On the record that is open, of the suggested limits of the essay's model: how many were enough, of how many
    re-runs."""
    row = page.locator("tr").filter(has_text="sim-essay").filter(has_text=source).filter(has_text=word)
    told = re.search(r"(\d+) of (\d+)", row.first.inner_text()) if row.count() else None
    return (int(told[1]), int(told[2])) if told else (0, 0)


def suggested_after(page: Page, turn: str, value: int, asked: str = "") -> dict[str, Any]:
    """The suggestion of this value that a re-run of the turn was started for. `asked`: which predictions are listed."""
    stored = page.request.get(f"/api/v1/predictions?{asked}limit=50").json()["items"]
    of_turn = [one["suggested"] for one in stored if one["parent_id"] == turn.removeprefix("/turns/")]
    (tried,) = [one for one in of_turn if one and one["value"] == value]
    found: dict[str, Any] = tried
    return found


def test_the_live_rerun_of_a_suggestion_is_shown_in_the_track_record(page: Page):
    # Where other tests' turns tell how long such answers are, the first value may be the smallest already.
    page.goto(RECORD)
    before = {basis: counted(page, "likely", source) for basis, source in SOURCES.items()}
    turn = played(page, "sim-essay", "How long is a suggested limit right?", max_tokens=40)
    page.goto(turn)
    limit = page.locator("#limit")
    limit.get_by_role("button", name=re.compile("Find the limit|Prove it live")).click()
    # The first re-run shows how many tokens it takes, and the second tries that by itself.
    expect(limit).to_contain_text(re.compile(r"With Max tokens per call at \d{3}, the turn finished."), timeout=LONG)
    expect(limit.get_by_role("button", name=re.compile(r"Try \d+ live"))).to_be_hidden(timeout=LONG)
    expect(limit.get_by_role("status")).not_to_contain_text(
        re.compile("in progress|waits until|checks whether"), timeout=LONG
    )
    value = int(re.findall(r"per call at (\d+), the turn finished", limit.inner_text())[0])

    def is_compared() -> bool:
        return suggested_after(page, turn, value)["came_true"] is not None

    until(page, is_compared, "the re-run is not compared", every=200)
    basis = suggested_after(page, turn, value)["basis"]

    def is_counted() -> bool:
        page.goto(RECORD)
        return counted(page, "likely", SOURCES[basis]) > before[basis]

    until(page, is_counted, "the record does not count it", every=1000)
    tried = suggested_after(page, turn, value, f"basis={basis}&")
    assert (tried["value"], tried["came_true"]) == (value, True)
    assert (tried["word"], tried["certainty"]) == ("likely", "estimated")


@pytest.mark.nightly  # `predictions/test_suggested_limits.py` has the page and the check
def test_a_failed_certain_suggestion_is_highlighted_with_its_reason(page: Page):
    with forgetful_provider() as address:
        about = {"provider": "openai", "base_url": address, "prefill": True}
        api(page, "connections", {"name": "forgetful", **about})
        api(page, "agents", {"name": "forgetful", "connection": "forgetful", "model": "forgets", "max_tokens": 60})
        turn = played(page, "forgetful", "Do you say the same twice?")
        page.goto(turn)
        expect(page.locator("#limit")).to_contain_text(
            f"With Max tokens per call at {FIRST + END_AT_MOST}, one call would have been enough."
        )
        page.goto(f"{turn}/replay?max_tokens={FIRST + END_AT_MOST}")
        page.get_by_role("button", name="Re-run live").click()
        expect(page.locator(".side.live")).to_contain_text("Open the re-run")
        failed = page.locator("section", has_text="Certain suggested limits that were not enough")
        until(page, lambda: page.goto(RECORD) and failed.count(), "the failure is not told", every=1000)
        failed.get_by_role("button", name="Re-run under the recorded policy").first.click()
        told = page.get_by_text("The provider's answers vary")
        until(page, lambda: page.goto(RECORD) and told.count(), "the reason is not told", every=1000)
        expect(failed).to_contain_text("The provider's answers vary")


def test_on_a_phone_the_table_scrolls_and_the_page_does_not(new_page: NewPage):
    page = new_page(viewport=PHONE)
    page.goto(RECORD)
    expect(page.get_by_role("heading", name="Track record")).to_be_visible()
    assert not scrolls_sideways(page)
