"""A program that calls the API by token, as programs do."""

import json
from dataclasses import dataclass
from typing import Any

import pytest
from django.http import HttpResponse
from django.test import Client

from dashboard.accounts.services import bootstrap_token_ensure
from dashboard.agents.models import Agent
from tests.dashboard.driving import AgentOf

TOKEN = "a-token-for-tests-of-the-api"


@dataclass(frozen=True, slots=True)
class Program:
    client: Client

    def get(self, path: str, **query: Any) -> HttpResponse:
        return self.client.get(f"/api/v1{path}", query)

    def post(self, path: str, body: Any = None) -> HttpResponse:
        """`body`: text and bytes go as they are, all else as JSON; None: no body."""
        sent = body if isinstance(body, str | bytes) else "" if body is None else json.dumps(body)
        return self.client.post(f"/api/v1{path}", sent, content_type="application/json")

    def problem(self, path: str, body: Any, status: int = 400) -> dict[str | None, str]:
        """What is said to be wrong with the body, by field; of several sentences about one field, the last."""
        response = self.post(path, body)
        assert response.status_code == status, response.content
        return said(response)


def said(response: HttpResponse) -> dict[str | None, str]:
    assert response["Content-Type"] == "application/problem+json"
    body = response.json()
    assert set(body) == {"type", "title", "status", "detail", "errors"}
    assert body["status"] == response.status_code
    assert body["detail"]
    return {fault["field"]: fault["message"] for fault in body["errors"]}


@pytest.fixture
def api(db: None) -> Program:
    bootstrap_token_ensure(TOKEN)
    return Program(Client(headers={"Authorization": f"Bearer {TOKEN}"}))


@pytest.fixture
def talker(agent_of: AgentOf) -> Agent:
    """An agent of the simulator."""
    return agent_of("sim-essay")
