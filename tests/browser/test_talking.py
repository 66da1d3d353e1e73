"""Talking to an agent: what is said is known to the next turn, seen by all, in its order, whatever the network does."""

import re

import pytest
from playwright.sync_api import Page, WebSocket, WebSocketRoute, expect

from tests.browser.conftest import DESK, PHONE, NewPage
from tests.browser.journeys import LONG, Sockets, alike, ask, ended, go_on, scrolls_sideways, until
from tests.browser.test_accessible import check
from tests.browser.test_operating import agent, held
from tests.nightly import nightly


def begun(page: Page, prompt: str, *, agent: str = "sim-essay", max_tokens: int = 60) -> str:
    """The address of a new conversation."""
    ask(page, agent, prompt, max_tokens=max_tokens)
    expect(page).to_have_url(re.compile(r"\?conversation="))
    return page.url


def test_the_second_turn_knows_the_first_and_a_second_browser_shows_the_same(page: Page, new_page: NewPage):
    address = begun(page, "What do I ask first?")
    other = new_page()
    other.goto(address)
    expect(other.locator("h1").first).to_have_text("What do I ask first?")
    ended(page)
    go_on(page, "sim-essay", "What did I ask first?")
    expect(page.locator("#turn-head")).to_contain_text("What did I ask first?")
    expect(page.locator("#transcript .exchange")).to_have_count(1)
    ended(page)
    page.locator("#answer summary", has_text="Earlier messages").click()
    expect(page.locator("#answer details")).to_contain_text("What do I ask first?")
    expect(other.locator("#turn-head")).to_contain_text("What did I ask first?", timeout=LONG)
    ended(other)
    fresh = new_page()
    fresh.goto(address)
    fresh.locator("#answer summary", has_text="Earlier messages").click()
    other.locator("#answer summary", has_text="Earlier messages").click()
    for viewer in (page, other):
        expect(viewer.locator("#heading")).to_have_text(fresh.locator("#heading").inner_text(), use_inner_text=True)
        alike(viewer, fresh)


def test_a_prompt_sent_during_a_turn_is_queued_and_can_be_withdrawn(page: Page, talker: str):
    begun(page, "Take your time.", agent=talker, max_tokens=4_000)
    go_on(page, talker, "I am next.")
    go_on(page, talker, "I will be withdrawn.")
    expect(page.locator("#line li")).to_have_count(2)
    expect(page.locator("#line")).to_contain_text("Next, after “Take your time.” has ended.")
    page.locator("#line li").last.get_by_role("button", name="Withdraw").click()
    expect(page.locator("#line li")).to_have_count(1)
    expect(page.locator("#transcript")).to_contain_text("It was waiting in the queue")
    page.get_by_role("button", name="Cancel", exact=True).first.click()
    expect(page.locator("#turn-head")).to_contain_text("I am next.", timeout=LONG)
    expect(page.locator("#line li")).to_have_count(0)
    page.get_by_role("button", name="Cancel", exact=True).first.click()
    ended(page)


def cut(lines: list[WebSocketRoute]) -> None:
    """The page's sockets are gone, as when a network or a server goes."""
    while lines:
        lines.pop().close(code=1012)


@pytest.mark.nightly
def test_the_running_turn_and_the_conversation_are_each_watched_by_one_socket(page: Page):
    name = agent(page, "sim-essay", max_tokens=60, breakpoints=[{"state": "evaluate_stop"}])
    opened: list[WebSocket] = []
    page.on("websocket", lambda socket: opened.append(socket))  # playwright takes no methods of C
    ask(page, name, "Hold, that it is watched.")
    held(page, "Whystop decides what the answer means")
    go_on(page, name, "Wait in line.")
    expect(page.locator("#line")).to_contain_text("Wait in line.")

    def watched() -> list[str]:
        return sorted(socket.url.split("/")[4] for socket in opened if not socket.is_closed())

    things = ["agents", "inbox", "turns"]
    until(page, lambda: watched() == things, "there are more sockets than things to watch, or fewer")
    page.go_back()
    expect(page.locator("#line")).to_contain_text("Wait in line.")
    held(page, "Whystop decides what the answer means")
    until(page, lambda: watched() == things, "there are more sockets once one has gone back")


