"""What was once claimed falsely, each at a model whose answers are written down for it, beside what really happens."""

import json
from typing import Any
from uuid import uuid4

import pytest
from playwright.sync_api import Page, expect

from dashboard.simulator import texts
from tests.browser.journeys import api, ask, ended, played, until, words
from tests.browser.test_claims_at_the_simulator import patient
from tests.browser.test_operating import agent, held

SUM = {"tool_calls": [{"name": "calculator", "arguments": {"expression": "6 * 7"}}]}
MALFORMED = {"tool_calls": [{"name": "calculator", "arguments": texts.MALFORMED_ARGUMENTS}]}
WHAT_WAS = {"behaviour": "sim-prefill"}  #: `texts.WHAT_WAS`, continued exactly
OVERLOADED = {"error": {"status": 503, "message": "Overloaded."}}
BY_PREFILL = "one call would have been enough"


def scripted(page: Page, *answers: dict[str, Any]) -> str:
    """A model that gives these answers, one for each call; its name."""
    made = api(page, "simulator/scripts", {"name": f"claim-{uuid4().hex[:8]}", "answers": list(answers)})
    return str(made["model"])


def address(page: Page) -> str:
    """Where the simulator is."""
    connections = page.request.get("/api/v1/connections").json()
    return next(str(made["base_url"]) for made in connections if made["name"] == "simulator")


def exact(page: Page) -> str:
    """A connection that continues a cut answer exactly; its name."""
    return connected(page, "openai", address(page), prefill=True)


def connected(page: Page, provider: str, base_url: str, **more: Any) -> str:
    body = {"name": f"{provider}-{uuid4().hex[:8]}", "provider": provider, "base_url": base_url, **more}
    return str(api(page, "connections", body)["name"])


def turn_of(page: Page, turn: str) -> dict[str, Any]:
    told: dict[str, Any] = page.request.get(f"/api/v1/turns/{turn.rsplit('/', 1)[-1]}").json()
    return told


def run_again(page: Page, turn: str, **overrides: object) -> dict[str, Any]:
    """A turn that was really run again under other limits, once it has ended."""
    again = api(page, f"turns/{turn.rsplit('/', 1)[-1]}/replay", {"mode": "rerun", "overrides": overrides})
    until(page, lambda: turn_of(page, again["id"])["status"] not in ("queued", "running"), "it does not end")
    return turn_of(page, again["id"])


def test_a_what_if_of_a_call_made_twice_shows_the_error_first_and_the_result_second(page: Page):
    """Once it told the model "42" twice."""
    model = scripted(page, SUM, SUM, {"text": "It is 42."})
    more = {"approvals": {"tools": ["calculator"], "seconds": 900}, "policy": patient(page, {"preset": "retry_all"})}
    ask(page, agent(page, model, max_tokens=400, tools=["calculator"], **more), "Count this.")
    held(page, "Whystop decides what the answer means")
    page.get_by_role("button", name="Refuse").click()
    expect(page.locator("#answer .result")).to_have_count(1)
    held(page, "Whystop decides what the answer means")
    page.get_by_role("button", name="Approve", exact=True).click()
    page.goto(f"{ended(page)}/replay?max_continuations=9")
    results = page.locator("#what-if .result")
    expect(results).to_have_count(2)
    expect(results.first).to_contain_text("This call was not approved: refused by operator.")
    expect(results.last.locator("pre")).to_have_text("42")
    expect(page.locator("#what-if .steps [data-certainty]:not([data-certainty=recorded])")).to_have_count(0)


def test_a_criterions_message_with_other_words_is_not_answered_from_the_recording(page: Page):
    """Once a backtest with a changed message was called recorded."""
    said = "Say more."
    model = scripted(page, {"text": "Short."}, {"text": "Short no more, for more was asked for."})
    name = agent(page, model, max_tokens=400, policy=wanting(page, said))
    played(page, name, "Tell me.")
    for message, certainty in ((said, "recorded"), ("Add a reason.", "not known")):
        body = {"policy": {"criteria": [criterion(message)]}, "filter": {"agent": name}}
        page.goto(f"/backtests/{api(page, 'backtests', body)['id']}")
        expect(page.locator("#backtest h2").first).to_contain_text("Done")
        expect(page.locator(".outcomes li", has_text=certainty).last.locator("b")).to_have_text("1")


def criterion(message: str) -> dict[str, Any]:
    return {"path": "ResponseContentCheck", "kwargs": {"message": message, "min_chars": 10}}


def wanting(page: Page, message: str) -> str:
    """A policy that asks for a longer answer in these words."""
    made = api(page, "policies", {"name": f"wanting-{uuid4().hex[:8]}", "criteria": [criterion(message)]})
    return str(made["name"])


