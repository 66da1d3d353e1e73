"""From a bar of the metrics board to its turns, and from a preview to an alert in the inbox."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests import forked_start
from tests.browser.journeys import until

AGENT = "board-writer"
FILL = f"""
from datetime import timedelta
from django.utils import timezone
from tests.dashboard.timeline.populations import make_turn
for reason in ("max_tokens", "max_tokens", "end_turn"):
    make_turn(timezone.now() - timedelta(days=3), agent_name="{AGENT}", status="completed", stop_reason="completed",
              model_stop_reason=reason, input_text="Write.", output_tokens=60)
"""


@pytest.fixture(scope="module")
def three_days_ago(link: str, environment: dict[str, str]) -> None:
    """Two turns that were cut off, and one that ended."""
    forked_start.run(["shell", "-c", FILL], env=environment, check=True)


def shown(page: Page) -> bool:
    """Whether the worker has summed the turns."""
    page.goto(f"/metrics-board?agent={AGENT}")
    return page.locator("#chart-truncation_rate .bars a").count() > 0


@pytest.mark.nightly
def test_a_bar_links_to_its_turns_and_a_previewed_alert_reaches_the_inbox(page: Page, three_days_ago: None):
    until(page, lambda: shown(page), "the worker does not sum the turns", every=1_000)
    truncation = page.locator("#chart-truncation_rate")
    expect(truncation.locator("h2")).to_contain_text("66.7 %")
    truncation.locator(".bars a rect").click(force=True)  # 1
    expect(page.locator("#rows tr")).to_have_count(2)

    page.go_back()
    page.get_by_role("link", name="Alerts").click()  # 2
    page.get_by_role("link", name="New alert").click()  # 3
    page.get_by_label("Name").fill("The writer is cut off")
    page.get_by_label("Metric").select_option("Truncation rate")
    page.get_by_label("Threshold").fill("50")
    page.get_by_label("Window").select_option("7 days")
    page.get_by_label("Agent").select_option(AGENT)
    preview = page.locator("#preview")
    expect(preview).to_contain_text("Would have fired 1 time in the last 30 days")
    expect(preview).to_contain_text("so it fires at once")
    page.get_by_role("button", name="Save alert").click()  # 4
    expect(page.locator("h1")).to_contain_text("The writer is cut off")

    page.get_by_role("link", name="Inbox").click()
    told = page.locator("#inbox .entry", has_text="The writer is cut off")
    expect(told).to_contain_text("Alert firing")
    expect(told).to_contain_text("66.7 %")
    expect(page).to_have_title(re.compile(r"^\(\d+\) Inbox"))
    told.get_by_role("button", name="Open the alert").click()
    expect(page.locator("h1")).to_contain_text("firing")
    page.get_by_text("Delete…").click()
    page.get_by_role("button", name="Delete “The writer is cut off”").click()
    expect(page.locator("main")).not_to_contain_text("The writer is cut off")
