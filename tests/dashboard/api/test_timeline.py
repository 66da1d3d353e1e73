"""`GET /turns`: filters and pages."""

import pytest

from dashboard.agents import selectors
from dashboard.turns.models import Turn
from tests.dashboard.api.conftest import Program, said

pytestmark = pytest.mark.django_db


def make_turns(*names: str, **columns: object) -> list[str]:
    """One turn by each agent's name; their ids, oldest first."""
    project = selectors.project_default()
    values = {"project": project, "provider": "openai", "model": "m", "max_tokens": 60, **columns}
    return [str(Turn.objects.create(agent_name=name, **values).id) for name in names]


def ids(page: dict) -> list[str]:
    return [turn["id"] for turn in page["items"]]


def test_pages_lead_to_the_end_and_back(api: Program):
    newest_first = make_turns("a", "b", "c", "d", "e")[::-1]
    first = api.get("/turns", limit=2).json()
    second = api.get("/turns", limit=2, cursor=first["next"]).json()
    third = api.get("/turns", limit=2, cursor=second["next"]).json()
    assert [*ids(first), *ids(second), *ids(third)] == newest_first
    assert (first["previous"], third["next"]) == (None, None)
    assert api.get("/turns", limit=2, cursor=third["previous"]).json() == second
    assert api.get("/turns", limit=2, cursor=second["previous"]).json() == first


def test_a_page_stays_in_place_while_turns_arrive(api: Program):
    old = make_turns("a", "b", "c")
    first = api.get("/turns", limit=1).json()
    new = make_turns("d")
    assert ids(api.get("/turns", limit=1, cursor=first["next"]).json()) == [old[1]]
    assert ids(api.get("/turns").json())[0] == new[0]


def test_filters_and_pages_combine(api: Program):
    make_turns("a", status="completed")
    partial = make_turns("a", "a", "a", status="partial")
    page = api.get("/turns", status="partial", limit=2).json()
    rest = api.get("/turns", status="partial", limit=2, cursor=page["next"]).json()
    assert [*ids(page), *ids(rest)] == partial[::-1]


def test_a_filter_given_twice_matches_both_values(api: Program):
    made = make_turns("a", "b", "c")
    assert ids(api.get("/turns", agent=["a", "c"]).json()) == [made[2], made[0]]


def test_a_page_takes_the_same_few_queries_for_any_number_of_turns(api: Program, django_assert_max_num_queries):
    make_turns(*"abcdefghij")
    with django_assert_max_num_queries(8):
        assert len(api.get("/turns", limit=200).json()["items"]) == 10


def test_all_faults_of_a_query_are_reported_at_once_by_name(api: Program):
    response = api.get("/turns", status="done", has="luck", since="soon", limit=0, colour="red")
    assert response.status_code == 400
    wrong = said(response)
    assert set(wrong) == {"status", "has", "since", "limit", "colour"}
    assert wrong["has"] == "Has must be one of continuation, repair, envelope_retry, not “luck”."
    assert wrong["colour"].startswith("There is no filter “colour”; there are stop_reason, ")


@pytest.mark.parametrize("limit", ["", "-1", "201", "1e2", "²", "9" * 5000])
def test_a_limit_is_a_number_from_1_to_200(api: Program, limit: str):
    assert set(said(api.get("/turns", limit=limit))) == {"limit"}


@pytest.mark.parametrize("cursor", ["abc", "é", "A" * 24, "PAAA"])
def test_an_invalid_cursor_is_refused_with_an_explanation(api: Program, cursor: str):
    response = api.get("/turns", cursor=cursor)
    assert response.status_code == 400
    assert "take `next` or `previous`" in said(response)["cursor"]


def test_a_provider_is_filtered_by_the_name_the_api_returns(api: Program):
    make_turns("a", model="sim-essay")
    page = api.get("/turns", provider="openai").json()
    assert [turn["provider"] for turn in page["items"]] == ["openai"]
    assert len(ids(api.get("/turns", provider="simulator").json())) == 1
    assert not ids(api.get("/turns", not_provider="openai").json())
