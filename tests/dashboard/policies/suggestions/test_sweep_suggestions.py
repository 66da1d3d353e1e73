"""A sweep knows what the turn's page says: its rows, its range and its recommendation name the same number."""

import json
from io import StringIO

import pytest
from django.core.management import call_command
from django.test import Client

from dashboard.policies.suggestions import sweep_suggestions
from dashboard.policies.suggestions.selectors import LEAST, suggestion_for
from dashboard.policies.suggestions.suggestion_text import sentence
from dashboard.replay.rerun_service import turn_rerun
from dashboard.turns.models import Turn
from tests.dashboard.driving import Play, drive
from tests.dashboard.pages import page
from tests.dashboard.policies.suggestions.test_same_number_everywhere import text_of
from tests.dashboard.policies.suggestions.test_selectors import lengths

pytestmark = pytest.mark.django_db(transaction=True)

NOT_KNOWN = "is known to complete"


@pytest.fixture
def cut(play: Play) -> Turn:
    return play("sim-essay", max_tokens=60)


def proven(turn: Turn, overrides: dict[str, object]) -> int:
    assert drive(turn_rerun(turn=turn, overrides=overrides)).status == "completed"
    said = suggestion_for(turn)
    assert said is not None
    return int(said.value)


def test_the_value_proven_by_a_live_re_run_ranks_first_on_page_api_and_terminal(browser: Client, cut: Turn):
    lengths(cut, [320] * 4 * LEAST)
    value = proven(cut, {"max_tokens": 900})
    less = cut.children.get().output_tokens + 2  # as its tokens were reported
    html = text_of(page(browser, f"/turns/{cut.id}/replay/sweep"))
    assert f"With max_tokens {value} the turn finished." in html
    assert f"{value} proven" in html
    assert f"{less} likely" in html
    assert "320 likely" in html
    assert "60 recorded" in html
    assert NOT_KNOWN not in html
    assert "Re-run live with" not in html
    asked = {"mode": "sweep", "limit": "max_tokens", "begin": 10, "end": 300, "step": 10}
    answer = browser.post(f"/api/v1/turns/{cut.id}/replay", json.dumps(asked), content_type="application/json").json()
    told = [(each["value"], each["certainty"]) for each in answer["suggested"]]
    assert told == [(value, "proven"), (less, "likely"), (320, "likely")]
    assert value in [point["value"] for point in answer["points"]]
    assert answer["words"].startswith(f"With max_tokens {value} the turn finished.")
    written = StringIO()
    call_command("replay", str(cut.id), "--sweep", "max_tokens=10:300:10", stdout=written)
    assert f"Recommended: max_tokens {value} (proven)" in written.getvalue()
    assert f"{value:>20}  " in written.getvalue()


def test_a_likely_value_ranks_first_where_none_is_proven_and_can_be_proven_there(browser: Client, cut: Turn):
    lengths(cut, [340] * (LEAST + 10))
    html = page(browser, f"/turns/{cut.id}/replay/sweep")
    assert "With max_tokens 340 the turn would likely have finished." in text_of(html)
    assert f'action="/turns/{cut.id}/limit/find"' in html
    assert NOT_KNOWN not in html


def test_without_evidence_the_sweep_offers_the_re_run_of_the_turn_page(browser: Client, cut: Turn):
    said = suggestion_for(cut)
    assert said is not None
    html = page(browser, f"/turns/{cut.id}/replay/sweep")
    assert f"Re-run live with max_tokens {said.value}" in text_of(html)
    assert NOT_KNOWN in html


@pytest.mark.parametrize(
    ("limit", "model", "given", "larger"),
    [
        ("max_steps", "sim-tools", {"tools": ["calculator"], "overrides": {"limits": {"max_steps": 1}}}, 6),
        (
            "max_total_tokens",
            "sim-tools",
            {"tools": ["calculator"], "overrides": {"limits": {"max_total_tokens": 20}}},
            900,
        ),
    ],
)
def test_without_a_limit_in_the_url_the_one_that_stopped_the_turn_is_swept(
    browser: Client, play: Play, limit: str, model: str, given: dict[str, object], larger: int
):
    turn = play(model, **given)
    said = suggestion_for(turn)
    assert said is not None
    assert said.limit == limit
    proven(turn, {"limits": {limit: larger}})
    html = page(browser, f"/turns/{turn.id}/replay/sweep")
    assert f'<option value="{limit}" selected>' in html
    said = suggestion_for(turn)
    assert said is not None
    assert sentence(said) in text_of(html)
    assert NOT_KNOWN not in html


def test_a_sweep_of_another_limit_names_the_one_that_stopped_the_turn(browser: Client, play: Play):
    turn = play("sim-flaky")
    said = suggestion_for(turn)
    assert said is not None
    assert sentence(said) in text_of(page(browser, f"/turns/{turn.id}/replay/sweep"))


def test_proven_values_do_not_count_under_other_changed_limits(browser: Client, cut: Turn):
    value = proven(cut, {"max_tokens": 2_000})
    html = text_of(page(browser, f"/turns/{cut.id}/replay/sweep?max_steps=5"))
    assert f"{value} proven" not in html


def test_an_unknown_price_is_not_an_upper_bound(browser: Client, cut: Turn):
    Turn.objects.update(model="own-model")
    cut.refresh_from_db()
    lengths(cut, [340] * (LEAST + 10))
    html = text_of(page(browser, f"/turns/{cut.id}/replay/sweep"))
    assert "340 likely" in html
    assert "≤ price not known" not in html


def test_the_limit_that_stopped_a_turn_is_not_called_another_one(browser: Client, play: Play):
    """A larger call is suggested for it, which needs no second one."""
    turn = play("sim-essay", max_tokens=60, overrides={"limits": {"max_continuations": 1}})
    assert turn.resource == "max_continuations"
    html = text_of(page(browser, f"/turns/{turn.id}/replay/sweep?limit=max_continuations"))
    assert "The page of this turn suggests another limit. How large max_tokens must be" in html


def test_held_time_of_a_re_run_is_not_part_of_its_duration(cut: Turn, monkeypatch: pytest.MonkeyPatch):
    proven(cut, {"max_tokens": 900})
    Turn.objects.filter(pk=cut.children.get().pk).update(duration_ms=95_000)
    monkeypatch.setattr(sweep_suggestions, "held_ms_of", lambda turns: {turn.id: 90_000 for turn in turns})
    swept = sweep_suggestions.suggested_sweep(turn=cut, name="max_tokens", values=range(10, 300, 10), overrides={})
    assert [each.seconds for each in swept.suggested if each.seconds is not None] == [5]
