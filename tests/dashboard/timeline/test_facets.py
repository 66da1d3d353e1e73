"""A facet's counts say what choosing each of its values would find."""

import re
from dataclasses import replace
from typing import Any

import pytest
from django.test import Client
from hypothesis import HealthCheck, given, settings

from dashboard.agents import selectors as agents
from dashboard.timeline import facets as module
from dashboard.timeline import rollups, turn_counts
from dashboard.timeline.facets import LABELS, facets
from dashboard.timeline.values import Facet, FacetValue
from dashboard.turns.filters import NOT, TimelineFilters
from dashboard.turns.selectors import turns_matching
from tests.dashboard.pages import compact, text_of
from tests.dashboard.timeline.populations import FILTERS, NOW, POPULATIONS, make_turn, make_turns, undone
from tests.examples import examples

pytestmark = pytest.mark.django_db

MANY = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=examples(30))


def facet(name: str, **filters: Any) -> Facet:
    found = facets(project=agents.project_default(), filters=TimelineFilters(**filters))
    return next(one for one in found if one.name == name)


@MANY
@given(population=POPULATIONS, filters=FILTERS)
def test_each_count_equals_the_result_of_selecting_that_value(population: Any, filters: Any):
    project = agents.project_default()
    with undone():
        make_turns(population)
        rollups.fold()
        found = facets(project=project, filters=filters)
        assert [facet.name for facet in found] == list(LABELS)
        for facet in found:
            for value in facet.values:
                alone = replace(filters, **{facet.name: (value.value,), NOT[facet.name]: ()})
                assert value.count == turns_matching(project=project, filters=alone).count()
                assert value.chosen == (value.value in getattr(filters, facet.name))
                assert value.excluded == (value.value in getattr(filters, NOT[facet.name]))
                assert not value.capped


def test_the_most_frequent_value_comes_first_and_a_selected_one_is_listed_even_without_turns():
    for agent in ("a", "b", "b"):
        make_turn(agent_name=agent)
    values = facet("agent", agent=("gone",)).values
    assert values == (
        FacetValue("b", "b", 2, chosen=False, capped=False),
        FacetValue("a", "a", 1, chosen=False, capped=False),
        FacetValue("gone", "gone", 0, chosen=True, capped=False),
    )


def test_an_unreadable_cohort_waits_for_the_next_request(monkeypatch: pytest.MonkeyPatch):
    """A replica that is behind does not have it."""
    make_turn(agent_name="new")
    monkeypatch.setattr(module.Cohorts, "learn", lambda *_: None)
    assert facet("agent").values == ()


def test_an_unknown_field_is_not_a_value():
    make_turn()
    assert facet("stop_reason").values == ()


def test_tags_are_counted_individually():
    make_turn(tags=["seen", "odd"])
    make_turn(tags=["seen"])
    make_turn()
    assert [(value.value, value.count) for value in facet("tag").values] == [("seen", 2), ("odd", 1)]


def test_with_a_text_search_counting_stops_and_says_so(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(turn_counts, "MOST_COUNTED", 2)
    monkeypatch.setattr(module, "MOST_COUNTED", 2)
    for status in ("failed", "completed", "completed"):
        make_turn(output_text="rivers", status=status, tags=["x"])
    assert facet("status", q="rivers").values == (FacetValue("completed", "completed", 2, chosen=False, capped=True),)
    assert facet("status", q="rivers", status=("failed",)).values[0].capped
    assert facet("tag", q="rivers").values == (FacetValue("x", "x", 2, chosen=False, capped=True),)
    assert not facet("model", q="rivers", status=("failed",)).values[0].capped
    assert facet("status").values[0] == FacetValue("completed", "completed", 2, chosen=False, capped=False)


def test_the_turns_of_another_project_are_not_counted():
    make_turn(project=agents.Project.objects.create(name="other"), tags=["x"])
    assert all(not facet.values for facet in facets(project=agents.project_default(), filters=TimelineFilters()))


def test_individually_found_turns_are_found_once_for_all_facets(monkeypatch: pytest.MonkeyPatch):
    make_turn(input_text="a word", tags=["kept"], lint=["unclosed_json"])
    looked, find = list[object](), turn_counts.find
    monkeypatch.setattr(turn_counts, "find", lambda **asked: (looked.append(asked["filters"]), find(**asked))[1])
    found = {facet.name: facet for facet in facets(project=agents.project_default(), filters=TimelineFilters(q="word"))}
    assert [value.value for name in ("tag", "lint") for value in found[name].values] == ["kept", "unclosed_json"]
    assert len(looked) == 1
    facets(project=agents.project_default(), filters=TimelineFilters(q="word", status=("completed",)))
    assert len(looked) == len(set(looked)) + 1 == 3, "once more without the status, for that facet"


def test_each_button_that_excludes_says_what_it_leaves_out_and_how_many(browser: Client):
    make_turn(NOW, model_stop_reason="max_tokens", resource="max_steps", error_type="server_error", continuations=1)
    html = compact(browser.get("/timeline/facets").content.decode())
    names = {text_of(label).strip() for label in re.findall(r'<label class="not".*?</label>', html, re.DOTALL)}
    assert {
        "not cut off, leaves out 1 turn",
        "not Max steps, leaves out 1 turn",
        "not server error, leaves out 1 turn",
        "not continuation, leaves out 1 turn",
    } <= {name.replace("\u00a0", " ") for name in names}
