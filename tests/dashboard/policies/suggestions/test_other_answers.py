"""A re-run whose other answer needed no more than the turn was allowed shows nothing of what more of a limit does."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
from django.test import Client

from dashboard.agents.samples import REPORT_SCHEMA
from dashboard.policies.suggestions.selectors import suggestion_for
from dashboard.policies.suggestions.suggestion import Basis
from dashboard.replay.rerun_service import turn_rerun
from dashboard.simulator.scripts import SCRIPTS, Answer
from dashboard.turns.models import Turn
from tests.dashboard.driving import Play, drive
from tests.dashboard.pages import HTMX, text_of

pytestmark = pytest.mark.django_db(transaction=True)

LONG = Answer("A long story goes on. " * 200)
SHORT = Answer("No story today.")
REPORT = Answer('{"title": "A", "points": ["b"], "confidence": 0.5, "complete": true}')


@dataclass(frozen=True)
class Asked:
    """What the model answers first and in the re-run, and the limit that is raised for that."""

    first: Answer
    again: Answer
    overrides: Mapping[str, Any]
    raised: Mapping[str, Any]
    agent: Mapping[str, Any] = field(default_factory=dict)


TURNS = {
    "max_tokens": Asked(LONG, SHORT, {"max_tokens": 60, "limits": {"max_continuations": 0}}, {"max_tokens": 240}),
    "max_total_completion_tokens": Asked(
        LONG,
        SHORT,
        {"max_tokens": 60, "limits": {"max_total_completion_tokens": 220, "max_continuations": 40}},
        {"limits": {"max_total_completion_tokens": 880}},
    ),
    "max_total_output_chars": Asked(
        LONG, SHORT, {"limits": {"max_total_output_chars": 300}}, {"limits": {"max_total_output_chars": 1_200}}
    ),
    "max_steps": Asked(
        Answer(like="sim-tools"),
        SHORT,
        {"limits": {"max_steps": 1}},
        {"limits": {"max_steps": 6}},
        {"tools": ["calculator"]},
    ),
    "schema_rounds": Asked(
        Answer('{"title": 3, "points": [], "confidence": 1, "complete": true}'),
        REPORT,
        {"limits": {"schema_rounds": 0}},
        {"limits": {"schema_rounds": 5}},
        {"envelope_schema": REPORT_SCHEMA},
    ),
}


@pytest.fixture(params=TURNS)
def limit(request: pytest.FixtureRequest) -> Iterator[str]:
    SCRIPTS.put("moods", [TURNS[request.param].first])
    yield request.param
    SCRIPTS.delete("moods")


def test_a_re_run_with_another_answer_that_the_recorded_limit_allows_suggests_no_value(
    play: Play, browser: Client, limit: str
):
    asked = TURNS[limit]
    cut = play("script-moods", max_tokens=900, overrides=dict(asked.overrides), **asked.agent)
    first = suggestion_for(cut)
    assert first is not None
    assert first.limit == limit, (first, cut.terminal_reason, cut.error_message)
    SCRIPTS.put("moods", [asked.again])
    again = drive(turn_rerun(turn=cut, overrides=dict(asked.raised)))
    assert again.status == "completed", (again.terminal_reason, again.error_message, again.output_text)
    said = suggestion_for(cut)
    assert said is not None
    assert (said.limit, said.basis) == (limit, Basis.NONE), said
    panel = text_of(browser.get(f"/turns/{cut.id}/limit", headers=HTMX).content.decode())
    assert "proven" not in panel
    assert "Create draft" not in panel


def test_a_re_run_that_took_no_longer_than_the_turn_was_allowed_says_that_times_differ(play: Play, browser: Client):
    late = play("sim-slow", overrides={"limits": {"max_seconds": 0.2}})
    said = suggestion_for(late)
    assert said is not None
    again = drive(turn_rerun(turn=late, overrides={"limits": {"max_seconds": max(40, said.value)}}))
    Turn.objects.filter(pk=again.pk).update(duration_ms=150 + again.held_ms)
    said = suggestion_for(late)
    assert said is not None
    assert (said.limit, said.basis) == ("max_seconds", Basis.NONE)
