"""How soon a page stands, cold: the largest contentful paint, and how far anything moves (cumulative layout shift).

Beside a running `manage.py up` that was filled by `tests.browser.lowered_limit`, on a machine that does nothing else:

    manage.py shell -c "from tests.browser.paint import measure; measure('<sign-in link>')"

Each run is a browser context of its own, so nothing is in its cache. The bound, of the same run, is the page's own
largest style sheet opened as a page: plain text of about the same size, from the same server, without any script.
"""

import shutil
import statistics
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from playwright.sync_api import Browser, Page, sync_playwright

from tests.browser.conftest import ARGUMENTS, DESK, base_of, cookies_of
from tests.browser.journeys import played
from tests.conftest import CHROMIUM

RUNS = 20
PLACES: Mapping[str, str] = {"timeline": "/", "turn": "{turn}", "what-if": "{turn}/replay", "board": "/metrics-board"}
OBSERVE = """window.paint = { largest: 0, shifted: 0, moved: [] }
new PerformanceObserver((list) => list.getEntries().forEach((entry) => { paint.largest = entry.startTime }))
  .observe({ type: "largest-contentful-paint", buffered: true })
new PerformanceObserver((list) => list.getEntries().filter((entry) => !entry.hadRecentInput).forEach((entry) => {
  paint.shifted += entry.value
  paint.moved.push(...entry.sources.map((source) => source.node?.outerHTML ?? "text"))
})).observe({ type: "layout-shift", buffered: true })"""
SHEET = """[...performance.getEntriesByType("resource")].filter((entry) => entry.name.includes(".css"))
  .sort((one, other) => other.encodedBodySize - one.encodedBodySize)[0].name"""


@dataclass(frozen=True, slots=True)
class Paint:
    """Of one load: milliseconds to the largest paint, the layout shift, what was moved, and the number of requests."""

    largest: float
    shifted: float
    moved: tuple[str, ...]
    requests: int


def painted(page: Page, address: str) -> Paint:
    """Loads `address` in a page that has been to none before."""
    page.add_init_script(OBSERVE)
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    page.goto(address)
    page.wait_for_load_state("networkidle")
    found: dict[str, Any] = page.evaluate("window.paint")
    return Paint(found["largest"], found["shifted"], tuple(found["moved"]), len(requests))


def measure(link: str, runs: int = RUNS) -> None:
    """Prints a line for each page."""
    with sync_playwright() as playwright:
        found = next(filter(None, map(shutil.which, CHROMIUM)), None)
        browser = playwright.chromium.launch(executable_path=found, args=ARGUMENTS)
        given = {"base_url": base_of(link), "storage_state": cookies_of(browser, link), "viewport": DESK}
        page = browser.new_context(**given).new_page()  # type: ignore[arg-type]
        turn = played(page, "sim-essay", "How soon does this stand?", max_tokens=60)
        for name, place in PLACES.items():
            address = place.format(turn=turn)
            page.goto(address)
            page.wait_for_load_state("networkidle")
            bound = page.evaluate(SHEET)
            pairs = [(_cold(browser, given, address), _cold(browser, given, bound)) for _ in range(runs + 1)]
            print(_line(name, pairs[1:]))  # noqa: T201 - that is what it is for; the first warms the server


def _cold(browser: Browser, given: dict[str, Any], address: str) -> Paint:
    context = browser.new_context(**given)
    paint = painted(context.new_page(), address)
    context.close()
    return paint


def _line(name: str, pairs: list[tuple[Paint, Paint]]) -> str:
    pages, bounds = ([paint.largest for paint in paints] for paints in zip(*pairs, strict=True))
    middle = statistics.median(pages)
    ratio = statistics.median(page / bound for page, bound in zip(pages, bounds, strict=True))
    shifted = max(page.shifted for page, _ in pairs)
    return (
        f"{name:<10} largest paint {middle:5.0f} ms ({min(pages):.0f}–{max(pages):.0f}), {ratio:4.1f} × a plain page "
        f"of {statistics.median(bounds):.0f} ms; {pairs[0][0].requests} requests; layout shift {shifted:.3f}"
    )
