"""A real chromium before a real `manage.py up`, signed in by the link it prints."""

import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect, sync_playwright

from dashboard.platform.postgres.processes import end_all
from dashboard.simulator.app import Simulator
from tests import first_start, forked_start
from tests.browser.journeys import api, played
from tests.browser.places import other_turn  # noqa: F401 - a fixture for all of them
from tests.dashboard.conftest import serving
from tests.first_start import CHECKOUT

ARGUMENTS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--process-per-site",  # or each page begins with a process of its own, which takes longer than what it shows
]
DESK = {"width": 1280, "height": 900}
PHONE = {"width": 390, "height": 844}
NewPage = Callable[..., Page]
PATIENCE = 60_000  #: ms; a machine that is busy is not at fault
#: A whole answer of the simulator takes 0.4 s instead of 3. Tests that watch a stream take `talker`.
BRISK = {"WHYSTOP_SIM_TOKEN_MS": "1"}
expect.set_options(timeout=PATIENCE)


@contextmanager
def surroundings(started_once: Callable[[Path], None]) -> Iterator[dict[str, str]]:
    """What the programs of an installation of its own are started with."""
    outside = Path(tempfile.mkdtemp(prefix="why-"))
    outside.chmod(0o755)
    started_once(outside / "store")
    yield first_start.environment(outside / "store")
    for data in outside.rglob("data"):
        end_all(data)
    shutil.rmtree(outside)


@contextmanager
def installation(
    environment: dict[str, str], popen: type[subprocess.Popen] = forked_start.Popen
) -> Iterator[str]:  # fmt: skip
    """The sign-in link of an installation of its own. `popen`: how it is started."""
    command = [sys.executable, "manage.py", "up"]
    with popen(command, cwd=CHECKOUT, env=environment, stdout=subprocess.PIPE, text=True) as up:
        assert up.stdout is not None
        found = re.search(r"http://\S+/sign-in/\?code=\S+", up.stdout.readline())
        assert found, "`manage.py up` printed no link"
        yield found[0]
        up.terminate()
        up.wait(PATIENCE / 1000)


@pytest.fixture(scope="package")
def environment(started_once: Callable[[Path], None]) -> Iterator[dict[str, str]]:
    """That of the installation which this package's tests share: its simulator takes scripts."""
    with surroundings(started_once) as given:
        yield {**given, **BRISK, "WHYSTOP_TEST_SEAM": "1"}


@pytest.fixture(scope="package")
def link(environment: dict[str, str]) -> Iterator[str]:
    """The sign-in link of the installation that this package's tests share."""
    with installation(environment) as address:
        yield address


@pytest.fixture(scope="package")
def chrome(chromium: str) -> Iterator[Browser]:
    """Closed with this package: while it is open its event loop runs in the thread of all tests."""
    with sync_playwright() as playwright, pytest.MonkeyPatch.context() as patch:
        patch.setattr(Locator, "click", patient_click)
        browser = playwright.chromium.launch(executable_path=chromium, args=ARGUMENTS)
        yield browser
        browser.close()


_click = Locator.click


def patient_click(locator: Locator, **how: object) -> None:
    """A click that leads to another page is over when that page has its scripts, as `goto` is."""
    _click(locator, **how)
    locator.page.wait_for_load_state()


@pytest.fixture(scope="package")
def signed_in(chrome: Browser, link: str) -> dict[str, object]:
    """The cookies of someone who followed the link."""
    return cookies_of(chrome, link)


def base_of(link: str) -> str:
    return link.split("/sign-in", maxsplit=1)[0]


def cookies_of(chrome: Browser, link: str) -> dict[str, object]:
    context = chrome.new_context()
    page = context.new_page()
    page.goto(link)
    button = page.locator("main form button").first
    if "/sign-in" in page.url and button.count():
        button.click()
        page.wait_for_url(re.compile(r"(?!.*sign-in)"))
    state: dict[str, object] = dict(context.storage_state())
    context.close()
    return state


@pytest.fixture(scope="package")
def cut_turn(chrome: Browser, signed_in: dict[str, object], link: str) -> str:
    """The address of a turn that was cut four times."""
    context = chrome.new_context(base_url=base_of(link), storage_state=signed_in)
    page = context.new_page()
    address = played(page, "sim-essay", "Look at this.", max_tokens=60)
    context.close()
    return address


@pytest.fixture(scope="package")
def talker(chrome: Browser, signed_in: dict[str, object], link: str) -> Iterator[str]:
    """The name of an agent that talks without end, as slowly as the simulator does by default."""
    with serving(Simulator()) as address:
        context = chrome.new_context(base_url=base_of(link), storage_state=signed_in)
        page = context.new_page()
        api(page, "connections", {"name": "unhurried", "provider": "openai", "base_url": address})
        api(page, "agents", {"name": "talker", "connection": "unhurried", "model": "sim-endless", "max_tokens": 4_000})
        context.close()
        yield "talker"


@pytest.fixture(scope="package")
def idle(chrome: Browser, signed_in: dict[str, object], link: str) -> Iterator[Page]:
    """A page that stays open beside those of tests: its process draws them, its context keeps what never changes."""
    context = chrome.new_context(base_url=base_of(link), storage_state=signed_in, viewport=DESK)
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    page.goto("/healthz")
    yield page
    context.close()


def as_before(idle: Page, signed_in: dict[str, object]) -> None:
    """Whatever a test did to the context that all share, the next one finds it as the first did."""
    context = idle.context
    for page in context.pages:
        if page != idle:
            page.close()
    context.set_offline(False)
    context.clear_permissions()
    context.clear_cookies()
    context.add_cookies(signed_in["cookies"])  # type: ignore[arg-type]
    idle.evaluate("localStorage.clear()")


@pytest.fixture
def new_page(chrome: Browser, signed_in: dict[str, object], link: str, idle: Page) -> Iterator[NewPage]:
    """Opens pages of the installation, each as a browser of its own. Whatever a page complains of in its console fails
    the test."""
    contexts: list[BrowserContext] = []
    complaints: list[str] = []

    def opened(options: dict[str, object]) -> Page:
        """The first in the context that all tests share, if it asks for nothing that only a context can be given."""
        media = {name: said for name, said in options.items() if name in ("color_scheme", "reduced_motion")}
        if not contexts and not options.keys() - {"viewport", *media}:
            contexts.append(idle.context)
            page = idle.context.new_page()
            page.set_viewport_size(options.get("viewport", DESK))  # type: ignore[arg-type]
            page.emulate_media(**media)  # type: ignore[arg-type]
            return page
        context = chrome.new_context(base_url=base_of(link), storage_state=signed_in, **{"viewport": DESK, **options})
        context.set_default_timeout(PATIENCE)
        contexts.append(context)
        return context.new_page()

    def make(*, missing: bool = False, **options: object) -> Page:
        """With `missing`, a page may answer that it is not there or that it refuses: that is a complaint too."""
        page = opened(options)
        said = [] if missing else complaints
        page.on("console", lambda message: said.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("dialog", lambda dialog: (complaints.append(dialog.message), dialog.dismiss()))
        return page

    yield make
    for context in contexts:
        if context != idle.context:
            context.close()
    as_before(idle, signed_in)
    assert complaints == []


@pytest.fixture
def page(new_page: NewPage) -> Page:
    return new_page()
