"""However long a name is, in one word: no page scrolls sideways for it. Rows of the timeline hide nothing."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests import forked_start
from tests.browser.conftest import (
    BRISK,
    DESK,
    PATIENCE,
    PHONE,
    NewPage,
    base_of,
    cookies_of,
    installation,
    surroundings,
)
from tests.browser.journeys import LONG, api, played, scrolls_sideways
from tests.browser.places import PAGES
from tests.browser.test_layout import widths

WORD, MODEL = "n" * 60, "provider/a-long-family-name-" + "x" * 172
WEBHOOK = f"""
from dashboard.accounts.models import User
from dashboard.agents.selectors import project_default
from dashboard.exports.webhooks.models import Webhook
from dashboard.exports.webhooks.secret import new_secret, sealed
Webhook.objects.create(
    project=project_default(), created_by=User.objects.first(), sealed_secret=sealed(new_secret()), name="{WORD}",
    url="https://{WORD}.example/", events=["turn.ended"], enabled=False,
)
"""
#: Tables of the admin scroll by themselves.
WALKED = {name: address for name, address in PAGES.items() if not address.startswith(("/admin/", "/nowhere"))}


@pytest.fixture(scope="module")
def long_page(chrome: Browser, started_once: Callable[[Path], None]) -> Iterator[tuple[Page, str, str]]:
    """A page of an installation of its own, in which all that is named has a name of 60 characters and the model one of
    200; and the addresses of two turns."""
    with surroundings(started_once) as given, installation({**given, **BRISK}) as link:
        forked_start.run(["shell", "-c", WEBHOOK], env=given, check=True)
        context = chrome.new_context(base_url=base_of(link), storage_state=cookies_of(chrome, link))
        context.set_default_timeout(PATIENCE)
        page = context.new_page()
        api(page, "policies", {"name": WORD})
        agent = {"name": WORD, "connection": "simulator", "model": MODEL, "max_tokens": 60, "policy": WORD}
        api(page, "agents", agent)
        api(page, "connections", {"name": WORD, "provider": "openai", "base_url": f"http://127.0.0.1:9/{WORD}"})
        api(page, "keys", {"name": WORD, "scope": [WORD]})
        api(page, "alerts", {"name": WORD, "metric": "truncation_rate", "number": 1, "agent": WORD, "model": MODEL})
        yield page, played(page, WORD, f"Hello {WORD}{WORD}"), played(page, WORD, "And again.")
        context.close()


def test_no_page_scrolls_sideways_for_a_long_name(long_page: tuple[Page, str, str]):
    page, turn, other = long_page
    found = dict[str, list[int]]()
    own = {
        f"{name} of a long name": address.replace(old, WORD)
        for name, address in WALKED.items()
        for old in ("sim-essay", "sim-tools", "simulator")
        if old in address
    }
    for name, address in {**WALKED, **own, "a policy": f"/policies/{WORD}"}.items():
        page.goto(address.format(turn=turn, id=turn.rsplit("/", 1)[1], other=other.rsplit("/", 1)[1]))
        wrong = [width for width in widths(page, DESK["width"], PHONE["width"]) if scrolls_sideways(page)]
        if wrong:
            found[name] = wrong
    assert found == {}


def test_the_chevron_of_how_a_turn_ended_stands_beside_the_last_word_of_its_reading(new_page: NewPage, cut_turn: str):
    page = new_page()
    page.goto("/")
    row = page.locator("#rows tr").first
    expect(row).to_be_visible()
    above = """() => [...document.querySelectorAll(".ended > .word")].filter((word) => {
      const text = document.createRange(), shape = word.querySelector("svg").getBoundingClientRect();
      text.selectNodeContents(word.lastChild);
      return shape.bottom < text.getClientRects()[0].top + 4;
    }).length"""
    assert page.evaluate(above) == 0, "a shape stands above its word"
    distances = page.evaluate(
        """() => {
             const word = document.querySelector(".c-ended .word"), sign = document.querySelector(".c-ended summary");
             return ["", " and it went on for longer than was allowed"].map((more) => {
               word.append(more);
               const text = document.createRange();
               text.selectNodeContents(word);
               const last = [...text.getClientRects()].at(-1), mark = sign.getBoundingClientRect();
               const below = mark.top + mark.height / 2 - last.top - last.height / 2;
               return [Math.round(mark.left - last.right), Math.round(below)];
             });
           }"""
    )
    assert [(0 <= aside <= 8, abs(below) <= 4) for aside, below in distances] == [(True, True)] * 2, distances


SAID = """<span title="whole"><span class="word w-estimated">1 estimated</span> <span class="soft">was 0</span>
  <small>Max failures in a row<span class="beside">+ retry on rate limit errors</span></small></span>"""
UNKNOWN = """<span title="whole"><span class="word">not known</span>
  <small>Max failures in a row was 2; 4 would try again</small></span>"""
CLIPPED = """() => [...document.querySelectorAll("#rows .c-limit :is(span, small)")].filter((part) =>
  (part.clientWidth && part.scrollWidth > part.clientWidth + 1)
  || (part.clientHeight && part.scrollHeight > part.clientHeight + 2)).map((part) => part.textContent.trim())"""


@pytest.mark.parametrize("width", [1280, 390])
def test_no_limit_of_a_row_is_clipped(new_page: NewPage, cut_turn: str, width: int):
    page = new_page(viewport={"width": width, "height": 860})
    page.goto("/")
    cell = page.locator("#rows .c-limit.needs-limit").first
    expect(cell).to_be_visible(timeout=LONG)
    for said in (SAID, UNKNOWN):
        cell.evaluate("(cell, said) => { cell.innerHTML = said; }", said)
        assert page.evaluate(CLIPPED) == [], said
