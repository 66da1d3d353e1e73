"""An investigation, from what was cut off yesterday to a colleague's installation: the story of issue 4."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page, expect

from tests import forked_start
from tests.browser.conftest import DESK, cookies_of, installation, surroundings
from tests.browser.journeys import LONG, drop, exported
from tests.browser.test_claims_of_scripts import scripted
from tests.browser.test_operating import agent

FILL = "from tests.browser.turns_of_yesterday import fill; fill({!r})"
PROMPT = "Why did the export stop at step seven?"


@pytest.fixture
def essayist(page: Page, environment: dict[str, str]) -> str:
    """The model of yesterday's turns, which no other test asks: what a limit is said to do rests on all its turns."""
    model = scripted(page, {"behaviour": "sim-essay"})
    fill = FILL.format(agent(page, model, max_tokens=400))
    forked_start.run(["shell", "-c", fill], env=environment, check=True)
    return model


@pytest.fixture
def elsewhere(chrome: Browser, started_once: Callable[[Path], None]) -> Iterator[Page]:
    """The timeline of an installation that knows nothing of this one."""
    with surroundings(started_once) as given, installation(given) as link:
        base = link.split("/sign-in", maxsplit=1)[0]
        context = chrome.new_context(base_url=base, storage_state=cookies_of(chrome, link))
        page = context.new_page()
        page.goto("/")
        expect(page.locator(".empty")).to_contain_text("No turns recorded yet")
        yield page
        context.close()


def find_the_truncated_turns_of_one_model_yesterday(page: Page, model: str) -> None:
    total = page.locator("#chart .total")
    page.goto("/")
    page.get_by_role("link", name="yesterday", exact=True).click()
    page.locator(f"#facet-model input[name='model'][value='{model}']").check()
    expect(total).to_have_text("5 turns", timeout=LONG)
    page.locator("#facet-model_stop_reason input[name='model_stop_reason'][value='max_tokens']").check()
    expect(total).to_have_text("3 turns", timeout=LONG)
    expect(page.locator("#rows tr")).to_have_count(3)


def find_out_why_one_stopped(page: Page) -> str:
    """The address of the turn."""
    page.get_by_role("link", name=PROMPT).click()
    expect(page.locator(".verdict")).to_contain_text(
        "Cut off 4 times by Max tokens per call (max_tokens), then stopped at Max continuations (max_continuations: "
        "3 of 3)"
    )
    page.wait_for_load_state()  # the keys are a module's, which comes after the words
    page.keyboard.press("k")
    expect(page.locator("#step .because [data-fill=trigger]")).to_have_text("retry_limit")
    forbade = page.locator("#step .reasons tr").filter(has_text="forbid")
    expect(forbade).to_contain_text("3 of 3 continuations used")
    return urlsplit(page.url).path


def find_the_limit_that_would_have_let_it_finish(page: Page) -> str:
    """The max_tokens whose re-run the sweep offers, and whose form is open."""
    page.get_by_role("link", name="What if…").click()
    page.get_by_role("link", name="Sweep").click()
    expect(page.locator("#sweep")).to_contain_text(
        "tokens on, it is not known how the turn ends at some values. Re-run live to find out."
    )
    offered = page.get_by_role("link", name=re.compile(r"^Re-run live with Max tokens per call \d+$")).first
    limit = offered.inner_text().rsplit(" ", 1)[-1]
    offered.click()
    return limit


def run_it_again_from_the_second_attempt_with_that_limit(page: Page, limit: str) -> None:
    page.get_by_role("link", name="before call 2 (continuation)").click()
    expect(page.locator("main")).to_contain_text("Starts after record 2")
    page.get_by_role("button", name="Re-run live").click()
    expect(page.locator("#rerun")).to_contain_text("Completed after 1 continuation", timeout=LONG)
    changed = f"from record 2 of the original: Max tokens per call 60 → {limit}"
    expect(page.locator("#lineage")).to_contain_text(changed)


def compare(page: Page, turn: str, limit: str) -> str:
    """The address of the turn that completed."""
    page.goto(turn)
    page.get_by_role("link", name="Compare").click()
    page.locator(".candidates a").first.click()
    expect(page.locator(".path .parting")).to_contain_text("First divergence")
    expect(page.locator(".asked .fields > div").filter(has_text="max_tokens").first).to_contain_text(limit)
    expect(page.locator(".answers ins").last).to_contain_text("has never fixed anything.")
    other = page.get_by_label("Turn B").get_by_role("link").first.get_attribute("href")
    assert other
    return other


def share(page: Page, turn: str, chrome: Browser) -> None:
    page.goto(turn)
    page.get_by_role("link", name="Share").click()
    page.get_by_label("Redact prompt and answer").uncheck()
    page.get_by_role("button", name="Create link").click()
    stranger = chrome.new_context(viewport=DESK).new_page()
    stranger.goto(page.get_by_label("Address of the link").input_value())
    expect(stranger.locator("h1")).to_contain_text(PROMPT)
    expect(stranger.locator(".verdict")).to_contain_text("Completed after 1 continuation")
    stranger.context.close()


def take_it_elsewhere(page: Page, turn: str, elsewhere: Page, folder: Path, verified: str) -> None:
    elsewhere.goto("/")
    drop(elsewhere, exported(page, turn, folder))
    expect(elsewhere).to_have_url(re.compile(f"{turn}$"))
    expect(elsewhere.locator("#messages")).to_contain_text(
        f"Imported; {verified}. The recording was signed with an unknown key"
    )
    expect(elsewhere.locator("#turn-head")).to_contain_text("imported")
    elsewhere.get_by_role("link", name="What if…").click()
    elsewhere.get_by_role("button", name="Verify").click()
    expect(elsewhere.locator("#verify")).to_contain_text("records replayed")


@pytest.mark.nightly
def test_a_truncated_turn_of_yesterday_is_understood_fixed_and_reported(
    page: Page, chrome: Browser, essayist: str, elsewhere: Page, tmp_path: Path
):
    find_the_truncated_turns_of_one_model_yesterday(page, essayist)
    turn = find_out_why_one_stopped(page)
    limit = find_the_limit_that_would_have_let_it_finish(page)
    run_it_again_from_the_second_attempt_with_that_limit(page, limit)
    completed = compare(page, turn, limit)
    share(page, completed, chrome)
    take_it_elsewhere(page, completed, elsewhere, tmp_path, "replay verified")
    # Yesterday's turns were made without a provider, so that there are no bytes to compare their answers with.
    take_it_elsewhere(page, turn, elsewhere, tmp_path, "replay verified, not all compared")
