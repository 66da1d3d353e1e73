"""A debugger's controls, in a real browser: hold, change, run on; approvals; two operators; nothing typed is lost."""

from typing import Any
from urllib.parse import parse_qs
from uuid import uuid4

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import NewPage
from tests.browser.journeys import LONG, api, ask, ended, played, resting, scrolls_sideways


def agent(
    page: Page, model: str, *, connection: str = "simulator", limits: dict[str, Any] | None = None, **more: Any
) -> str:
    """A new agent on the simulator; its name."""
    name = f"{model}-{uuid4().hex[:8]}"
    if limits is not None:
        more["policy"] = api(page, "policies", {"name": name, "limits": limits})["name"]
    api(page, "agents", {"name": name, "connection": connection, "model": model, **more})
    return name


def held(page: Page, at: str) -> None:
    expect(page.locator("#operate .standing")).to_contain_text(f"before {at}", timeout=LONG)


def watched(page: Page, name: str, prompt: str) -> None:
    """The agent's live page, opened when the turn that was sent to it holds."""
    page.goto(f"/agents/{name}/live?turn={played(page, name, prompt).rsplit('/', 1)[1]}")


def cut(page: Page, max_tokens: int = 60) -> None:
    """A turn that is held where its cut answer would be gone on with, and may not be."""
    stops = [{"state": "continue_pending"}]
    name = agent(page, "sim-essay", limits={"max_continuations": 0}, breakpoints=stops, max_tokens=max_tokens)
    watched(page, name, "Hold this.")
    held(page, "Whystop requests the rest of the answer")


def calling(page: Page) -> None:
    """A turn whose calls of the calculator wait for approval."""
    approvals = {"tools": ["calculator"], "seconds": 900}
    watched(page, agent(page, "sim-tools", max_tokens=400, tools=["calculator"], approvals=approvals), "Count this.")
    held(page, "Whystop decides what the answer means")


def drawer(page: Page) -> None:
    page.keyboard.press("e")
    expect(page.get_by_role("button", name="Change only")).to_be_visible()


@pytest.mark.nightly
def test_a_turn_held_at_a_breakpoint_completes_with_a_raised_limit_and_names_the_operator(page: Page):
    cut(page, max_tokens=150)
    page.get_by_role("button", name="Remove the breakpoint continue pending").click()
    expect(page.locator(".stops")).to_contain_text("No breakpoints")
    drawer(page)
    page.get_by_label("Max continuations", exact=True).fill("9")
    page.get_by_role("button", name="Change and release").click()
    turn = ended(page)
    expect(page.locator("#operate-dialog")).to_be_hidden()
    page.goto(turn)
    expect(page.locator("#turn-head")).to_contain_text("Replay verified")
    expect(page.locator("#turn-head .verdict")).to_contain_text("Completed", ignore_case=True)
    expect(page.locator("#answer .act").last).to_contain_text("operator: release; Max continuations 9")
    released = page.locator('.node[data-state="held"]')
    released.click()
    page.keyboard.press("j")
    page.keyboard.press("j")
    expect(page.locator("#step")).to_contain_text("operator: release; Max continuations 9")


def test_a_breakpoint_is_set_by_keyboard_alone_and_an_impossible_one_is_refused_at_its_field(page: Page):
    cut(page)
    page.keyboard.press("b")
    page.get_by_label("when any budget falls below").fill("lots")
    page.keyboard.press("Enter")
    expect(page.locator("#break-dialog [role=alert]")).to_contain_text("a percentage such as 10, not “lots”")
    page.get_by_label("when any budget falls below").fill("20")
    page.get_by_label("Hold on entering").select_option("abort_partial")
    page.keyboard.press("Enter")
    expect(page.locator("#break-dialog")).to_be_hidden()
    expect(page.locator(".stops")).to_contain_text("abort partial, any budget under 20 %")


def test_keys_release_and_step_without_losing_the_focus(page: Page):
    cut(page)
    page.locator("[data-operate=step]").focus()
    page.keyboard.press("Enter")
    held(page, "Whystop ends the turn with a partial answer")
    expect(page.locator("[data-operate=step]")).to_be_focused()
    page.keyboard.press("g")
    ended(page)
    expect(page.locator("#operate")).to_be_hidden()


@pytest.mark.nightly
def test_a_turn_runs_to_a_state_and_an_operator_answers_for_the_model(page: Page):
    cut(page)
    page.get_by_label("Run to", exact=True).select_option("abort_partial")
    page.get_by_role("button", name="Run", exact=True).click()
    held(page, "Whystop ends the turn with a partial answer")
    expect(page.locator("#operate .standing")).to_contain_text("an operator asked to run to abort_partial")
    cut(page)
    drawer(page)
    page.get_by_label("Max continuations", exact=True).fill("1")
    page.get_by_text("Inject a response").click()
    page.get_by_label("Text", exact=True).fill("And that is the end.")
    page.get_by_role("button", name="Change and release").click()
    page.goto(ended(page))
    expect(page.locator("#answer")).to_contain_text("And that is the end.answered by operator")
    expect(page.locator("#attempt-2 summary")).to_contain_text("answered by operator")
    page.locator("#attempt-2 summary").click()
    expect(page.locator("#attempt-2")).to_contain_text(
        "operator injected this response in place of the model's, at no cost"
    )


