"""What this host promises, and to whom it says so."""

import pytest
from django.test import Client

from agentcore.policy import Limits
from dashboard.agents.policies import policy_for
from dashboard.api.conformance.capabilities import EVENTS
from tests.dashboard.api.conftest import Program

pytestmark = pytest.mark.django_db
ADDRESSES = ["/.well-known/openwop", "/api/v1/capabilities"]
EXPECTED = {
    "reliability": {
        "supported": True,
        "events": [
            "envelope.truncated",
            "envelope.retry.attempted",
            "envelope.retry.exhausted",
            "envelope.refusal",
            "envelope.recovery.applied",
            "cap.breached",
        ],
        "maxRetryAttempts": 4,
        "completion": {"distinguishesTruncation": True, "truncationBudgetMultiplier": 2},
    }
}


@pytest.mark.parametrize("address", ADDRESSES)
def test_the_block_appears_at_the_root_and_under_capabilities(api: Program, address: str) -> None:
    answer = api.client.get(address)
    assert (answer.status_code, answer["Content-Type"].partition(";")[0]) == (200, "application/json")
    assert answer.json() == {"envelopes": EXPECTED, "capabilities": {"envelopes": EXPECTED}}


@pytest.mark.parametrize("address", ADDRESSES)
def test_unauthenticated_callers_are_told_nothing(client: Client, address: str) -> None:
    answer = client.get(address)
    assert (answer.status_code, answer["Content-Type"]) == (401, "application/problem+json")
    assert "envelopes" not in answer.content.decode()


@pytest.mark.parametrize("address", ADDRESSES)
def test_a_session_is_accepted_like_a_token(browser: Client, address: str) -> None:
    assert browser.get(address).json()["envelopes"] == EXPECTED


@pytest.mark.parametrize("address", ADDRESSES)
@pytest.mark.parametrize("method", ["post", "put", "delete"])
def test_capabilities_accept_only_get(api: Program, address: str, method: str) -> None:
    answer = getattr(api.client, method)(address)
    assert answer.status_code == 405
    assert answer["Content-Type"] in ("application/problem+json", "application/json", "text/plain; charset=utf-8")


def test_the_advertised_retries_are_those_of_an_agent_without_a_policy() -> None:
    assert policy_for(None, {}).limits == Limits()
    assert EXPECTED["reliability"]["maxRetryAttempts"] == Limits().schema_rounds + 1
    assert len(EVENTS) == len(set(EVENTS)) == 6
