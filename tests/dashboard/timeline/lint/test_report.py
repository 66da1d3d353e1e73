"""Lies that a provider told stand in the report, in the timeline and on the turn, with their evidence."""

from datetime import date, timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils.timezone import now

from agentcore.lint import CODES
from dashboard.agents.selectors import project_default
from dashboard.timeline import rollups
from dashboard.timeline.facets import value_words
from dashboard.timeline.lint.selectors import report_of
from dashboard.timeline.lint.views import HEIGHT, bars_of
from dashboard.turns.models import Turn
from dashboard.turns.reason_looks import reason_label
from tests.dashboard.api.conftest import Program, api  # noqa: F401 - a fixture
from tests.dashboard.driving import Play
from tests.dashboard.pages import page
from tests.dashboard.timeline.populations import make_turn

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def lie(play: Play) -> Turn:
    """OpenRouter's `tool_calls` over a native `max_output_tokens`."""
    turn = play("sim-cut-native", max_tokens=40, tools=["calculator"])
    assert "relabelled" in turn.lint
    return turn


def test_the_report_counts_by_code_and_source_and_shows_examples_with_evidence(browser: Client, lie: Turn):
    html = page(browser, "/lint")
    section = html[html.index('id="lint-relabelled"') :].split("</section>")[0]
    assert "max_output_tokens" in section
    assert f"/turns/{lie.id}#signs" in section
    assert "Often a proxy between" in section
    sources = html[html.index('id="lint-sources"') :]
    assert all(word in sources for word in ("simulator", lie.model))


def test_a_turn_that_starts_while_the_report_counts_breaks_nothing(
    browser: Client, lie: Turn, monkeypatch: pytest.MonkeyPatch
):
    """The report had read all cohorts first, and the count then named one that it did not know."""
    read = rollups.counts

    def counted(**given: Any) -> dict[int, int]:
        make_turn(model="new", status="completed")
        return read(**given)

    monkeypatch.setattr(rollups, "counts", counted)
    (source,) = report_of(project=project_default(), since=now() - timedelta(days=1), until=now()).sources
    assert (source.model, source.turns) == (lie.model, 1)


def test_the_turn_shows_its_signs_and_the_unchanged_stop_reason(browser: Client, lie: Turn):
    html = page(browser, f"/turns/{lie.id}")
    signs = html[html.index('id="signs"') :].split("</div>")[0]
    assert "max_output_tokens" in signs
    lie.refresh_from_db()
    assert lie.raw_stop_reason in ("max_output_tokens", "stop", "tool_calls")


def test_the_timeline_filters_and_counts_turns_with_signs_of_truncation(browser: Client, lie: Turn, play: Play):
    honest = play("sim-odd")
    found = page(browser, "/?lint=relabelled")
    assert f"row-{lie.id}" in found
    assert f"row-{honest.id}" not in found
    assert 'data-reason="output_at_cap"' in found
    assert "Signs of truncation" in page(browser, "/timeline/facets")


def test_a_row_shows_each_sign_by_which_a_filter_finds_it_in_the_words_of_the_filter(browser: Client):
    for code in CODES:
        turn = make_turn(project=project_default(), lint=[code], status="completed")
        html = page(browser, f"/?lint={code}")
        row = html[html.index(f'id="row-{turn.id}"') :].split("</tr>")[0]
        shown = row[row.index('class="signs"') :].split("</small>")[0]
        assert reason_label(code) in shown
        assert "Signs of truncation" in shown
        assert reason_label(code) in value_words("lint", code)


def test_the_api_filters_by_sign_and_returns_the_evidence(api: Program, lie: Turn):  # noqa: F811
    assert [turn["id"] for turn in api.get("/turns?lint=relabelled").json()["items"]] == [str(lie.id)]
    assert api.get("/turns?lint=unclosed_fence").json()["items"] == []
    (sign, *_) = [sign for sign in api.get(f"/turns/{lie.id}/lint").json() if sign["code"] == "relabelled"]
    assert "max_output_tokens" in sign["words"]
    report = api.get("/lint").json()
    assert "relabelled" in [code["code"] for code in report["codes"]]
    assert report["sources"][0]["connection"] == "simulator"
    assert api.get("/lint?days=0").status_code == 422


def test_a_seam_that_may_hide_a_repeat_is_told_in_both_readings(browser: Client, api: Program, play: Play):  # noqa: F811
    turn = play("sim-array", max_tokens=20)
    sign = next(sign for sign in api.get(f"/turns/{turn.id}/lint").json() if sign["code"] == "ambiguous_seam")
    kept, dropped = sign["readings"]
    assert kept in turn.output_text
    assert len(kept) - len(dropped) >= 12
    html = page(browser, f"/turns/{turn.id}")
    assert html.count("Without the possible repeat") == turn.continuations == 3
    assert html.count("They may be a repeat, or the author") == 1, "said once, with the seams below it"
    assert [html.count(f'<p class="of-attempt">Call {attempt}</p>') for attempt in (2, 3, 4)] == [1, 1, 1]


def test_a_report_without_signs_says_so(browser: Client):
    assert "No signs of truncation" in page(browser, "/lint")
    assert "No signs of truncation" in page(browser, "/lint?days=x")


def test_every_code_has_a_style_and_is_shown_for_turns_without_a_history(browser: Client):
    make_turn(project=project_default(), lint=[*CODES], status="completed")
    html = page(browser, "/lint")
    assert all(f'id="lint-{code}"' in html for code in CODES)


def test_the_day_with_the_most_signs_has_the_highest_bar():

    low, high = bars_of(((date(2026, 1, 1), 1), (date(2026, 1, 2), 0), (date(2026, 1, 3), 9)))
    assert (high.y, high.height) == (0, HEIGHT)
    assert 0 < low.height < high.height
