"""A re-run in time shows how long that run took: no limit of time is proven, and equal evidence is equally sure."""

import re

import pytest
from django.test import Client

from dashboard.policies.suggestions.selectors import suggestion_for
from dashboard.policies.suggestions.suggestion_text import because, certainty_word
from dashboard.policies.suggestions.sweep_suggestions import suggested_sweep
from dashboard.replay.rerun_service import turn_rerun
from dashboard.turns.models import Turn
from tests.dashboard.driving import Play, drive
from tests.dashboard.pages import page, text_of

pytestmark = pytest.mark.django_db(transaction=True)


def test_every_value_that_a_re_run_shows_to_be_enough_time_is_likely_and_the_time_it_used_is_what_it_took(
    play: Play, browser: Client
):
    late = play("sim-slow", overrides={"limits": {"max_seconds": 0.2}})
    again = drive(turn_rerun(turn=late, overrides={"limits": {"max_seconds": 40}}))
    assert again.status == "completed"
    Turn.objects.filter(pk=again.pk).update(duration_ms=1_331 + again.held_ms)
    said = suggestion_for(late)
    assert said is not None
    assert (said.limit, certainty_word(said)) == ("max_seconds", "likely")
    assert " and used 1.33 s." in because(said), because(said)
    found = suggested_sweep(turn=late, name="max_seconds", values=range(1, 45), overrides={})
    words = {row.value: row.badge for row in found.listed}
    assert {words[value] for value in words if value >= said.value} == {"likely"}, words
    assert [(each.value, each.word) for each in found.measured] == [(40, "likely")]
    html = text_of(page(browser, f"/turns/{late.id}/replay/sweep?limit=max_seconds&begin=1&end=44&step=1"))
    assert not re.search(r"\bproven\b.*\bat \d|certain (from|at)", html.split("Recommended values")[1]), html


def test_the_time_limit_of_a_first_re_run_has_its_unit_on_the_sweep(play: Play, browser: Client):
    late = play("sim-slow", overrides={"limits": {"max_seconds": 0.2}})
    html = text_of(page(browser, f"/turns/{late.id}/replay/sweep?limit=max_seconds&begin=1&end=44&step=1"))
    assert re.search(r"Re-run live with Time limit \d+ s\b", html), html


def test_a_value_that_a_re_run_has_proven_is_called_proven_in_the_text_the_table_and_the_chart(
    play: Play, browser: Client
):
    cut = play("sim-essay", max_tokens=90)
    for value in (1_440, 400):
        drive(turn_rerun(turn=cut, overrides={"max_tokens": value}))
    said = suggestion_for(cut)
    assert said is not None
    html = text_of(page(browser, f"/turns/{cut.id}/replay/sweep?limit=max_tokens&begin=50&end=1500&step=50"))
    assert "proven 400" in html
    assert not re.search(r"certain (from|at) (400|1,440)", html), html
