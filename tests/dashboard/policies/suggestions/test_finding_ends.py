"""Finding a limit ends: a first re-run under a large value, a second under what that used, and no third."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
from django.test import Client

from dashboard.policies.suggestions.list_suggestions import suggestions_now
from dashboard.policies.suggestions.panel import Panel, last_of, panel_of
from dashboard.policies.suggestions.services import limit_find
from dashboard.policies.suggestions.suggestion import Suggestion
from dashboard.policies.suggestions.sweep_suggestions import suggested_sweep
from dashboard.turns.models import Turn
from tests.dashboard.driving import Play, drive
from tests.dashboard.pages import HTMX, page, text_of

pytestmark = pytest.mark.django_db(transaction=True)

TOTAL = "max_total_completion_tokens"


@dataclass(frozen=True)
class Asked:
    """A turn, and the value of the limit that is found for it."""

    model: str
    cap: int
    found: int
    limits: Mapping[str, int] = field(default_factory=dict)
    tools: tuple[str, ...] = ()
    word: str = "proven"
    limit: str = "max_tokens"


TURNS = {
    "reasoning, not continued": Asked("sim-reasons", 310, 382, {"max_continuations": 0}),
    "continued to the end of its total": Asked("sim-essay", 90, 353),
    "one continuation and a total": Asked("sim-essay", 80, 380, {"max_continuations": 1, TOTAL: 150}, limit=TOTAL),
    "two continuations and a total": Asked("sim-essay", 70, 353, {"max_continuations": 2, TOTAL: 210}),
    "small cap": Asked("sim-essay", 58, 353),
    "no usage": Asked("sim-no-usage", 90, 654),
    "cut tool call": Asked("sim-cut-tool", 35, 82, {"max_tool_repair_attempts": 1}, ("calculator",)),
    "cut braces": Asked("sim-cut-braces", 30, 85, {"max_tool_repair_attempts": 1}, ("calculator",), "likely"),
    "several calls": Asked("sim-essay", 95, 353),
}


def shown(turn: Turn) -> Panel:
    panel = panel_of(turn, last_of(turn))
    assert panel is not None
    return panel


def offered(panel: Panel) -> Suggestion | None:
    """What the page would run live next, by itself or by a click."""
    if panel.may_be_found:
        return panel.suggestion
    return panel.less if panel.may_be_less else None


@pytest.mark.parametrize("kind", TURNS)
def test_after_two_re_runs_every_surface_has_the_small_value_and_no_third_is_offered(
    play: Play, browser: Client, kind: str
):
    asked = TURNS[kind]
    cut = play(asked.model, max_tokens=asked.cap, overrides={"limits": dict(asked.limits)}, tools=list(asked.tools))
    tried: list[Any] = []
    while (said := offered(shown(cut))) is not None and len(tried) < 4:
        tried.append(said.value)
        drive(limit_find(turn=cut, suggestion=said))
    panel = shown(cut)
    assert (panel.suggestion.limit, panel.suggestion.value, panel.certainty) == (asked.limit, asked.found, asked.word)
    assert len(tried) <= 2, tried
    assert suggestions_now([cut.id], cut.project)[0][1] == panel.suggestion
    told = browser.get(f"/api/v1/turns/{cut.id}").json()["suggestion"]
    assert (told["value"], told["certainty_word"]) == (asked.found, asked.word)
    sweep = suggested_sweep(turn=cut, name=asked.limit, values=range(10, 500, 10), overrides={})
    assert (sweep.recommendations[0].value, sweep.recommendations[0].named) == (asked.found, asked.word)
    assert str(asked.found) in text_of(page(browser, f"/turns/{cut.id}/replay/sweep"))
    assert f"{asked.found}" in text_of(browser.get(f"/turns/{cut.id}/limit", headers=HTMX).content.decode())
