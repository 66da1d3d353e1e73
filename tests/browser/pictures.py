"""The pictures in docs/screenshots: turns are made in a new installation, and its pages photographed.

Beside a running `manage.py up` with a data folder of its own, and with that folder's `WHYSTOP_DATA_DIR`:

    manage.py shell -c "from tests.browser.lowered_limit import fill; fill()"
    manage.py shell -c "from tests.browser.limit_trials import fill; fill()"
    manage.py shell -c "from tests.browser.pictures import take; take('<sign-in link>')"

Each page is taken in light and dark, at 1280, 390 and 1920 pixels. With names, as in `take(link, "sweep", "replay")`,
only those pages are.
"""

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from django.template.loader import render_to_string
from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.browser.conftest import ARGUMENTS, DESK, PHONE, cookies_of
from tests.browser.journeys import LONG, api, ask, ended, played, until
from tests.browser.limit_trials import LONGEST
from tests.browser.test_inbox import asking
from tests.browser.test_operating import agent
from tests.conftest import CHROMIUM

FOLDER = Path(__file__).parents[2] / "docs" / "screenshots"
#: Every picture by its name: the page it shows.
PICTURES: Mapping[str, str] = {
    "timeline": "/",
    "turn": "{cut}",
    "agents": "/agents",
    "agent": "/agents/support-writer",
    "new-agent": "/agents/+new",
    "import": "/import",
    "connections": "/connections",
    "connection": "/connections/simulator",
    "policy-draft": "/policies/{policy}/change",
    "live": "/agents/sim-essay/live?turn={cut_id}",
    "replay": "{exact}/replay?max_tokens=100",
    "sweep": "{exact}/replay/sweep",
    "compare": "/compare?left={cut_id}&right={whole_id}",
    "limits": "/backtests/limits?agent=support-writer",
    "map": "/backtests/limits/map?evaluate=page&agent=support-writer",
    "backtest": "{backtest}",
    "unended": "{unended}",
    "raw": "{cut}/attempts/1/raw",
    "track-record": "/backtests/track-record",
    "policy-form": "/admin/agents/policy/{policy}/change/",
    "ledger": "/policies/ledger",
    "shared": "{shared}",
    "admin": "/admin/",
    "inbox": "/inbox",
    "metrics": "/metrics-board",
    "alert": "/metrics-board/alerts/new",
    "policies": "/policies/",
    "gateway": "/gateway/",
    "keys": "/gateway/keys",
    "account": "/account/",
    "webhooks": "/webhooks/",
    "webhook": "{webhook}",
    "lint": "/lint",
    "run": "/runs/{cut_id}",
    "document": "/docs/how-to/gateway",
    "projects": "/projects/",
    "tour": "/tour",
    "no-turns": "/?q=nothingatall",
    "not-found": "/turns/01890000-0000-7000-8000-000000000000",
    "bad-request": "/",
    "forbidden": "/",
    "too-large": "/",
    "server-error": "/",
    "database-away": "/",
}

#: Pages that a request cannot ask for: what they are rendered from, with which status.
FORM_TOO_LARGE = "This form is over the limit: a form may have at most 10,000 fields. Nothing was changed."
FAILURES: Mapping[str, tuple[str, int]] = {
    "bad-request": ("400.html", 400),
    "forbidden": ("403.html", 403),
    "too-large": ("413.html", 413),
    "server-error": ("500.html", 500),
    "database-away": ("503.html", 503),
}

#: A picture shows commands as on a server: the folders of the machine that takes it are nobody's business.
NEUTRAL = """() => {
  const command = /cd \\S+ && (WHYSTOP_DATA_DIR=\\S+ )?\\S+ manage\\.py/g;
  const neutral = (text) => text.replace(command, "cd /srv/whystop && .venv/bin/python manage.py");
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) texts.currentNode.data = neutral(texts.currentNode.data);
  for (const area of document.querySelectorAll("textarea")) area.value = neutral(area.value);
}"""

#: Whether the page has its style sheet. A server that was started before a static file changed has other addresses
#: than a page that is rendered here.
STYLED = "() => [...document.querySelectorAll('link[rel=stylesheet]')].every((link) => link.sheet?.cssRules.length)"