def test_a_broken_call_under_a_smaller_cap_is_not_read_as_truncated_text(page: Page):
    model = scripted(page, MALFORMED, {"text": "I was told to do without."})
    turn = played(page, agent(page, model, max_tokens=400, tools=["calculator"]), "Count this.")
    page.goto(f"{turn}/replay?max_tokens=3")
    expect(page.locator("#what-if")).to_contain_text("Not known")
    expect(page.locator("#what-if")).not_to_contain_text("cut off")
    page.goto(f"{turn}/replay?max_tokens=500")
    expect(page.locator("#what-if")).to_contain_text("Completed")


FIRST = {
    "nothing failed": ((), True),
    "the first attempt failed": ((OVERLOADED,), False),
    "a malformed call was repaired": ((MALFORMED,), False),
}


@pytest.mark.parametrize(("before", "named"), FIRST.values(), ids=FIRST)
def test_a_verdict_names_its_number_only_where_every_call_succeeded(
    page: Page, before: tuple[dict[str, Any], ...], named: bool
):
    model = scripted(page, *before, WHAT_WAS)
    more = {"tools": ["calculator"], "policy": patient(page, {"preset": "retry_all"})}
    turn = played(page, agent(page, model, connection=exact(page), max_tokens=7, **more), "Tell me what was.")
    told = turn_of(page, turn)
    assert told["output_text"] == texts.WHAT_WAS
    assert (BY_PREFILL in told["verdict"]) is named
    page.goto(turn)
    expect(page.locator("#limit [data-certainty=certain]")).to_have_count(1 if named else 0)


@pytest.mark.nightly  # `replay/test_examined_over_the_api.py` asks of the same model
def test_text_after_a_hint_is_not_presented_as_the_text_of_one_call(page: Page):
    turn = played(page, agent(page, "sim-hint-differs", max_tokens=150), "In one go?")
    assert BY_PREFILL not in turn_of(page, turn)["verdict"]
    page.goto(f"{turn}/replay?max_tokens=400")
    expect(page.locator("#what-if")).to_contain_text("Completed in 1 call")
    expect(page.locator("#what-if .assumes")).to_contain_text("recorded after a request to continue")
    imagined, really = words(page, "#what-if"), run_again(page, turn, max_tokens=400)
    assert (really["attempts"], really["output_text"]) == (1, texts.ESSAY)
    assert imagined != texts.ESSAY, "another text after a hint than in one go"


@pytest.mark.nightly  # `live/test_connection_pool.py` makes 300 such calls
def test_a_keep_alive_connection_closed_by_the_server_costs_no_attempt(page: Page):
    told = turn_of(page, played(page, agent(page, "sim-closing", max_tokens=150), "Keep alive."))
    assert (told["status"], told["attempts"], told["continuations"]) == ("completed", 3, 2)
    assert told["output_text"] == texts.ESSAY


def test_an_object_restarted_by_a_grammar_is_never_joined_to_the_truncated_one(page: Page):
    turn = played(page, agent(page, "sim-json-anew", max_tokens=60, envelope_schema={"type": "object"}), "Report.")
    assert turn_of(page, turn)["envelope"] == json.loads(texts.REPORT)
    page.goto(turn)
    expect(page.locator("#answer")).to_contain_text("Why agents stop")


@pytest.mark.nightly  # `replay/test_examined_over_the_api.py` asks turns of four dialects
@pytest.mark.parametrize("provider", ["anthropic", "gemini"])
def test_claims_are_equally_cautious_in_other_dialects(page: Page, provider: str):
    """What was recorded is recorded, and what was said after a hint is an estimate; both come true."""
    at = connected(page, provider, address(page).removesuffix("/v1"))
    turn = played(page, agent(page, "sim-essay", connection=at, max_tokens=150), "In one go?")
    certainty = page.locator("#what-if [data-certainty].badge").first
    for cap, word in ((150, "recorded"), (400, "estimated")):
        page.goto(f"{turn}/replay?max_tokens={cap}")
        expect(certainty).to_have_attribute("data-certainty", word)
        really = run_again(page, turn, max_tokens=cap)
        assert (really["status"], really["output_text"]) == ("completed", words(page, "#what-if"))


@pytest.mark.nightly  # `test_examined.py` asks the same of the what-if behind the page
def test_no_limit_is_named_at_which_repeats_of_an_essay_would_exceed_the_calls(page: Page):
    """Recorded at 400 tokens; a sweep once said that 88 completes, where at 88 to 92 it really ends partial."""
    turn = played(page, "sim-essay", "All of it at once.", max_tokens=400)
    page.goto(f"{turn}/replay/sweep?limit=max_tokens&begin=86&end=94&step=2")
    expect(page.locator("#sweep").get_by_label("not known from 86 to 94")).not_to_have_count(0)
    for cap in (88, 89, 90, 92):
        page.goto(f"{turn}/replay?max_tokens={cap}")
        expect(page.locator("#what-if .endings > div")).to_have_count(2)
        really = run_again(page, turn, max_tokens=cap)
        assert (really["status"], really["terminal_reason"]) == ("partial", "retry_limit")
