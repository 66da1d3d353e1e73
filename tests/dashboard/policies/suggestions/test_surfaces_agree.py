"""Each surface that answers one question: the same limit, number, unit and certainty, or the reason why not.

One turn of each kind is looked at from all of them: to play it costs as much as to look at it.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from io import StringIO
from typing import Any
from urllib.parse import urlencode

import pytest
from django.test import Client

from dashboard.agents.samples import REPORT_SCHEMA
from dashboard.agents.selectors import project_default
from dashboard.agents.services import connection_create
from dashboard.client.output import AsLines
from dashboard.client.turn import Turn as ClientTurn
from dashboard.client.values import read_as
from dashboard.exports.formats import file_of
from dashboard.policies.suggestions.relatives import flat
from dashboard.policies.suggestions.selectors import LEAST
from dashboard.replay.rerun_service import turn_rerun
from dashboard.runtime.management.commands.ask import AsLines as AskAsLines
from dashboard.turns.filters import TimelineFilters
from dashboard.turns.models import Turn
from tests.dashboard.driving import Play, drive
from tests.dashboard.pages import HTMX, compact, page, text_of
from tests.dashboard.policies.suggestions.test_selectors import lengths

pytestmark = pytest.mark.django_db(transaction=True)


@dataclass(frozen=True)
class Asked:
    """How a turn is made; `word`: how certain its limit is, `none` where no limit would have helped."""

    model: str
    word: str
    limits: Mapping[str, float] | None = None
    given: Mapping[str, Any] | None = None
    exact: bool = False
    longer: int = 0  #: tokens of other answers of its agent


CALCULATOR = {"tools": ["calculator"]}
TURNS = {
    "cut by max_tokens": Asked("sim-essay", "not known", given={"max_tokens": 60}),
    "cut, with longer answers": Asked("sim-essay", "likely", given={"max_tokens": 60}, longer=420),
    "not continued": Asked("sim-essay", "likely", {"max_continuations": 0}, {"max_tokens": 60}, longer=420),
    "token total": Asked("sim-essay", "likely", {"max_total_tokens": 300}, {"max_tokens": 60}, longer=4_000),
    "characters": Asked("sim-essay", "not known", {"max_total_output_chars": 300}, {"max_tokens": 60}),
    "several calls": Asked("sim-essay", "likely", given={"max_tokens": 150}),
    "several calls, exact": Asked("sim-essay", "certain", given={"max_tokens": 150}, exact=True),
    "time": Asked("sim-slow", "not known", {"max_seconds": 0.2}),
    "steps": Asked("sim-tools", "not known", {"max_steps": 1}, CALCULATOR),
    "repairs": Asked("sim-malformed", "not known", {"max_tool_repair_attempts": 0}, CALCULATOR),
    "cut tool call": Asked(
        "sim-cut-tool", "not known", {"max_tool_repair_attempts": 0}, {**CALCULATOR, "max_tokens": 40}
    ),
    "repaired tool call": Asked("sim-cut-tool", "likely", given={**CALCULATOR, "max_tokens": 40}),
    "rate limit": Asked("sim-flaky", "not known"),
    "endless": Asked("sim-endless", "not known", given={"max_tokens": 40}),
    "cut envelope": Asked(
        "sim-json", "not known", {"schema_rounds": 0}, {"max_tokens": 20, "envelope_schema": REPORT_SCHEMA}
    ),
    "refused": Asked("sim-refuse", "none"),
    "window": Asked("sim-context", "none"),
}


@pytest.fixture(params=TURNS)
def asked(request: pytest.FixtureRequest) -> Asked:
    return TURNS[request.param]


@pytest.fixture
def turn(asked: Asked, play: Play, simulator_url: str) -> Turn:
    given: dict[str, Any] = dict(asked.given or {})
    if asked.limits:
        given["overrides"] = {"limits": dict(asked.limits)}
    if asked.exact:
        address = simulator_url.removesuffix("/v1")
        given["connection"] = connection_create(
            project=project_default(), name="exact", provider="anthropic", base_url=address, prefill=True
        )
    turn = play(asked.model, **given)
    if asked.longer:
        lengths(turn, [asked.longer] * (LEAST + 20))
    return turn


def words(html: str) -> str:
    return " ".join(text_of(html).split())


def replayed(browser: Client, turn: Turn, **body: object) -> dict[str, Any]:
    answer = browser.post(f"/api/v1/turns/{turn.id}/replay", json.dumps(body), content_type="application/json")
    assert answer.status_code == 200, answer.content
    told: dict[str, Any] = answer.json()
    return told


def test_each_surface_gives_the_same_answer_or_the_reason_for_a_difference(
    browser: Client, turn: Turn, asked: Asked, subtests: pytest.Subtests
):
    said = browser.get(f"/api/v1/turns/{turn.id}/verdict").json()["suggestion"]
    with subtests.test("pages"):
        pages_agree(browser, turn, asked, said)
    with subtests.test("API, exports and commands"):
        api_exports_and_commands_agree(browser, turn, asked, said)
    if said is not None:
        with subtests.test("a what-if at the value"):
            what_if_agrees_or_names_other_evidence(browser, turn, asked, said)


def pages_agree(browser: Client, turn: Turn, asked: Asked, said: Any) -> None:
    head = compact(browser.get(f"/turns/{turn.id}/limit", headers=HTMX).content.decode())
    cell = words(compact(browser.get(f"/turns/limits?turn={turn.id}", headers=HTMX).content.decode()))
    sweep = words(page(browser, f"/turns/{turn.id}/replay/sweep"))
    if asked.word == "none":
        (advice,) = re.findall(
            r"(?:Higher limits|A higher Max tokens per call \(max_tokens\)) would not have helped\.", words(head)
        )
        assert (said, cell) == (None, "– no limit to change")
        assert advice in sweep, "the sweep does not send on whom the turn's page holds back"
        assert "Re-run live" not in sweep
        return
    assert said["certainty_word"] == asked.word
    assert re.match(rf"{asked.word} ", words(head)), "the badge"
    assert ("Prove it live" in head) == (asked.word == "likely"), "nothing can be proven of what is not known"
    assert "not known" in cell if asked.word == "not known" else cell.startswith(f"{said['value']:,}")
    assert words(said["words"]) in words(head)
    assert f"{said['value']:,}" in sweep
    assert "The API says estimated for likely, and undecidable for not known." in sweep
    assert "estimated" not in sweep.partition("How certain is this?")[0], "likely is the word for a limit"
    assert words(said["words"]) in words(page(browser, f"/turns/{turn.id}/replay")), "beside the recording"


def api_exports_and_commands_agree(browser: Client, turn: Turn, asked: Asked, said: Any) -> None:
    filters = TimelineFilters(run=turn.id)
    exported = b"".join(file_of(project=turn.project, filters=filters, named="jsonl"))
    assert browser.get(f"/api/v1/turns/{turn.id}").json()["suggestion"] == said
    assert browser.get(f"/api/v1/turns?run={turn.id}").json()["items"][0]["suggestion"] == said
    assert browser.get(f"/api/v1/runs/{turn.id}").json()["items"][0]["suggestion"] == said
    assert json.loads(exported)["suggestion"] == said
    assert "suggestion" not in replayed(browser, turn, mode="what_if", overrides={}), "of the turn as it was"
    for shown in (in_the_client(browser, turn), of_ask(turn)):
        limits = [line for line in shown.splitlines() if line.startswith("[LIMIT]")]
        word = "" if said is None or said["certainty"] == "undecidable" else f"{asked.word.capitalize()}. "
        assert limits == ([] if said is None else [f"[LIMIT] {word}{said['words']}"])


def in_the_client(browser: Client, turn: Turn) -> str:
    """What `whystop show` prints."""
    shown, out = browser.get(f"/api/v1/turns/{turn.id}").json(), StringIO()
    told = read_as(ClientTurn, shown, json=shown, _connection=None)
    AsLines(out).shown(told)
    first = out.getvalue().splitlines()[0]
    assert ("Limit: " in first) == (shown["suggestion"] is not None)
    return out.getvalue()


def of_ask(turn: Turn) -> str:
    out = StringIO()
    AskAsLines(out).ended(turn)
    return out.getvalue()


def what_if_agrees_or_names_other_evidence(browser: Client, turn: Turn, asked: Asked, said: Any) -> None:
    address = f"/turns/{turn.id}/replay?{urlencode(flat(said['overrides']))}"
    html = compact(browser.get(address, headers={**HTMX, "HX-Target": "what-if"}).content.decode())
    imagined = replayed(browser, turn, mode="what_if", overrides=said["overrides"])
    (calls,) = re.findall(r"<dt>Calls</dt><dd>(\d+)", html)
    assert imagined["attempts"] == int(calls)
    assert imagined["output_tokens"] == 0 or "<dt>Input tokens</dt><dd>≈ 0<" not in html, "what was read is not known"
    assert not re.search(r"knows the first 0 tokens|Call 1 \(\w+, iteration 1\) was never made", html)
    if said["limit"] != "max_retries":
        point = {"begin": said["value"], "end": said["value"], "limit": said["limit"]}
        beside = {key: value for key, value in said["overrides"].items() if key != said["limit"]}
        (swept,) = [
            each
            for each in replayed(browser, turn, mode="sweep", overrides=beside, **point)["points"]
            if each["value"] == said["value"]
        ]
        assert (swept["attempts"], swept["certainty"]) == (int(calls), imagined["certainty"])
    if asked.word == "likely" and imagined["undecidable"]:
        alone = said["basis"] == "recording"
        assert f"This {'what-if does not decide' if alone else 'recording alone does not show'} it." in html
        assert words(said["words"]) in words(html)
    if asked.word == "certain":
        assert (imagined["certainty"], imagined["status"]) == ("certain", "completed")


def test_a_sweep_uses_the_singular_for_one_and_names_a_time_limit(browser: Client, play: Play):
    turn = play("sim-slow", overrides={"limits": {"max_seconds": 1}})
    html = words(page(browser, f"/turns/{turn.id}/replay/sweep"))
    assert "Recorded value: 1 second." in html
    assert "1 seconds" not in html
    assert "Time limit reached at 1" in html, "as its page says, and no error of the provider"
    assert "provider error" not in html


def test_a_sweep_offers_no_cap_below_that_of_its_agent_and_says_so(browser: Client, play: Play):
    turn = play("sim-json", max_tokens=60, envelope_schema=REPORT_SCHEMA)
    turn.agent.max_tokens = 400
    turn.agent.save()
    html = page(browser, f"/turns/{turn.id}/replay/sweep")
    assert "</button>" not in html.split('id="sweep"')[1].split("</table>")[0]
    assert "sim-json has Max tokens per call 400 now." in words(html)


def test_a_certain_limit_says_why_it_is_above_the_usage(browser: Client, play: Play, simulator_url: str):
    address = simulator_url.removesuffix("/v1")
    exact = connection_create(
        project=project_default(), name="exact", provider="anthropic", base_url=address, prefill=True
    )
    turn = play("sim-essay", connection=exact, max_tokens=150)
    said = browser.get(f"/api/v1/turns/{turn.id}/verdict").json()["suggestion"]
    assert said["value"] == said["used"] + 5
    assert "The limit is 5 tokens larger, because some providers count an end and do not report it." in said["words"]


def test_a_sweep_has_one_row_for_a_value_proven_by_a_re_run(browser: Client, play: Play):
    turn = play("sim-json", max_tokens=60, envelope_schema=REPORT_SCHEMA)
    said = browser.get(f"/api/v1/turns/{turn.id}/verdict").json()["suggestion"]
    drive(turn_rerun(turn=turn, overrides=said["overrides"]))
    html = page(browser, f"/turns/{turn.id}/replay/sweep")
    assert f"With Max tokens per call at {said['value']}, one call was enough." in words(html)
    assert "The recording itself does not decide it." not in words(html), "it estimated the same"
    rows = re.findall(r'<th scope="row" class="num">([\d,]+)<small', html.split("</table>")[0])
    assert rows.count(f"{said['value']:,}") == 1
