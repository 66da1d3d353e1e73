"""The first five minutes, with every click counted.

Before each change they begin where a first start has made the database already; nightly from an empty folder as well.
"""

import os
import re
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import unquote
from urllib.request import Request, urlopen

import pytest
from playwright.sync_api import Browser, Page, ViewportSize, expect

from tests.browser.conftest import BRISK, DESK, PATIENCE, base_of, installation, surroundings
from tests.browser.journeys import LONG, Clicks, scrolls_sideways
from tests.browser.paint import painted
from tests.nightly import nightly

FIVE_MINUTES = 300  #: seconds, from the link on
PROMPT = "Why do agents stop?"


@pytest.fixture(scope="module", params=["started before", nightly("an empty folder")])
def new_link(request: pytest.FixtureRequest, started_once: Callable[[Path], None]) -> Iterator[str]:
    """The link that `manage.py up` prints where nobody has been before. The simulator has its own pace only nightly."""
    begin, pace = (Path.mkdir, {}) if request.param == "an empty folder" else (started_once, BRISK)
    with surroundings(begin) as environment, installation({**environment, **pace}, subprocess.Popen) as link:
        yield link


@pytest.fixture(scope="module")
def begun(new_link: str) -> float:
    """When the link was there. The making of the database before it is the machine's time, nobody's click."""
    assert new_link
    return time.monotonic()


@pytest.fixture(scope="module")
def beginner(chrome: Browser, new_link: str) -> Iterator[Page]:
    """The browser of somebody who opens that link; whatever a page complains of fails the test."""
    complaints: list[str] = []
    context = chrome.new_context(base_url=base_of(new_link), viewport=DESK)
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(new_link)
    yield page
    context.close()
    assert complaints == []


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


@pytest.mark.parametrize("size", [DESK, {"width": 1920, "height": 1080}], ids=["1280", "1920"])
def test_an_empty_timeline_shows_first_steps_without_layout_shift(beginner: Page, size: ViewportSize):
    page = beginner.context.new_page()
    page.set_viewport_size(size)
    assert painted(page, "/").moved == ()
    for name in ("First steps", "Talk to an agent", "Import turns"):
        expect(page.locator(".empty").get_by_role("link", name=name)).to_be_in_viewport(ratio=1)
    page.close()


def sees_a_lesson_and_its_limit(page: Page, clicks: Clicks) -> None:
    expect(page).to_have_url(re.compile(r"/tour$"))
    expect(page.get_by_role("heading", name="First steps")).to_be_visible()
    clicks.on(page, "button", "Load the tour")
    expect(page.locator("#tour-title")).to_contain_text("32 of 32 turns ended", timeout=LONG)
    expect(page.locator("#tour")).not_to_contain_text("not loaded yet")
    clicks.on(page, "link", "Open the first lesson")
    expect(page.locator(".lesson")).to_contain_text("Whystop requested the rest, and joined the parts.")
    expect(page.locator(".verdict").first).to_contain_text("Completed after 2 continuations.")
    expect(page.locator("#answer .seam")).to_have_count(2)
    clicks.on(page, "link", "Next lesson")
    expect(page.locator(".lesson")).to_contain_text("Cut too often.")
    expect(page.locator("#limit")).to_contain_text(re.compile(r"\d+ tokens"))
    expect(page.locator("#turn-head")).to_contain_text("simulator, free")


def runs_a_snippet(page: Page, clicks: Clicks) -> None:
    """Makes a key, copies what is there for a shell, runs just that, and finds the turn that it made."""
    clicks.on(page, "link", re.compile("^Tour, 2 of 32"))
    ways = page.locator("#ways .ways").get_by_role("heading", level=3)
    expect(ways).to_have_text(["Gateway", "OpenTelemetry", "Live"])
    clicks.on(page, "button", "Create a key for these snippets")
    expect(page.locator("#ways .note")).to_contain_text("The snippets now hold your new key.")
    gateway = page.get_by_role("article").filter(has=page.get_by_role("heading", name="Gateway"))
    clicks.on(gateway, "button", "Copy")
    expect(gateway.get_by_role("button", name="Copied")).to_be_visible()
    assert '"content":"Agents stop for reasons' in in_shell(page.evaluate("navigator.clipboard.readText()"))
    clicks.on(page.get_by_role("banner"), "link", re.compile("^Timeline$"))
    clicks.on(page, "link", PROMPT)
    expect(page.locator(".verdict").first).to_contain_text("Completed")
    expect(page.locator("#answer")).to_contain_text("Agents stop for reasons")


def takes_the_tour_back(page: Page, clicks: Clicks) -> None:
    clicks.on(page.get_by_role("banner"), "link", re.compile("^Timeline$"))
    clicks.on(page, "link", "First steps")
    clicks.at(page.get_by_text("Remove the tour…"))
    clicks.on(page, "button", "Remove the tour")
    expect(page.locator("#messages")).to_contain_text("32 turns erased")
    expect(page.get_by_role("button", name="Load the tour")).to_be_visible()


def test_the_first_five_minutes_take_twelve_clicks(begun: float, beginner: Page):
    page, clicks = beginner, Clicks()
    sees_a_lesson_and_its_limit(page, clicks)
    runs_a_snippet(page, clicks)
    takes_the_tour_back(page, clicks)
    assert clicks.count == 12
    assert time.monotonic() - begun < FIVE_MINUTES
    page.goto("/")
    expect(page.locator("#timeline tbody tr")).to_have_count(1)
    expect(page.locator("#timeline tbody")).to_contain_text(PROMPT)


@pytest.mark.nightly
def test_the_exporter_variables_work_as_shown(beginner: Page):
    page = beginner
    page.goto("/tour")
    page.get_by_role("button", name="Create a key for these snippets").click()
    expect(page.locator("#ways .note")).to_contain_text("The snippets now hold your new key.")
    variables = page.get_by_label("Environment variables for OTLP").input_value()
    said = dict(line.split("=", 1) for line in in_shell(f"{variables}\nenv").splitlines() if line.startswith("OTEL_"))
    endpoint = said["OTEL_EXPORTER_OTLP_ENDPOINT"]
    assert exported(endpoint, said["OTEL_EXPORTER_OTLP_HEADERS"]) == 200
    assert exported(endpoint, "authorization=Bearer%20YOUR_KEY") == 401


@pytest.mark.nightly
def test_the_first_steps_fit_a_phone(beginner: Page):
    beginner.set_viewport_size({"width": 390, "height": 844})
    beginner.goto("/tour")
    assert not scrolls_sideways(beginner)
