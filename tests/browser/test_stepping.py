import re
import subprocess
import sys

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import CHECKOUT, NewPage
from tests.browser.journeys import played
from tests.nightly import nightly

ICON = "/static/img/icon.svg"  #: a browser looks for it whenever the address changes


@pytest.fixture
def turn(page: Page, cut_turn: str) -> str:
    """The address of a turn that was cut four times, open in `page`."""
    page.goto(cut_turn)
    return cut_turn


def at(page: Page, number: int) -> None:
    expect(page.locator("[data-now-number]")).to_have_text(str(number))
    expect(page.locator(".moment:visible")).to_have_count(1)
    expect(page.locator(".moment:visible")).to_contain_text(f"#t{number}")


def test_keys_step_through_every_transition_without_requests_to_the_server(page: Page, turn: str):
    asked: list[str] = []
    page.on("request", lambda request: None if request.url.endswith(ICON) else asked.append(request.url))
    at(page, 14)
    for key, number in [
        ("Home", 1), ("ArrowRight", 2), ("j", 3), ("ArrowLeft", 2), ("k", 1), ("k", 1), ("End", 14), ("j", 14),
    ]:  # fmt: skip
        page.keyboard.press(key)
        at(page, number)
    assert asked == []


def test_each_step_shows_the_other_possible_transitions_and_how_near_they_were(page: Page, turn: str):
    page.locator("#why > summary").click()
    page.locator(".tree").get_by_role("link", name="#t13").click()
    at(page, 13)
    roads = page.locator("ul.roads").first
    expect(roads).to_contain_text("3 of 3 continuations used")
    expect(roads).to_contain_text("it would have continued")
    page.keyboard.press("ArrowLeft")
    at(page, 12)
    page.locator(".others > summary").click()
    expect(page.locator(".others")).to_contain_text("no tool call in the answer")
    expect(roads.locator("li")).to_have_count(0)


#: The texts of a step in which the key of a limit is not code.
BARE = """step => [...step.querySelectorAll("[data-fill]")].filter(each => [...each.childNodes].some(
  node => node.nodeType === Node.TEXT_NODE && /max_(continuations|total)/.test(node.data)
)).map(each => each.textContent)"""


def test_keys_of_limits_are_code_at_every_step(page: Page, turn: str):
    step = page.locator("#step")
    assert step.evaluate(BARE) == []
    page.keyboard.press("Home")
    at(page, 1)
    page.keyboard.press("End")
    at(page, 14)
    page.keyboard.press("ArrowLeft")
    at(page, 13)
    assert "max_total_output_chars" in step.locator("code").all_text_contents()
    assert step.evaluate(BARE) == []


def test_buttons_and_the_slider_step_too(page: Page, turn: str):
    page.get_by_role("button", name="First transition").click()
    page.get_by_role("button", name="Forward").click()
    at(page, 2)
    page.get_by_label("Transition", exact=True).focus()
    page.keyboard.press("ArrowRight")
    at(page, 3)
    box = page.locator(".track").bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + 1, box["y"] + 32)
    at(page, 1)


def test_later_transitions_are_dimmed_and_the_current_state_is_highlighted(page: Page, turn: str):
    page.keyboard.press("Home")
    page.keyboard.press("j")
    expect(page.locator('.node[data-when="now"]')).to_have_attribute("data-state", "evaluate_stop")
    expect(page.locator('.piece[data-when="now"]')).to_have_count(1)
    expect(page.locator('.piece[data-when="future"]')).to_have_count(3)


@pytest.mark.nightly
def test_each_transition_has_a_url(page: Page, turn: str, new_page: NewPage):
    page.keyboard.press("Home")
    page.keyboard.press("j")
    expect(page).to_have_url(re.compile(r"#t2$"))
    another = new_page()
    another.goto(f"{turn}#t5")
    at(another, 5)
    assert another.evaluate("scrollY") == 0


def test_raw_bytes_are_loaded_on_request(page: Page, turn: str):
    expect(page.locator("#attempt-2 pre")).to_have_count(0)
    page.locator("#attempt-2 summary").click()
    expect(page.locator("#attempt-2")).to_contain_text("Continue exactly from where you left off")
    expect(page.locator("#attempt-2")).to_contain_text("chat.completion.chunk")


@pytest.mark.nightly
def test_without_scripts_the_buttons_step_through_the_server(new_page: NewPage, turn: str):
    plain = new_page(java_script_enabled=False)
    plain.goto(f"{turn}?step=3")
    expect(plain.locator("#step")).to_contain_text("#t3")
    plain.get_by_role("button", name="Forward").click()
    expect(plain).to_have_url(re.compile(r"step=4$"))
    expect(plain.locator("#step")).to_contain_text("#t4")
    expect(plain.locator('.node[data-when="now"]')).to_have_count(1)


#: What of a page depends on the step, as text that two pages can be compared by.
SEEN = """root => {
  const all = selector => [...root.querySelectorAll(selector)];
  const spaces = html => html.replace(/\\s+/g, " ").replace(/> +</g, "><").replace(/ "/g, '"');
  const marks = all("#machine [data-when], #answer [data-when]").map(e => e.dataset.when).join(" ");
  const labels = all("[data-label]").map(e => e.textContent).join("|");
  const rail = all("[data-passed], [data-dots], [data-here], [data-to-come]").map(e => e.getAttribute("d")).join(" ");
  const slider = root.querySelector(".track input").getAttribute("aria-valuetext");
  const panel = spaces(root.querySelector("#step").innerHTML).replaceAll(' hidden=""', " hidden");
  return [panel, marks, labels, rail, spaces(root.querySelector(".told-step").textContent) + slider];
}"""


