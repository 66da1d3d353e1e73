"""The simulator is called simulator wherever turns are filtered and counted; programs find what is stored."""

from datetime import UTC, datetime

import pytest

from dashboard.agents.selectors import project_default
from dashboard.board.alerts.models import Alert
from dashboard.board.selectors import Scope, totals_of, values_of
from dashboard.board.sum_updates import sum_all
from dashboard.policies.backtests.selectors import words_of_turns
from dashboard.timeline.chips import chips_of
from dashboard.timeline.facets import facets
from dashboard.timeline.rollups import fold_all
from dashboard.turns.filters import TimelineFilters
from dashboard.turns.provider_words import words_of
from dashboard.turns.selectors import timeline
from tests.dashboard.timeline.populations import make_turn

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def made() -> None:
    """Two turns of the simulator, which speaks two dialects, and one that costs money."""
    for provider, model in (("openai", "sim-essay"), ("anthropic", "sim-essay"), ("openai", "gpt-4o")):
        make_turn(provider=provider, model=model, status="completed", stop_reason="completed")
    fold_all()
    sum_all()


def found(**filters: object) -> list[tuple[str, str]]:
    asked, errors = TimelineFilters.parse(filters)
    assert not errors
    return _shown(asked)


def of_programs(**filters: object) -> list[tuple[str, str]]:
    return _shown(TimelineFilters.parse_stored(filters)[0])


def _shown(filters: TimelineFilters) -> list[tuple[str, str]]:
    page = timeline(project=project_default(), filters=filters)
    return sorted((turn.provider, turn.model) for turn in page.items)


def test_the_facet_counts_turns_of_the_simulator_separately():
    counted = facets(project=project_default(), filters=TimelineFilters())
    provider = next(facet for facet in counted if facet.name == "provider")
    assert [(value.value, value.count) for value in provider.values] == [("simulator", 2), ("openai", 1)]


def test_a_page_filters_by_the_value_of_its_facet():
    assert found(provider="openai") == [("openai", "gpt-4o")]
    assert found(provider="simulator") == [("anthropic", "sim-essay"), ("openai", "sim-essay")]
    assert len(found(provider=["openai", "simulator"])) == 3
    assert found(not_provider="simulator") == [("openai", "gpt-4o")]
    assert found(provider="openai", q="nothing said") == []


def test_programs_filter_by_stored_values():
    assert of_programs(provider="openai") == [("openai", "gpt-4o"), ("openai", "sim-essay")]
    assert of_programs(not_provider="openai") == [("anthropic", "sim-essay")]
    assert of_programs(provider="simulator") == found(provider="simulator")


def test_a_programs_query_is_read_back_unchanged():
    asked, _ = TimelineFilters.parse_stored({"provider": "p" * 500})
    assert TimelineFilters.parse(asked.as_dict()) == (asked, {})
    assert TimelineFilters.parse_stored(asked.as_dict()) == (asked, {})


def test_a_programs_filter_is_labelled_by_its_results():
    (chip,) = chips_of(TimelineFilters.parse_stored({"provider": "openai"})[0])
    assert chip.words == "openai, simulator included"


def test_selection_lists_name_the_simulator():
    assert words_of_turns(project=project_default())["provider"] == ["openai", "simulator"]


def test_an_unknown_provider_has_no_label():
    assert words_of(None, simulated=False) == ()


def test_the_metrics_page_filters_by_the_same_values():
    since, until = datetime(2020, 1, 1, tzinfo=UTC), datetime(2030, 1, 1, tzinfo=UTC)
    project = project_default()

    def turns(provider: str) -> float:
        scope = Scope(provider=provider)
        return totals_of(project=project, scope=scope, since=since, until=until).get("turns", 0)

    assert values_of(project=project)["provider"] == ["openai", "simulator"]
    assert [turns(word) for word in ("openai", "simulator", "stored:openai", "anthropic")] == [1, 2, 2, 0]


def test_an_alert_keeps_evaluating_stored_values():
    assert Alert(provider="openai").scope == Scope(provider="stored:openai")
    assert Alert(provider="openai").about == "provider openai"