def test_calls_await_approval_with_their_time_left_and_run_as_edited(page: Page):
    calling(page)
    expect(page.locator(".approval")).to_contain_text("2 tool calls awaiting approval, 14 min")
    expect(page.locator(".approval")).to_contain_text("left, then they are refused")
    drawer(page)
    page.get_by_label("Arguments").first.fill('{"expression": "20+3"}')
    page.get_by_label("Result (the tool is not run)").last.fill("as I say")
    page.get_by_role("button", name="Change and approve").click()
    page.goto(ended(page))
    results = page.locator("#answer .result pre")
    expect(results).to_have_text(["23", "as I say"])


@pytest.mark.nightly
def test_a_rejection_names_who_rejected(page: Page):
    calling(page)
    page.get_by_role("button", name="Refuse").click()
    page.goto(ended(page))
    expect(page.locator("#answer .result").first).to_contain_text("This call was not approved: refused by operator.")
    expect(page.locator("#answer .act")).to_contain_text("operator: refuse")


def test_an_invalid_value_is_reported_at_its_field_and_the_input_is_kept(page: Page):
    calling(page)
    before = resting(page, "#machine")
    drawer(page)
    assert resting(page, "#machine") == before
    page.get_by_label("Max continuations", exact=True).fill("-1")
    page.get_by_label("System prompt").fill("Be brief.")
    page.get_by_label("Arguments").first.fill("{nothing}")
    page.get_by_role("button", name="Change only").click()
    expect(page.locator("#operate_limit_max_continuations_error")).to_contain_text("must be a whole number")
    expect(page.locator("#operate_arguments_0_error")).to_contain_text("must be valid JSON")
    expect(page.get_by_label("Arguments").first).to_be_focused()
    expect(page.get_by_label("System prompt")).to_have_value("Be brief.")
    page.keyboard.press("Escape")
    expect(page.locator("#operate-dialog")).to_be_hidden()
    drawer(page)
    expect(page.get_by_label("System prompt")).to_have_value("Be brief.")


@pytest.mark.nightly
def test_the_second_of_two_operators_is_informed_and_keeps_the_typed_input(page: Page, new_page: NewPage):
    cut(page)
    other = new_page()
    other.goto(page.url)
    held(other, "Whystop requests the rest of the answer")
    drawer(page)
    page.get_by_label("System prompt").fill("In my own words.")
    other.get_by_role("button", name="Step").click()
    held(other, "Whystop ends the turn with a partial answer")
    expect(page.locator("#operate .standing")).to_contain_text(
        "before Whystop ends the turn with a partial answer", timeout=LONG
    )
    expect(page.get_by_label("System prompt")).to_have_value("In my own words.")
    page.get_by_role("button", name="Change and step").click()
    expect(page.locator("#operate-panel [role=alert]")).to_contain_text("operator was first and requested “step” at")
    expect(page.get_by_label("System prompt")).to_have_value("In my own words.")
    page.get_by_role("button", name="Change and step").click()
    page.goto(ended(page))
    expect(page.locator("#answer .act").last).to_contain_text("operator: step; system prompt “In my own words.”")


@pytest.mark.nightly
def test_the_drawer_submits_the_typed_input_and_resubmits_it_after_a_refusal(page: Page):
    cut(page)
    drawer(page)
    page.get_by_label("Max continuations", exact=True).fill("9")
    page.get_by_label("Max tokens per call", exact=True).fill("0")
    page.get_by_label("Error policy").select_option("retry_all")
    beside = {"csrfmiddlewaretoken", "panel", "expected_seq", "action"}
    for max_tokens in ("0", "70"):
        page.get_by_label("Max tokens per call", exact=True).fill(max_tokens)
        with page.expect_request("**/control") as sent:
            page.get_by_role("button", name="Change only").click()
        fields = parse_qs(sent.value.post_data or "")
        assert {*fields} - beside == {"limit_max_continuations", "max_tokens", "preset"}
        expect(page.locator("#operate-panel .go button").first).to_be_enabled()
    expect(page.locator("#operate-dialog")).to_be_hidden()
    expect(page.locator("#answer .act").first).to_contain_text("Max continuations 9")
    expect(page.locator("#answer .act").first).to_contain_text("Max tokens per call 70")


