"""Alerts and the board's numbers by API."""

from datetime import timedelta
from urllib.parse import parse_qs, urlsplit
from uuid import uuid4

import pytest

from dashboard.board.alerts.evaluation import alerts_judge
from dashboard.board.alerts.models import Alert
from tests.dashboard.api.conftest import Program, said
from tests.dashboard.board.alerts.conftest import now, turns

pytestmark = pytest.mark.django_db

RULE = {"metric": "truncation_rate", "number": 20}


def test_an_alert_is_previewed_created_listed_changed_and_deleted(api: Program):
    at = now()
    turns(at - timedelta(days=2), cut=1)
    foreseen = api.post("/alerts/preview", RULE).json()
    assert (foreseen["count"], foreseen["holds"], foreseen["firings"][0]["message"]) == (1, False, "100 %")
    assert not Alert.objects.exists()

    made = api.post("/alerts", {**RULE, "name": "Cut off", "least_turns": 2}).json()
    assert made["words"] == "Truncation rate is above 20 % in 15 minutes"
    turns(at, cut=2)
    alerts_judge(at)
    (listed,) = api.get("/alerts").json()
    assert listed["firing_since"] == listed["last_fired_at"] is not None
    (firing,) = api.get(f"/alerts/{made['id']}").json()["firings"]
    assert firing["ended_at"] is None

    changed = api.client.patch(f"/api/v1/alerts/{made['id']}", {"number": 30}, content_type="application/json").json()
    assert (changed["number"], changed["least_turns"]) == (30, 2)
    assert changed["firing_since"] == listed["firing_since"], "it goes on firing"
    assert api.client.delete(f"/api/v1/alerts/{made['id']}").status_code == 204
    assert api.get("/alerts").json() == []
    assert api.get(f"/alerts/{made['id']}").status_code == 404


@pytest.mark.parametrize(
    ("body", "status", "field"),
    [
        ({**RULE, "name": "x", "metric": "luck"}, 422, "metric"),
        ({**RULE, "name": "x", "number": -1}, 422, "number"),
        ({**RULE, "name": "x", "window_minutes": 7}, 422, "window_minutes"),
        ({**RULE, "name": "x", "colour": 1}, 422, "colour"),
        ({**RULE, "name": "x", "emails": ["ada"]}, 400, "emails"),
        ({**RULE, "name": " "}, 400, "name"),
    ],
)
def test_faults_are_reported_by_field(api: Program, body: dict[str, object], status: int, field: str):
    assert field in api.problem("/alerts", body, status)


def test_an_existing_name_is_refused_with_an_explanation(api: Program):
    api.post("/alerts", {**RULE, "name": "Cut off"})
    assert "There is an alert of this name already." in api.problem("/alerts", {**RULE, "name": "Cut off"}).values()


def test_the_numbers_of_the_metrics_page_are_those_of_its_turns(api: Program):
    at = now() - timedelta(days=1)
    turns(at, cut=1, whole=3, input_tokens=100, output_tokens=10, model="gpt-4o", lint=["output_at_cap"])
    turns(at, whole=1, model="nobody's", status="failed", agent_name="b", output_tokens=1)
    told = api.get("/metrics", period="week", by="agent").json()
    total = told["total"]
    assert (total["turns"], total["truncation_rate"], total["failure_rate"]) == (5, 0.2, 0.2)
    assert total["model_stop_reasons"] == {"max_tokens": 1, "end_turn": 4}
    assert (total["lint"], total["lint_findings"]) == ({"output_at_cap": 4}, 4)
    assert total["dollars"] == pytest.approx((400 * 2.5 + 40 * 10) / 1e6)
    assert told["unpriced_models"] == ["nobody's"]
    assert [(group["name"], group["turns"]) for group in told["groups"]] == [("a", 4), ("b", 1)]
    assert sum(bucket["turns"] for bucket in told["buckets"]) == 5
    narrowed = api.get("/metrics", since=f"{at - timedelta(hours=1):%Y-%m-%dT%H:%M:%SZ}", agent="b").json()
    assert narrowed["total"]["turns"] == 1


@pytest.mark.parametrize(
    "query", [{"since": "tomorrow"}, {"since": "2026-11-20", "until": "2026-11-19"}, {"colour": "red"}]
)
def test_an_invalid_query_is_refused_with_an_explanation(api: Program, query: dict[str, str]):
    answer = api.get("/metrics", **query)
    assert answer.status_code == 400
    assert said(answer)


def test_a_missing_alert_is_404(api: Program):
    assert api.get(f"/alerts/{uuid4()}").status_code == 404


def test_a_firing_links_to_its_time_window(api: Program):
    at = now()
    turns(at - timedelta(days=2), cut=1, agent_name="triage")
    (firing,) = api.post("/alerts/preview", {**RULE, "agent": "triage"}).json()["firings"]
    query = parse_qs(urlsplit(firing["timeline"]).query)
    assert query["agent"] == ["triage"]
    found = api.get("/turns", **{name: values[0] for name, values in query.items()}).json()
    assert len(found["items"]) == 1