@pytest.mark.parametrize("agent", ["sim-cut-tool", *map(nightly, ("sim-essay", "sim-tools", "sim-flaky"))])
def test_a_step_looks_the_same_rendered_by_the_browser_or_the_server(page: Page, agent: str):
    turn = played(page, agent, "Step through this.", max_tokens=60 if agent == "sim-essay" else None)
    page.goto(turn)
    page.keyboard.press("Home")
    for number in range(1, int(page.locator(".track input").get_attribute("max") or 0) + 1):
        expect(page.locator("[data-now-number]")).to_have_text(str(number))
        told = page.evaluate(f"({SEEN})(document)")
        made = page.request.get(f"{turn}?step={number}").text()
        fresh = page.evaluate(f"html => ({SEEN})(new DOMParser().parseFromString(html, 'text/html'))", made)
        assert told == fresh, number
        page.keyboard.press("j")


def test_states_of_the_diagram_link_to_their_steps(page: Page, turn: str):
    page.keyboard.press("Home")
    state = page.locator('.node[data-state="continue_pending"]')
    state.click()
    at(page, 3)
    state.focus()
    page.keyboard.press("Enter")
    at(page, 6)
    expect(page.locator('.node[data-state="repair_pending"]')).not_to_have_attribute("href", re.compile("."))


def test_playback_starts_and_stops(page: Page, turn: str):
    page.get_by_label("Speed of playing").select_option("instant")
    page.locator("[data-play]").click()
    expect(page.locator("[data-play]")).to_have_attribute("aria-pressed", "true")
    at(page, 14)
    expect(page.locator("[data-play]")).to_have_attribute("aria-pressed", "false")
    page.get_by_label("Speed of playing").select_option("1×")
    page.locator("h1").click()
    page.keyboard.press("Space")
    expect(page.locator("[data-play]")).to_have_attribute("aria-pressed", "true")
    page.keyboard.press("k")
    expect(page.locator("[data-play]")).to_have_attribute("aria-pressed", "false")


def test_a_question_mark_lists_the_shortcuts_and_escape_returns_the_focus(page: Page, turn: str):
    button = page.get_by_role("button", name="Keys")
    button.focus()
    page.keyboard.press("?")
    dialog = page.get_by_role("dialog", name="Keys")
    expect(dialog).to_be_visible()
    page.keyboard.press("Home")
    at(page, 14)
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    expect(button).to_be_focused()


@pytest.mark.nightly
def test_the_url_of_a_transition_can_be_copied(page: Page, turn: str, new_page: NewPage):
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.keyboard.press("Home")
    page.keyboard.press("j")
    page.get_by_role("button", name="Copy the link to this transition").click()
    expect(page.locator("#step-status")).to_have_text("Copied")
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied.endswith(f"{turn}?step=2")
    another = new_page()
    another.goto(copied)
    at(another, 2)


def test_a_request_can_be_copied_as_a_command(page: Page, turn: str):
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.locator("#attempt-2 summary").first.click()
    page.get_by_text("Request as a curl command").click()
    page.get_by_role("button", name="Copy as curl").click()
    expect(page.locator("#step-status")).to_have_text("Copied")
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied == page.locator("#curl-2").text_content()
    assert copied.startswith("curl ")


def test_a_breakpoint_on_an_ended_turn_is_offered_for_a_re_run(page: Page, turn: str):
    page.keyboard.press("Home")
    page.keyboard.press("j")
    page.keyboard.press("b")
    expect(page.get_by_label("Hold on entering")).to_have_value("evaluate_stop")
    page.get_by_role("button", name="Re-run with a breakpoint here…").click()
    expect(page).to_have_url(re.compile(r"/replay/again\?breakpoint=evaluate_stop"))
    expect(page.get_by_role("checkbox", name="evaluate stop")).to_be_checked()


STORE = """
import django; django.setup()
from dashboard.agents.selectors import project_default
from dashboard.bench.long_turn import long_turn_store
print(long_turn_store(project=project_default()).id)
"""

STEP = """async keys => {
  const times = [];
  for (const key of keys) {
    const began = performance.now();
    document.body.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
    document.body.getBoundingClientRect(); // what the step changed is laid out
    times.push(performance.now() - began);
    await new Promise(requestAnimationFrame);
  }
  return times.sort((a, b) => a - b);
}"""


@pytest.mark.nightly
def test_five_hundred_attempts_are_stepped_without_requests(page: Page, environment: dict[str, str], record_property):
    django = {**environment, "DJANGO_SETTINGS_MODULE": "dashboard.settings"}
    made = subprocess.run(
        [sys.executable, "-c", STORE], cwd=CHECKOUT, env=django, capture_output=True, text=True, check=True
    )
    with page.expect_response(re.compile("/transcript$")):
        page.goto(f"/turns/{made.stdout.split()[-1]}")
    expect(page.locator("#answer [data-rest]")).to_have_count(0)
    expect(page.locator("#answer .piece")).to_have_count(487)
    asked: list[str] = []
    page.on("request", lambda request: None if request.url.endswith(ICON) else asked.append(request.url))
    times = page.evaluate(STEP, ["Home", *["j"] * 60, "End", *["k"] * 60])
    record_property("step_ms_p50", times[len(times) // 2])
    record_property("step_ms_p95", times[int(0.95 * len(times))])
    at(page, 1521 - 60)
    assert asked == []
