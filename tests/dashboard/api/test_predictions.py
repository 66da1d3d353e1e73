"""The track record by the API."""

import pytest

from dashboard.policies.predictions.models import Prediction
from dashboard.policies.suggestions.services import limit_find
from dashboard.turns.models import Turn
from tests.dashboard.api.conftest import Program
from tests.dashboard.driving import Play
from tests.dashboard.policies.predictions.conftest import again_of
from tests.dashboard.policies.predictions.test_suggested_limits import SHORT, compared, suggestion_of

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def cut(play: Play) -> Turn:
    return play("sim-essay", overrides={"max_tokens": 150})


def test_a_prediction_is_returned_completely(api: Program, cut: Turn):
    made = again_of(cut, {"limits": {"max_continuations": 1}})
    (told,) = api.get("/predictions").json()["items"]
    assert told["id"] == str(made.id)
    assert (told["kind"], told["parent_id"], told["child_id"]) == ("rerun", str(cut.id), str(made.child_id))
    assert told["overrides"] == {"limits": {"max_continuations": 1}}
    assert told["predicted"][0]["terminal_reason"] == told["actual"]["terminal_reason"] == "retry_limit"
    assert (told["came_true"], told["not_compared"], told["reason"], told["check_id"]) == (True, None, None, None)
    assert (told["certainty"], told["differences"]) == (made.certainty, [])


def test_a_rerun_requested_by_the_api_also_has_a_prediction(api: Program, cut: Turn):
    overrides = {"limits": {"max_continuations": 1}}
    made = api.post(f"/turns/{cut.id}/replay", {"mode": "rerun", "overrides": overrides}).json()
    fork = api.post(f"/turns/{cut.id}/replay", {"mode": "rerun", "overrides": overrides, "from_record": 2}).json()
    items = api.get("/predictions").json()["items"]
    assert [(one["child_id"], one["from_record"]) for one in items] == [(fork["id"], 2), (made["id"], None)]
    assert all(one["came_true"] is None and one["actual"] is None for one in items)


def test_predictions_are_filtered_by_model_certainty_and_result(api: Program, cut: Turn):
    made = again_of(cut, {"limits": {"max_continuations": 1}})

    def found(query: str) -> int:
        return len(api.get(f"/predictions?{query}").json()["items"])

    assert found("model=sim-essay&came_true=true") == 1
    assert (found("model=sim-other"), found("came_true=false"), found("provider=anthropic")) == (0, 0, 0)
    assert (found(f"certainty={made.certainty}"), found("certainty=undecidable")) == (1, 0)
    assert (found("kind=rerun"), found("kind=calibration")) == (1, 0)


def test_pages_link_in_both_directions(api: Program, cut: Turn):
    for continuations in (0, 1, 5):
        again_of(cut, {"limits": {"max_continuations": continuations}})
    newest = [str(one.id) for one in Prediction.objects.order_by("-id")]
    first = api.get("/predictions?limit=2").json()
    assert ([one["id"] for one in first["items"]], first["previous"]) == (newest[:2], None)
    second = api.get(f"/predictions?limit=2&cursor={first['next']}").json()
    assert ([one["id"] for one in second["items"]], second["next"]) == (newest[2:], None)
    back = api.get(f"/predictions?limit=2&cursor={second['previous']}").json()
    assert [one["id"] for one in back["items"]] == newest[:2]


def test_an_invalid_query_is_a_problem_that_names_the_parameter(api: Program):
    for query in ("limit=0", "limit=1000", "certainty=sure", "came_true=perhaps", "cursor=nonsense", "modell=x"):
        answer = api.get(f"/predictions?{query}")
        assert answer.status_code in (400, 422), query
        assert answer["content-type"] == "application/problem+json"


def test_the_summary_counts_by_model_and_certainty(api: Program, cut: Turn):
    made = again_of(cut, {"limits": {"max_continuations": 9}})
    (told,) = api.get("/predictions/summary").json()
    assert (told["provider"], told["model"]) == ("openai", "sim-essay")
    assert told[made.certainty] == {
        "predictions": 1, "came_true": 1, "failed": 0, "waiting": 0, "nothing_predicted": 0, "not_compared": 0,
    }  # fmt: skip
    assert told["undecidable"]["predictions"] == 0


def test_the_api_returns_the_suggestion_and_counts_by_basis(api: Program, play: Play):
    short = play("sim-essay", max_tokens=60, overrides={"limits": {"max_continuations": 0}})
    prediction = compared(limit_find(turn=short, suggestion=suggestion_of(short, SHORT)))
    (told,) = api.get("/predictions?basis=agent&suggested_came_true=false").json()["items"]
    assert (told["id"], told["suggested"]["value"], told["suggested"]["came_true"]) == (
        str(prediction.id),
        SHORT,
        False,
    )
    assert api.get("/predictions?basis=recording").json()["items"] == []
    (summary,) = api.get("/predictions/summary").json()
    assert summary["suggested"] == [
        {
            "basis": "agent", "certainty": "estimated", "word": "likely", "retried": False, "predictions": 1,
            "came_true": 0, "failed": 1, "waiting": 0, "not_compared": 0, "expected": 0.95,
        }
    ]  # fmt: skip