WIDE = {"width": 1920, "height": 1080}
#: Pictures of the page to its end; the others end where the window does.
WHOLE = {
    "admin",
    "alert",
    "gateway",
    "import",
    "ledger",
    "lint",
    "agent",
    "agents",
    "connection",
    "connections",
    "backtest",
    "inbox",
    "account",
    "webhooks",
    "webhook",
    "keys",
    "metrics",
    "raw",
    "unended",
    "limits",
    "map",
    "replay",
    "sweep",
    "tour",
    "track-record",
}


def take(link: str, *names: str) -> None:
    with sync_playwright() as playwright:
        found = next(filter(None, map(shutil.which, CHROMIUM)), None)
        browser = playwright.chromium.launch(executable_path=found, args=ARGUMENTS)
        state: Any = cookies_of(browser, link)
        base = link.split("/sign-in/", maxsplit=1)[0]
        page = browser.new_context(base_url=base, storage_state=state, viewport=DESK).new_page()  # type: ignore[arg-type]
        places = made(page)
        for name in names or PICTURES:
            for scheme in ("light", "dark"):
                taken(browser, base, state, name, PICTURES[name].format(**places), scheme)


def made(page: Page) -> dict[str, str]:
    """What the pictures show; where each stands."""
    ask(page, "sim-essay", "Explain why a model stops before its answer is whole.", max_tokens=60)
    cut = ended(page)
    exact = turn_of(page, "sim-essay", "Write what happened in the incident of Monday.", max_tokens=150)
    whole = turn_of(page, "sim-essay", "Explain why a model stops before its answer is whole.", max_tokens=900)
    for cap in (88, 100, 120, 400):
        predicted(page, exact, cap)
    for name in LONGEST:
        tried(page, name)
    waiting(page)
    called(page)
    return {
        "cut": cut,
        "cut_id": id_of(cut),
        "exact": exact,
        "whole_id": id_of(whole),
        "backtest": backtested(page, {"limits": {"max_continuations": 1}}, max_tokens=150),
        "unended": unended(page),
        "policy": policy_of(page),
        "shared": shared(page, cut),
        "webhook": webhook(page),
    }


def loaded(page: Page) -> None:
    """The tour to its end; the other pictures know nothing of its turns if it is photographed last."""
    if page.get_by_role("button", name="Load the tour").count():
        page.get_by_role("button", name="Load the tour").click()
    expect(page.locator("#tour-title")).to_contain_text("32 of 32", timeout=LONG)


def turn_of(page: Page, model: str, prompt: str, **asked: Any) -> str:
    ask(page, agent(page, model, **asked), prompt)
    return ended(page)


def id_of(turn: str) -> str:
    return turn.rstrip("/").rsplit("/", 1)[1]


def predicted(page: Page, turn: str, cap: int) -> None:
    """A prediction of this turn under another cap, and what came of it."""
    asked = {"mode": "rerun", "overrides": {"max_tokens": cap}}
    again = api(page, f"turns/{id_of(turn)}/replay", asked)
    address = f"/api/v1/turns/{again['id']}"
    until(page, lambda: page.request.get(address).json()["status"] not in ("queued", "running"), "it does not end")


def tried(page: Page, name: str) -> None:
    """What the agent's answers suggest for a turn that was cut, tried live."""
    for month in ("May", "June", "July"):
        turn = played(page, name, f"Write the notes of {month}.")
        said = page.request.get(f"/api/v1/turns/{id_of(turn)}/verdict").json()["suggestion"]
        predicted(page, turn, int(said["value"]))


def called(page: Page) -> None:
    """Calls of the gateway by a program with a key of its own."""
    key = api(page, "keys", {"name": "checkout-service"})["secret"]
    for model, prompt in (("sim-essay", "Write to the customer."), ("sim-tools", "Add up."), ("sim-refuse", "Refuse.")):
        asked = {"model": model, "max_tokens": 300, "messages": [{"role": "user", "content": prompt}]}
        page.request.post("/v1/chat/completions", data=asked, headers={"Authorization": f"Bearer {key}"})