@pytest.mark.nightly
def test_an_input_too_large_to_send_is_reported_beside_it_and_kept(new_page: NewPage):
    page = new_page(missing=True)  # what is refused is a complaint of the browser's
    page.goto("/agents/sim-essay/live")
    prompt = page.get_by_label("Prompt for sim-essay")
    prompt.evaluate("(field) => (field.value = 'x'.repeat(6_300_000))")
    page.get_by_role("button", name="Send").click()
    expect(page.locator("#composer [role=alert]")).to_contain_text(
        "a form may have at most 6,200,000 bytes", timeout=LONG
    )
    assert prompt.evaluate("(field) => field.value.length") == 6_300_000
    prompt.fill("Shorter.")
    page.get_by_role("button", name="Send").click()
    expect(page.locator("#turn-head")).to_contain_text("Shorter.")
    expect(page.locator("#composer [role=alert]")).to_have_count(0)


@pytest.mark.nightly
def test_an_unanswered_submission_is_reported_beside_it_and_can_be_repeated(new_page: NewPage):
    page = new_page(missing=True)  # a browser complains of it too
    cut(page)
    release, told = page.get_by_role("button", name="Release"), page.locator("#operate-told [role=alert]")
    page.context.set_offline(True)
    release.click()
    expect(told).to_contain_text("The server did not answer, so this may not have been done.")
    page.context.set_offline(False)
    release.click()
    expect(page.locator("#turn-head")).to_contain_text("continuations")
    expect(told).to_have_count(0)


@pytest.mark.nightly
def test_an_error_page_as_a_response_is_reported_in_the_form_and_the_input_is_kept(new_page: NewPage):
    page = new_page(missing=True)
    page.goto("/agents/sim-essay/live")
    prompt, told = page.get_by_label("Prompt for sim-essay"), page.locator("#composer [role=alert]")
    page.locator("#composer [name=csrfmiddlewaretoken]").evaluate("(field) => (field.value = 'of an earlier session')")
    prompt.fill("Do not lose this.")
    page.get_by_role("button", name="Send").click()
    expect(told).to_contain_text("Reload the page, then try again.")
    expect(prompt).to_have_value("Do not lose this.")
    page.get_by_role("button", name="Send").click()
    expect(told).to_have_count(1)


@pytest.mark.nightly
def test_the_stand_alone_change_page_leads_back_to_the_turn(page: Page):
    cut(page)
    page.goto(page.get_by_role("link", name="Change…").get_attribute("href") or "")
    page.get_by_label("Max continuations", exact=True).fill("1")
    page.get_by_role("button", name="Change only").click()
    expect(page.locator("#turn-head")).to_contain_text("Hold this.")


@pytest.mark.nightly
def test_without_scripts_changes_are_made_on_a_page_of_their_own(page: Page, new_page: NewPage):
    cut(page)
    plain = new_page(java_script_enabled=False, viewport={"width": 390, "height": 844})
    plain.goto(page.url)
    plain.get_by_role("link", name="Change…").click()
    plain.get_by_label("Max continuations", exact=True).fill("1")
    plain.get_by_role("button", name="Change only").click()
    expect(plain.locator("#turn-head")).to_contain_text("Hold this.")


@pytest.mark.nightly
def test_the_controls_fit_a_phone(new_page: NewPage):
    phone = new_page(viewport={"width": 390, "height": 844})
    calling(phone)
    assert not scrolls_sideways(phone)
    drawer(phone)
    assert not scrolls_sideways(phone)
    box = phone.locator("#operate-dialog").bounding_box()
    assert box is not None
    assert (box["x"], box["width"]) == (0, 390)


@pytest.mark.nightly
def test_when_an_approval_expires_the_worker_acts_and_says_on_whose_behalf(page: Page):
    approvals = {"tools": ["calculator"], "seconds": 1, "otherwise": "run"}
    ask(page, agent(page, "sim-tools", max_tokens=400, tools=["calculator"], approvals=approvals), "Count this.")
    page.goto(ended(page))
    expect(page.locator("#answer .act")).to_contain_text("the approval's time limit: release")
    expect(page.locator("#answer .result pre")).to_have_text(["42", "1024"])


def test_a_watcher_sees_where_a_turn_holds_and_no_controls(page: Page):
    cut(page)
    stop = page.locator(".stops li", has_text="continue pending")
    expect(stop.get_by_role("button")).to_be_visible()
    page.evaluate("document.body.classList.add('watching')")
    expect(stop).to_be_visible()
    for name in ("Release", "Step", "Run", "Change…", "Cancel", "Breakpoint…"):
        expect(page.locator("#operate").locator("button, a", has_text=name)).to_be_hidden()
    expect(stop.get_by_role("button")).to_be_hidden()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    for key in "gnhbe":
        page.keyboard.press(key)
    expect(page.locator("dialog[open]")).to_have_count(0)
    page.keyboard.press("?")
    expect(page.locator("#keys-help")).to_be_visible()
    assert asked == []
