"""One number for one question: the head of a turn, the what-if page, the sweep, the map, the API and the terminal."""

import json
import re
from io import StringIO

import pytest
from django.core.management import call_command
from django.test import Client

from dashboard.agents.samples import REPORT_SCHEMA
from dashboard.agents.selectors import project_default
from dashboard.agents.services import connection_create
from dashboard.policies.backtests.sweep_map import cell_of, sample_of
from dashboard.policies.suggestions.selectors import suggestion_for
from dashboard.policies.suggestions.suggestion import Basis, Goal
from dashboard.policies.suggestions.suggestion_text import sentence
from dashboard.replay.services import turn_what_if
from dashboard.replay.sweep_service import turn_sweep
from dashboard.turns.filters import TimelineFilters
from dashboard.turns.models import Turn
from tests.dashboard.driving import Play
from tests.dashboard.pages import page

pytestmark = pytest.mark.django_db(transaction=True)

#: Agents of the simulator, the caps they run under, and whether their continuations are exact.
AGENTS = {
    "exact": ("sim-essay", {"max_tokens": 150}, True),
    "hinted": ("sim-essay", {"max_tokens": 150}, False),
    "cut": ("sim-essay", {"max_tokens": 60}, False),
    "total": ("sim-essay", {"max_tokens": 60, "overrides": {"limits": {"max_total_tokens": 200}}}, False),
    "characters": ("sim-essay", {"max_tokens": 900, "overrides": {"limits": {"max_total_output_chars": 200}}}, False),
    "uncounted": ("sim-no-usage", {"max_tokens": 150}, False),
    "other words": ("sim-hint-differs", {"max_tokens": 150}, False),
    "envelope": ("sim-json", {"max_tokens": 60, "envelope_schema": REPORT_SCHEMA}, False),
    "flaky": ("sim-flaky", {}, False),
    "whole": ("sim-odd", {}, False),
}


@pytest.fixture(params=AGENTS)
def turn(request: pytest.FixtureRequest, play: Play, simulator_url: str) -> Turn:
    model, asked, exact = AGENTS[request.param]
    if not exact:
        return play(model, **asked)
    address = simulator_url.removesuffix("/v1")
    connection = connection_create(
        project=project_default(), name="exact", provider="anthropic", base_url=address, prefill=True
    )
    return play(model, connection=connection, **asked)


def text_of(html: str) -> str:
    html = re.sub("</?code>", "", html)  # within a word's brackets
    return " ".join(re.sub("<[^>]+>", " ", html).replace("&#x27;", "'").split())


def test_every_surface_gives_the_same_number(browser: Client, turn: Turn):
    said = suggestion_for(turn)
    head, what_if = (text_of(page(browser, f"/turns/{turn.id}{way}")) for way in ("", "/replay"))
    told = browser.get(f"/api/v1/turns/{turn.id}/verdict").json()["suggestion"]
    written = StringIO()
    call_command("replay", str(turn.id), stdout=written)
    named = re.findall(r"Max tokens per call \(max_tokens\) ≥ ([\d,]*\d)", turn.verdict)
    if said is None:
        assert told is None
        assert not named
        return
    assert told["value"] == said.value
    places = {"head": head, "what_if": what_if, "terminal": text_of(written.getvalue())}
    assert [name for name, text in places.items() if text_of(sentence(said)) not in text] == []
    assert named in ([], [f"{said.value:,}"])
    if said.basis is Basis.RECORDING:
        the_recording_holds_it(browser, turn)


def the_recording_holds_it(browser: Client, turn: Turn) -> None:
    """The what-if at the value, the sweep, its API and the cell of the map come to the same end."""
    said = suggestion_for(turn)
    assert said is not None
    imagined = turn_what_if(turn=turn, overrides=said.overrides)
    assert (imagined.turn["status"], imagined.recording.certainty) == ("completed", said.certainty)
    assert said.goal is not Goal.ONE_CALL or imagined.turn["attempts"] == 1
    values = range(20, 2_000, 40)
    swept = turn_sweep(turn=turn, name=said.limit, values=values, overrides={})
    assert swept.best is not None
    assert (swept.best.value, swept.best.certainty) == (said.value, said.certainty)
    asked = {"mode": "sweep", "limit": said.limit, "begin": 20, "end": 2_000, "step": 40}
    answer = browser.post(f"/api/v1/turns/{turn.id}/replay", json.dumps(asked), content_type="application/json")
    assert said.value in [point["value"] for point in answer.json()["recommended"]]
    if said.limit == "max_tokens":
        cell = cell_of(sample_of(project=turn.project, filters=TimelineFilters()), 3, int(said.value))
        assert (cell.counts["complete"], cell.certainties[said.certainty]) == (1, 1)