def test_a_page_that_was_offline_receives_every_update_once(page: Page, new_page: NewPage):
    address = begun(page, "Before I leave.")
    ended(page)
    away = new_page()
    lines: list[WebSocketRoute] = []
    away.route_web_socket(re.compile("/ws/"), lambda line: (line.connect_to_server(), lines.append(line)))
    away.goto(address)
    away.evaluate("() => { window.stay = true }")
    until(away, lambda: lines, "no socket was opened")
    cut(lines)
    go_on(page, "sim-essay", "While you were away, one.")
    expect(page.locator("#turn-head")).to_contain_text("one.")
    ended(page)
    cut(lines)
    go_on(page, "sim-essay", "While you were away, two.")
    expect(page.locator("#turn-head")).to_contain_text("two.")
    ended(page)
    expect(away.locator("#turn-head")).to_contain_text("two.", timeout=LONG)
    ended(away)
    expect(away.locator("#heading")).to_have_text(page.locator("#heading").inner_text(), use_inner_text=True)
    alike(away, page)
    expect(away.locator("#transcript .exchange")).to_have_count(2)
    assert away.evaluate("window.stay"), "the page was not loaded again"


@pytest.mark.nightly
def test_a_page_without_a_connection_says_that_it_may_be_old_until_reconnected(page: Page):
    sockets = Sockets(page)
    page.goto("/agents/sim-essay/live")
    until(page, lambda: sockets.open, "no socket was opened")
    said = page.locator("#messages")
    expect(said).to_have_text("")
    sockets.leave()
    expect(said).to_contain_text("Connection lost. Retrying…")
    go_on(page, "sim-essay", "What was lost no longer exists.")
    expect(page.locator("#turn-head")).to_contain_text("What was lost no longer exists.")
    sockets.away = False
    expect(said).to_have_text("", timeout=LONG)


#: A part of the page that loses its socket.
LOSES = """() => {
  document.getElementById("newest").insertAdjacentHTML("beforeend", '<i id="lost-part"></i>');
  const detail = { event: { code: 1006 } };
  document.getElementById("lost-part").dispatchEvent(new CustomEvent("htmx:wsClose", { bubbles: true, detail }));
}"""
#: The socket of another replaces that part by what has no socket.
REPLACED = """() => {
  document.getElementById("lost-part").remove();
  document.getElementById("conversation-socket").dispatchEvent(new Event("htmx:wsAfterMessage", { bubbles: true }));
}"""


def test_a_lost_connection_is_forgotten_once_its_part_of_the_page_is_replaced(page: Page):
    page.goto("/agents/sim-essay/live")
    page.evaluate(LOSES)
    said = page.locator("#messages")
    expect(said).to_contain_text("Connection lost. Retrying…")
    page.evaluate(REPLACED)
    expect(said).to_have_text("")


def test_no_socket_waits_long_before_it_is_tried_again(page: Page):
    page.goto("/agents/sim-essay/live")
    waits = page.evaluate("() => Array.from({ length: 100 }, (_, tries) => htmx.config.wsReconnectDelay(tries))")
    assert max(waits) <= 10_000


@pytest.mark.nightly
def test_a_page_that_wakes_with_dead_sockets_catches_up(page: Page, new_page: NewPage):
    address = begun(page, "Before I sleep.")
    ended(page)
    sleeper, awake = new_page(), {"now": True}

    def pass_on(line: WebSocketRoute) -> None:
        """Nothing arrives while it sleeps, and nobody closes."""
        server, mine = line.connect_to_server(), awake["now"]
        server.on_message(lambda text: line.send(text) if awake["now"] == mine else None)

    sleeper.route_web_socket(re.compile("/ws/"), pass_on)
    sleeper.goto(address)
    expect(sleeper.locator("#turn-head")).to_contain_text("Before I sleep.")
    awake["now"] = False
    go_on(page, "sim-essay", "While you slept.")
    expect(page.locator("#turn-head")).to_contain_text("While you slept.")
    ended(page)
    assert "While you slept." not in sleeper.locator("#turn-head").inner_text()
    awake["now"] = "again"
    sleeper.context.set_offline(True)
    sleeper.context.set_offline(False)
    expect(sleeper.locator("#turn-head")).to_contain_text("While you slept.", timeout=LONG)
    alike(sleeper, page)


