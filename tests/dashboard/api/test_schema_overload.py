"""Pages and the API where nobody has time to check a schema: they say so, and change nothing."""

import json

import pytest
from django.test import Client

from dashboard.agents.models import Agent
from dashboard.agents.schema_validation import validator
from dashboard.agents.schema_validation.judge_overload import BUSY
from tests.dashboard.agents.schema_validation.judge_overload import SCHEMA, BusyJudges
from tests.dashboard.api.conftest import Program


@pytest.fixture(autouse=True)
def busy(monkeypatch: pytest.MonkeyPatch) -> None:
    validator.forget()
    monkeypatch.setattr(validator, "judges", BusyJudges(reads=False))


def test_the_api_reports_that_it_is_busy_and_changes_nothing(api: Program, talker: Agent):
    wanted = {"name": "n", "connection": talker.connection.name, "model": "m", "max_tokens": 9}
    answer = api.post("/agents", {**wanted, "envelope_schema": SCHEMA})
    assert (answer.status_code, answer["Retry-After"], answer.json()["detail"]) == (503, "2", BUSY)
    assert answer["Content-Type"] == "application/problem+json"
    assert not Agent.objects.filter(name="n").exists()


def test_a_form_reports_that_the_schema_checks_are_busy(admin_client: Client, talker: Agent):
    given = {"name": "n", "connection": talker.connection.pk, "model": "m", "gateway_mode": "continue"}
    given |= {"approve_otherwise": "refuse", "max_tokens": "9", "envelope_schema": json.dumps(SCHEMA)}
    answer = admin_client.post("/agents/+new", given)
    assert (answer.status_code, answer["Retry-After"]) == (503, "2")
    assert "The schema checks are busy" in answer.content.decode()
    assert not Agent.objects.filter(name="n").exists()
