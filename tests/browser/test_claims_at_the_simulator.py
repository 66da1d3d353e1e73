"""What was once claimed falsely of the simulator's agents, each beside what really happens."""

import json
import re
from typing import Any
from uuid import uuid4

import pytest
from playwright.sync_api import Page, expect

from dashboard.simulator import texts
from tests.browser.journeys import api, ended, played, until, words
from tests.browser.test_operating import agent

MANY = {"max_continuations": 60, "max_total_completion_tokens": 9999}


def really(page: Page, turn: str, **overrides: object) -> str:
    """What becomes of a turn that is run again under other numbers: its status."""
    return str(run_again(page, turn, overrides)["status"])


def run_again(page: Page, turn: str, overrides: dict[str, object], **more: object) -> dict[str, Any]:
    """The turn that was really run again, once it has ended."""
    body = {"mode": "rerun", "overrides": overrides, **more}
    again = api(page, f"turns/{turn.rsplit('/', 1)[-1]}/replay", body)
    address = f"/api/v1/turns/{again['id']}"
    until(page, lambda: page.request.get(address).json()["status"] not in ("queued", "running"), "it does not end")
    told: dict[str, Any] = page.request.get(address).json()
    return told


@pytest.mark.nightly  # `replay/test_examined.py` runs forks again under other limits
def test_a_fork_that_one_call_would_have_completed_includes_its_starting_text(page: Page):
    turn = played(page, "sim-essay", "Begin here.", max_tokens=150)
    fork = api(page, f"turns/{turn.rsplit('/', 1)[-1]}/replay", {"mode": "rerun", "from_record": 2, "overrides": {}})
    page.goto(f"/turns/{fork['id']}")
    page.goto(f"{ended(page)}/replay?max_tokens=400")
    column = page.locator("#what-if")
    expect(column).to_contain_text("Completed after 1 continuation.")
    expect(column.locator("[data-certainty=estimated]").first).to_be_visible()
    assert words(page, "#what-if") == texts.ESSAY
    for max_tokens in (5, 100, 150, 400):
        page.goto(f"/turns/{fork['id']}/replay?max_tokens={max_tokens}")
        told, endings = column.inner_text(), column.locator(".endings > div").all_inner_texts()
        ended_so = run_again(page, turn, {"max_tokens": max_tokens}, from_record=2)
        if endings:
            assert any(ended_so["status"] in ending.lower() for ending in endings), (max_tokens, ended_so, endings)
        else:
            how = re.split("[:.]", ended_so["verdict"])[0]
            assert how in told or "Not known" in told, (max_tokens, how, told)


@pytest.mark.nightly  # `replay/test_examined.py` runs it again, `replay/test_certainty.py` judges it
def test_a_failure_is_not_ignored_where_the_policy_stops_on_any_error(page: Page):
    errors = {"preset": "retry_all"}
    name = agent(page, "sim-flaky", max_tokens=400, policy=patient(page, errors))
    turn = played(page, name, "Will it last?")
    page.goto(f"{turn}/replay?max_tokens=300&preset=stop_on_any_error")
    expect(page.locator("#what-if")).to_contain_text("Failed on the first call")
    expect(page.locator("#what-if [data-certainty=certain]").first).to_be_visible()
    assert really(page, turn, max_tokens=300, error_policy={"preset": "stop_on_any_error"}) == "failed"


def patient(page: Page, error_policy: dict[str, str]) -> str:
    made = api(page, "policies", {"name": f"patient-{uuid4().hex[:8]}", "error_policy": error_policy})
    return str(made["name"])


def test_no_equal_element_is_lost_and_an_ambiguous_seam_is_shown_in_both_readings(page: Page):
    turn = played(page, agent(page, "sim-array", max_tokens=20, limits=MANY), "List them.")
    page.goto(turn)
    assert json.loads(words(page, "#answer")) == json.loads(texts.ARRAY)
    reading = page.locator("#signs .readings").first.locator("dd")
    expect(reading).to_have_count(2)
    kept, dropped = (len(reading.nth(place).inner_text()) for place in (0, 1))
    assert kept > dropped


@pytest.mark.nightly  # `live/test_continuing.py` runs turns again at and around that number
def test_once_a_connection_test_finds_exact_continuation_the_verdict_names_a_number_that_holds(page: Page):
    address = next(
        made["base_url"] for made in page.request.get("/api/v1/connections").json() if made["name"] == "simulator"
    )
    name = f"echo-{uuid4().hex[:8]}"
    made = api(page, "connections", {"name": name, "provider": "openai", "base_url": address})
    page.goto(f"/admin/agents/connection/{made['id']}/change/")
    page.get_by_label("Model to test with").fill("sim-prefill-echo")
    page.get_by_role("button", name="Save and test the connection").click()
    expect(page.locator("body")).to_contain_text("It continues a last assistant message, but repeats the text first.")
    turn = played(page, agent(page, "sim-prefill-echo", connection=name, max_tokens=150), "Exactly?")
    page.goto(turn)
    said = page.request.get(f"/api/v1/turns/{turn.rstrip('/').rsplit('/', 1)[1]}").json()["verdict"]
    assert "one call would have been enough" in said
    enough = int(re.sub(r"\D", "", said.split("≥")[1].split("one call")[0]))
    expect(page.locator("#limit")).to_contain_text(f"{enough}")
    for cap, calls in ((enough, "Completed in 1 call."), (enough - 10, "Completed after 1 continuation.")):
        page.goto(f"{turn}/replay?max_tokens={cap}")
        expect(page.locator("#what-if")).to_contain_text(calls)
        assert words(page, "#what-if") == texts.ESSAY
        assert really(page, turn, max_tokens=cap) == "completed"


@pytest.mark.nightly  # `replay/test_examined_over_the_api.py` asks of the same model
def test_without_reported_usage_no_number_is_shown_as_exact(page: Page):
    turn = played(page, agent(page, "sim-no-usage", max_tokens=150), "How many?")
    told = page.request.get(f"/api/v1/turns/{turn.rsplit('/', 1)[-1]}").json()
    assert told["verdict"] == "Completed after 2 continuations."
    page.goto(f"{turn}/replay?max_tokens=600")
    expect(page.locator("#what-if")).to_contain_text("≈")
    expect(page.locator("#what-if [data-certainty=estimated]").first).to_be_visible()


@pytest.mark.nightly  # `replay/test_examined_over_the_api.py` asks of the same model
def test_a_cap_within_the_recorded_reasoning_is_not_claimed_to_complete(page: Page):
    """300 tokens of reasoning and 80 of text at 600: at 100 it really ends in two calls that say nothing."""
    name = agent(page, "sim-reasons", max_tokens=600)
    turn = played(page, name, "Think first.")
    page.goto(f"{turn}/replay?max_tokens=100")
    column = page.locator("#what-if")
    expect(column).to_contain_text("Not known: two endings are possible, depending on the assumptions.")
    expect(column.locator(".endings")).to_contain_text("repetition after 2 calls")
    assumes = column.locator(".assumes")
    expect(assumes).to_contain_text("Reasoning uses 0–300 of the tokens that Max tokens per call (max_tokens) allows")
    assert really(page, turn, max_tokens=100) == "partial"
    page.goto(f"{turn}/replay?max_tokens=385")
    expect(page.locator("#what-if")).to_contain_text("Completed in 1 call")
    # Reported reasoning may be a share of what counts: nothing in this recording shows that it is all.
    expect(page.locator("#what-if [data-certainty=estimated]").first).to_be_visible()
