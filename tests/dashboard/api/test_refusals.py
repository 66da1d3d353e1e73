"""What exporters were refused, for programs: by role, project, key, reason and time, a page at a time."""

from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.test import Client
from django.utils import timezone

from dashboard.accounts import services as accounts
from dashboard.accounts.models import User
from dashboard.agents.models import Project
from dashboard.agents.selectors import project_default
from dashboard.gateway.services import key_create
from dashboard.ingest.refusals import KEPT, refusals_note, sweep
from dashboard.runtime import worker
from tests.dashboard.api.conftest import Program

NOW = timezone.now()
ZEROS, OLD = "The id is zero.", "It is too old."


def refused(sender: UUID, why: str = ZEROS, number: int = 1, *, project: Project | None = None, days: int = 0) -> None:
    at = NOW - timedelta(days=days)
    refusals_note((project or project_default()).pk, sender, {why: number}, at=at)


def told(api: Program, **asked: Any) -> list[tuple[str, str, int]]:
    return [(one["sender"], one["why"], one["number"]) for one in api.get("/refusals", **asked).json()["items"]]


@pytest.fixture
def key(api: Program) -> UUID:
    made, _ = key_create(project=project_default(), by=User.objects.get(username="bootstrap"), name="notebook")
    return made.pk


def test_refused_imports_are_counted_by_sender_and_reason(api: Program, key: UUID):
    user = User.objects.get(username="bootstrap")
    refused(key, number=3)
    refused(key, number=4)
    refused(UUID(int=user.pk), OLD)
    refused(uuid4(), OLD)
    assert told(api) == [
        ("a deleted key", OLD, 1),
        (f"tokens of {user}", OLD, 1),
        ("key “notebook”", ZEROS, 7),
    ]
    assert [one["key_id"] for one in api.get("/refusals").json()["items"]][1:] == [None, str(key)]


def test_refusals_are_paged_and_keep_their_place_when_more_arrive(api: Program, key: UUID):
    for number in range(5):
        refused(key, f"Reason {number}.")
    first = api.get("/refusals", limit=2).json()
    refused(key, "Reason 0.")
    refused(key, "Reason 9.")
    second = api.get("/refusals", limit=2, cursor=first["next"]).json()
    third = api.get("/refusals", limit=2, cursor=second["next"]).json()
    whys = [one["why"] for page in (first, second, third) for one in page["items"]]
    assert whys == [f"Reason {number}." for number in (4, 3, 2, 1, 0)]
    assert third["next"] is None
    assert api.get("/refusals", limit=2, cursor=second["previous"]).json()["items"] == first["items"]
    assert api.get("/refusals", cursor="x").status_code == 400


def test_refusals_are_filtered_by_key_reason_and_time(api: Program, key: UUID):
    refused(key, ZEROS, days=9)
    refused(uuid4(), OLD, days=1)
    assert [why for _, why, _ in told(api, key_id=key)] == [ZEROS]
    assert [why for _, why, _ in told(api, why="TOO OLD")] == [OLD]
    since = (NOW - timedelta(days=2)).isoformat()
    assert [[why for _, why, _ in told(api, **{bound: since})] for bound in ("since", "until")] == [[OLD], [ZEROS]]
    assert api.get("/refusals", key_id="a").status_code == 422


def test_refusals_of_others_are_visible_only_to_users_who_manage_keys(api: Program, key: UUID):
    user = User.objects.create_user("watcher")
    _, secret = accounts.api_token_create("w", user=user)
    refused(key)
    refused(UUID(int=user.pk), OLD)
    own = Client(headers={"Authorization": f"Bearer {secret}"}).get("/api/v1/refusals").json()
    assert [one["why"] for one in own["items"]] == [OLD]
    refused(key, "Elsewhere.", project=Project.objects.create(name="beside"))
    assert [why for _, why, _ in told(api)] == [OLD, ZEROS]


def test_a_reason_that_has_not_recurred_for_long_is_deleted(api: Program, key: UUID):
    refused(key, days=KEPT.days + 9)
    refused(key, OLD, days=KEPT.days + 1)
    refused(key)
    assert sweep() == 1
    assert told(api) == [("key “notebook”", ZEROS, 2)]
    assert sweep() == 0
    assert sweep in [task[1] for task in worker._upkeep()]