def waiting(page: Page) -> None:
    """An approval that waits, one whose time is over, and a held turn."""
    asking(page, "Add up the open invoices of October.")
    asking(page, "What did the trip to Lisbon cost in all?", seconds=1)
    stops = [{"state": "continue_pending"}]
    played(page, agent(page, "sim-essay", max_tokens=60, breakpoints=stops), "Write the report on Monday's incident.")


def unended(page: Page) -> str:
    """A backtest of turns that would have continued; five of them are tried live."""
    name = agent(page, "sim-essay", max_tokens=60, limits={"max_continuations": 0})
    for month in ("June", "July", "August", "September", "October", "November"):
        played(page, name, f"Summarize the incidents of {month}.")
    limits = {"max_continuations": 9, "max_total_completion_tokens": 5_000}
    address = backtested(page, {"limits": limits}, filter={"agent": [name]})
    page.goto(address)
    page.get_by_role("button", name="Try 5 of them live").click()
    expect(page.locator(".live-tries .flips")).to_contain_text("Completed")
    expect(page.locator(".live-tries[hx-trigger]")).to_have_count(0, timeout=LONG)
    return address


def backtested(page: Page, policy: dict[str, Any], **more: Any) -> str:
    made = api(page, "backtests", {"policy": policy, **more})
    address = f"/api/v1/backtests/{made['id']}"
    until(page, lambda: page.request.get(address).json()["status"] == "done", "the backtest does not end")
    return f"/backtests/{made['id']}"


def policy_of(page: Page) -> str:
    page.goto("/admin/agents/policy/")
    page.locator("#result_list tbody a", has_text="support").first.click()
    return page.url.split("/policy/")[1].split("/")[0]


def shared(page: Page, turn: str) -> str:
    page.goto(f"{turn}/share")
    page.get_by_role("button", name="Create link").click()
    return page.get_by_label("Address of the link").input_value()


def webhook(page: Page) -> str:
    """A webhook that a test event was sent to; nothing listens at its address."""
    page.goto("/webhooks/")
    if not page.locator("main .outgoing a").count():
        page.locator("[name=name]").fill("on-call")
        page.locator("[name=url]").fill("http://127.0.0.1:9/hook")
        for place in range(3):
            page.locator("[name=events]").nth(place).check()
        page.get_by_role("button", name="Create webhook").click()
    page.locator("main .outgoing a").first.click()
    address = urlsplit(page.url).path
    page.get_by_role("button", name="Send a test").click()
    return address


def styled(page: Page) -> None:
    """Raise AssertionError for a page without styles: nobody can use its picture."""
    assert page.evaluate(STYLED), f"{page.url} has no styles: start the server again, its static files have changed"


def failing(page: Page, name: str) -> None:
    """The page's document is answered as a server does that fails; everything else by the server that runs."""
    if name in FAILURES:
        template, status = FAILURES[name]
        body = render_to_string(template, {"told": FORM_TOO_LARGE} if status == 413 else {})
        told = {"status": status, "content_type": "text/html", "body": body}
        page.route(lambda address: urlsplit(address).path == "/", lambda route: route.fulfill(**told))


def taken(browser: Browser, base: str, state: Any, name: str, address: str, scheme: Any) -> None:
    for size in (DESK, PHONE, WIDE):
        context = browser.new_context(base_url=base, storage_state=state, viewport=size, color_scheme=scheme)  # type: ignore[arg-type]
        page = context.new_page()
        failing(page, name)
        page.goto(address)
        expect(page.locator("main")).to_be_visible()
        if name == "tour":
            loaded(page)
            page.goto(address)  # without the note that it was loaded just now
        if name in ("policy-form", "policy-draft"):
            page.get_by_role("button", name="Run the backtest").click()
            expect(page.locator("#backtest")).to_contain_text("Done", timeout=LONG)
            page.locator("#backtest").scroll_into_view_if_needed()
        page.wait_for_load_state("networkidle", timeout=LONG)
        styled(page)
        page.evaluate(NEUTRAL)
        page.screenshot(path=FOLDER / f"{name}-{scheme}-{size['width']}.png", full_page=name in WHOLE)
        context.close()
