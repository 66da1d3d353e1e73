"""Cohorts are told apart by every facet; a database from before two of them were takes them up."""

from importlib import import_module
from typing import Any

import pytest
from django.db import connection

from dashboard.agents.selectors import project_default
from dashboard.live.services import turn_start
from dashboard.timeline import rollups
from dashboard.turns import cohorts
from dashboard.turns.filters import TimelineFilters
from dashboard.turns.history import rebuilt_columns
from dashboard.turns.models import Cohort, Turn
from tests.dashboard.driving import AgentOf, drive
from tests.dashboard.timeline.populations import make_turn
from tests.dashboard.turns.earlier_releases import judged_as_before

MIGRATION = import_module("dashboard.turns.migrations.0007_resource")


def run(*statements: str) -> None:
    with connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)


def told(turn: Turn) -> tuple[Any, ...]:
    cohort = Cohort.objects.get(id=Turn.objects.get(id=turn.id).cohort)
    return cohort.stop_reason, cohort.terminal_reason, cohort.resource


@pytest.mark.django_db
def test_turns_that_exhausted_different_limits_are_in_different_cohorts():
    reasons = {"stop_reason": "token_limit", "terminal_reason": "budget_exhausted"}
    one, other = (make_turn(**reasons, resource=name) for name in ("max_total_tokens", "max_total_completion_tokens"))
    assert told(one) != told(other)
    wanted = cohorts.matching(project=project_default(), filters=TimelineFilters(resource=("max_total_tokens",)))
    assert wanted == [Turn.objects.get(id=one.id).cohort]
    assert cohorts.stop_reasons(wanted) == ("token_limit",)


@pytest.mark.django_db
def test_the_agents_stop_reason_is_implied_only_where_all_turns_have_ended():
    make_turn(terminal_reason="x", stop_reason=None)
    make_turn(terminal_reason="x", stop_reason="error")
    wanted = cohorts.matching(project=project_default(), filters=TimelineFilters(terminal_reason=("x",)))
    assert cohorts.stop_reasons(wanted) == ()
    assert cohorts.stop_reasons(None) == ()


@pytest.mark.django_db(transaction=True)
def test_existing_data_is_grouped_and_filled_like_new_data(agent_of: AgentOf, monkeypatch):
    monkeypatch.setattr(MIGRATION, "RANGE", 2)
    agent = agent_of("sim-essay", max_tokens=60)
    turns = [
        drive(turn_start(agent=agent, input_text="Why?", overrides={"limits": limits, **more}))
        for limits, more in [
            ({}, {}),
            ({"max_total_completion_tokens": 100}, {}),
            ({"max_total_tokens": 100}, {}),
            ({"max_total_output_chars": 50}, {}),
            ({}, {"max_tokens": 2000}),
        ]
    ]
    kept = {turn.id: turn.resource for turn in turns}
    assert set(kept.values()) == {
        "max_continuations", "max_total_completion_tokens", "max_total_tokens", "max_total_output_chars", None,
    }  # fmt: skip
    judged_as_before(*turns)
    run(MIGRATION.COHORT_BEFORE, "UPDATE turns_turn SET resource = NULL", MIGRATION.REGROUP)
    run("UPDATE turns_cohort SET terminal_reason = NULL, resource = NULL")
    # The second time it has been ended just before the end: nothing is done twice, and nothing is lost.
    for _ in range(2):
        with connection.schema_editor(atomic=False) as editor:
            MIGRATION.settle(None, editor)
            MIGRATION.write(None, editor)
    assert {turn.id: turn.resource for turn in Turn.objects.all()} == kept
    for turn in Turn.objects.all():
        assert told(turn) == (turn.stop_reason, turn.terminal_reason, turn.resource)
        assert rebuilt_columns(turn)["resource"] == turn.resource
    counted = rollups.counts(project=project_default())
    assert counted == {turn.cohort: 1 for turn in Turn.objects.all()}
