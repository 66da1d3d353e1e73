"""The first five minutes, from an installation without a turn, with every click counted."""

import json
import os
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import unquote
from urllib.request import Request, urlopen

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import DESK, PATIENCE, installation, surroundings
from tests.browser.journeys import LONG, scrolls_sideways
from tests.browser.test_limit import Clicks


@pytest.fixture(scope="module")
def new_link(started_once: Callable[[Path], None]) -> Iterator[str]:
    """The link that a first `manage.py up` prints."""
    with surroundings(started_once) as environment, installation(environment) as link:
        yield link


@pytest.fixture(scope="module")
def beginner(chrome: Browser, new_link: str) -> Iterator[Page]:
    """The browser of somebody who opens that link; whatever a page complains of fails the test."""
    complaints: list[str] = []
    context = chrome.new_context(base_url=new_link.split("/sign-in", maxsplit=1)[0], viewport=DESK)
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(new_link)
    yield page
    context.close()
    assert complaints == []


def snippet(page: Page, label: str) -> str:
    return page.get_by_label(label).input_value()


def in_shell(commands: str) -> str:
    """What the commands print, in an environment that has nothing of ours."""
    given = {"PATH": os.environ["PATH"], "no_proxy": "*"}
    return subprocess.run(["sh", "-c", commands], env=given, capture_output=True, text=True, check=True).stdout


def exported(endpoint: str, headers: str) -> int:
    """The status with which an exporter's empty report is answered."""
    name, value = headers.split("=", 1)
    told = {"content-type": "application/json", name: unquote(value)}
    try:
        with urlopen(Request(f"{endpoint}/v1/traces", b"{}", told)) as answer:
            return int(answer.status)
    except HTTPError as refused:
        with refused:
            return refused.code


def test_from_an_empty_folder_to_the_first_lesson_in_two_clicks(beginner: Page):
    page, clicks = beginner, Clicks()
    expect(page).to_have_url(re.compile(r"/tour$"))
    expect(page.get_by_role("heading", name="First steps")).to_be_visible()
    clicks.on(page, "button", "Load the tour")
    expect(page.locator("#tour-title")).to_contain_text("32 of 32 turns ended", timeout=LONG)
    expect(page.locator("#tour")).not_to_contain_text("not loaded yet")
    clicks.on(page, "link", "Open the first lesson")
    expect(page.locator(".lesson")).to_contain_text("Whystop had it continue and joined the parts.")
    expect(page.locator(".verdict").first).to_contain_text("Completed after 2 continuations.")
    expect(page.locator("#answer .seam")).to_have_count(2)
    assert clicks.count == 2
    page.get_by_role("link", name="Next lesson").click()
    expect(page.locator(".lesson")).to_contain_text("Cut too often.")
    expect(page.locator("#turn-head")).to_contain_text("simulator, free")


def test_the_snippets_work_as_they_are_with_a_key_that_one_click_makes(beginner: Page):
    page, clicks = beginner, Clicks()
    page.goto("/tour")
    clicks.on(page, "button", "Create a key for these snippets")
    expect(page.locator("#ways .note")).to_contain_text("The snippets now hold your new key.")
    expect(page).to_have_url(re.compile(r"/tour$"))
    assert clicks.count == 1
    answer = json.loads(in_shell(snippet(page, "Shell commands for the gateway")))
    assert answer["choices"][0]["message"]["content"].startswith("Agents stop for reasons")
    exporter = f"{snippet(page, 'Environment variables for OTLP')}\nenv"
    said = dict(line.split("=", 1) for line in in_shell(exporter).splitlines() if line.startswith("OTEL_"))
    assert exported(said["OTEL_EXPORTER_OTLP_ENDPOINT"], said["OTEL_EXPORTER_OTLP_HEADERS"]) == 200
    assert exported(said["OTEL_EXPORTER_OTLP_ENDPOINT"], "authorization=Bearer%20YOUR_KEY") == 401
    page.goto("/?q=agents+stop")
    expect(page.locator("#timeline")).to_contain_text("Why do agents stop?")


def test_the_tour_is_taken_back_whole_and_what_was_recorded_since_stays(beginner: Page):
    page = beginner
    page.goto("/tour")
    page.get_by_text("Remove the tour…").click()
    page.get_by_role("button", name="Remove the tour").click()
    expect(page.locator("#messages")).to_contain_text("32 turns erased")
    expect(page.get_by_role("button", name="Load the tour")).to_be_visible()
    page.goto("/")
    expect(page.locator("#timeline tbody tr")).to_have_count(1)
    expect(page.locator("#timeline tbody")).to_contain_text("Why do agents stop?")


def test_the_first_steps_fit_a_phone(beginner: Page):
    beginner.set_viewport_size({"width": 390, "height": 844})
    beginner.goto("/tour")
    assert not scrolls_sideways(beginner)