@pytest.mark.parametrize("cut_off", [nightly(False, id="shown out"), pytest.param(True, id="cut off and back")])
def test_a_page_whose_session_has_ended_asks_for_sign_in(new_page: NewPage, cut_off: bool):
    page = new_page(missing=True)
    lines: list[WebSocketRoute] = []
    page.route_web_socket(re.compile("/ws/"), lambda line: (line.connect_to_server(), lines.append(line)))
    page.goto("/agents/sim-essay/live")
    expect(page.locator("#composer")).to_be_visible()
    until(page, lambda: lines, "no socket was opened")
    # Forgotten by this browser; by the server that is tests/dashboard/accounts/test_websocket.py's.
    page.context.clear_cookies()
    if cut_off:
        page.unroute_all()
        for line in lines:
            line.close(code=1012)
    else:
        for line in lines:
            line.close(code=4401)
    expect(page).to_have_url(re.compile("/sign-in/"), timeout=LONG)


@pytest.mark.nightly
def test_a_budget_decreases_is_refused_when_exhausted_and_is_raised_on_the_page(page: Page):
    page.goto("/agents/sim-essay/live")
    page.get_by_label("Conversation budget").fill("200")
    page.get_by_label("Max tokens per call").fill("60")
    page.get_by_label("Prompt for sim-essay").fill("Spend it.")
    page.get_by_role("button", name="Send").click()
    ended(page)
    expect(page.locator("#heading")).to_contain_text("used up", timeout=LONG)
    page.get_by_label("Prompt for sim-essay").fill("More?")
    page.get_by_role("button", name="Send").click()
    expect(page.get_by_role("alert").last).to_contain_text("budget of 200 tokens is used up")
    page.get_by_text("Change the budget").click()
    page.get_by_label("Token budget").fill("90000")
    page.get_by_role("button", name="Set", exact=True).click()
    expect(page.locator("#heading")).to_contain_text("90,000")
    go_on(page, "sim-essay", "More!")
    expect(page.locator("#turn-head")).to_contain_text("More!")
    ended(page)


@pytest.mark.nightly
def test_a_conversation_works_without_scripts(new_page: NewPage):
    page = new_page(java_script_enabled=False)
    page.goto("/agents/sim-refuse/live")
    for prompt in ("No scripts.", "Still none."):
        page.get_by_label("Prompt for sim-refuse").fill(prompt)
        page.get_by_role("button", name="Send").click()
        expect(page).to_have_url(re.compile(r"\?conversation="))
    expect(page.locator("#heading")).to_contain_text("2 turns")


@pytest.mark.parametrize("viewport", [nightly(DESK, id="desk"), pytest.param(PHONE, id="phone")])
def test_the_composer_stays_visible_and_nothing_scrolls_sideways(new_page: NewPage, viewport: dict[str, int]):
    page = new_page(viewport=viewport)
    begun(page, "Look at me.")
    ended(page)
    for place in ("0", "document.body.scrollHeight / 2"):
        page.evaluate(f"window.scrollTo(0, {place})")
        expect(page.get_by_role("button", name="Send")).to_be_in_viewport()
    # Nothing lies beneath it at the page's foot.
    page.evaluate("window.scrollTo(0, document.body.scrollHeight)")
    foot = page.evaluate("document.getElementById('composer').getBoundingClientRect().bottom - innerHeight")
    assert abs(foot) < 2
    assert not scrolls_sideways(page)


@pytest.mark.nightly
def test_axe_finds_no_violation_in_a_running_or_ended_conversation(page: Page):
    begun(page, "Read me aloud.")
    ended(page)
    go_on(page, "sim-essay", "And me.")
    expect(page.locator("#turn-head")).to_contain_text("And me.")
    ended(page)
    check(page)


def test_the_tab_of_the_agent_is_visible_on_a_phone(new_page: NewPage):
    page = new_page(viewport=PHONE)
    for name in ("sim-cut-tool", "sim-tools"):
        page.goto(f"/agents/{name}/live")
        # What scrolls stands at whole pixels, so a fraction of one may be out of sight.
        expect(page.locator(".tabs [aria-current]")).to_be_in_viewport(ratio=0.99)
