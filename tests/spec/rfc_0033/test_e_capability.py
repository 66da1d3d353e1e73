"""RFC 0033 §E: what the host says of itself, at the two addresses where programs look for it."""

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from agentcore import Limits
from tests.spec.rfc_0033.envelopes import EVENTS
from tests.spec.rules import Kind, rule

E = "rfc-0033 §E"
ADDRESSES = ("/.well-known/openwop", "/api/v1/capabilities")
Get = Callable[[str], Any]
pytestmark = pytest.mark.django_db


def reliability(get: Get, address: str) -> dict[str, Any]:
    block: dict[str, Any] = get(address).json()["envelopes"]["reliability"]
    return block


@rule(E, "The block `envelopes.reliability` is served and states that envelopes are supported")
@pytest.mark.parametrize("address", ADDRESSES)
def test_the_block_is_served_at_both_urls(get: Get, address: str) -> None:
    block = reliability(get, address)
    assert set(block) == {"supported", "events", "maxRetryAttempts", "completion"}
    assert block["supported"] is True


@rule(E, "The block is under `capabilities` too, as in the document", Kind.SHOULD)
@pytest.mark.parametrize("address", ADDRESSES)
def test_the_block_is_mirrored_under_capabilities(get: Get, address: str) -> None:
    said = get(address).json()
    assert said["capabilities"]["envelopes"] == said["envelopes"]


@rule(E, "`completion` has distinguishesTruncation, which is true, and truncationBudgetMultiplier, and no other key")
@pytest.mark.parametrize("address", ADDRESSES)
def test_completion_has_its_two_keys(get: Get, address: str) -> None:
    completion = reliability(get, address)["completion"]
    assert set(completion) == {"distinguishesTruncation", "truncationBudgetMultiplier"}
    assert completion["distinguishesTruncation"] is True


@rule(E, "truncationBudgetMultiplier is a number from 1 to 8")
def test_the_multiplier_is_in_its_range(get: Get) -> None:
    multiplier = reliability(get, ADDRESSES[0])["completion"]["truncationBudgetMultiplier"]
    assert type(multiplier) in (int, float)
    assert 1 <= multiplier <= 8


@rule(E, "truncationBudgetMultiplier is 2", Kind.DEFAULT)
def test_the_multiplier_is_two(get: Get) -> None:
    multiplier = reliability(get, ADDRESSES[0])["completion"]["truncationBudgetMultiplier"]
    assert multiplier == Limits().truncation_budget_multiplier == 2


@rule(E, "The events are those that a turn's records carry")
def test_the_events_are_named(get: Get) -> None:
    assert set(reliability(get, ADDRESSES[0])["events"]) == set(EVENTS)


@rule(E, "maxRetryAttempts is the number of calls of an envelope: the first call and the schema rounds")
def test_the_maximum_number_of_calls_is_named(get: Get) -> None:
    assert reliability(get, ADDRESSES[0])["maxRetryAttempts"] == Limits().schema_rounds + 1 == 4


@rule(E, "The name `truncationRetryMultiplier` is not used")
def test_the_wrong_name_is_not_used(get: Get) -> None:
    assert all(b"truncationRetryMultiplier" not in get(address).content for address in ADDRESSES)


@rule(E, "A caller without credentials learns nothing", Kind.SHOULD)
@pytest.mark.parametrize("address", ADDRESSES)
def test_an_unauthenticated_caller_is_told_nothing(client: Client, address: str) -> None:
    answer = client.get(address)
    assert b"envelopes" not in answer.content
    assert answer.status_code == 401
