"""A write with an `Idempotency-Key` is done once, however often it is sent."""

import threading
from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.utils import timezone

from dashboard.accounts import services as accounts
from dashboard.accounts.models import User
from dashboard.accounts.services import bootstrap_token_ensure
from dashboard.agents.models import Agent, Connection, PolicyVersion
from dashboard.api.idempotency import services
from dashboard.api.idempotency.models import KeptAnswer
from dashboard.gateway.models import GatewayKey
from tests.dashboard.api.conftest import TOKEN, Program, said
from tests.dashboard.driving import Play

POLICY = {"name": "p", "limits": {"max_steps": 3}}


def sent(api: Program, path: str, body: object, key: str = "k-1"):
    headers = {"Idempotency-Key": key}
    return api.client.post(f"/api/v1{path}", body, content_type="application/json", headers=headers)


def test_a_repeated_request_gets_the_same_response_and_is_executed_once(api: Program):
    first, again = sent(api, "/policies", POLICY), sent(api, "/policies", POLICY)
    assert (again.status_code, again.content, again["Content-Type"]) == (201, first.content, first["Content-Type"])
    assert again["Idempotency-Replayed"] == "true"
    assert not first.has_header("Idempotency-Replayed")
    assert PolicyVersion.objects.count() == 1


def test_a_key_may_be_quoted_as_in_the_draft_standard(api: Program):
    sent(api, "/policies", POLICY, key='"k-1"')
    assert sent(api, "/policies", POLICY, key="k-1")["Idempotency-Replayed"] == "true"


@pytest.mark.parametrize(("path", "body"), [("/policies", {"name": "q"}), ("/keys", POLICY), ("/policies?x=1", POLICY)])
def test_another_request_with_the_same_key_is_refused(api: Program, path: str, body: object):
    sent(api, "/policies", POLICY)
    refused = sent(api, path, body)
    assert refused.status_code == 422
    assert "another request" in said(refused)["Idempotency-Key"]


def test_a_refused_request_leaves_its_key_free(api: Program):
    assert sent(api, "/policies", {"name": ""}).status_code >= 400
    assert sent(api, "/policies", POLICY).status_code == 201


@pytest.mark.parametrize("key", ["", "two words", "x" * 256, "schlüssel"])
def test_an_invalid_key_is_refused(api: Program, key: str):
    assert sent(api, "/policies", POLICY, key=key).status_code == 400


def test_users_do_not_share_keys(api: Program):
    accounts.one_time_code_create()
    _, secret = accounts.api_token_create("ci", user=User.objects.get(username=accounts.OPERATOR))
    sent(api, "/policies", POLICY)
    theirs = sent(Program(Client(headers={"Authorization": f"Bearer {secret}"})), "/policies", POLICY)
    assert theirs.json()["version"] == 2


@pytest.mark.parametrize("body", [{"name": "ci"}, {"name": "ci", "scopes": ["admin"]}])
def test_a_response_is_not_repeated_to_another_token_of_the_user(api: Program, body: dict):
    made = sent(api, "/tokens", body).json()
    _, secret = accounts.api_token_create("rival", user=User.objects.get(username="bootstrap"), scopes=["admin"])
    rival = Program(Client(headers={"Authorization": f"Bearer {secret}"}))
    refused = sent(rival, "/tokens", body)
    assert refused.status_code == 422
    assert made["secret"].encode() not in refused.content
    assert sent(api, "/tokens", body).json() == made


@pytest.mark.django_db(transaction=True)
def test_read_requests_are_not_stored_but_actions_they_start_are(api: Program, play: Play):
    turn = play("sim-essay", max_tokens=60)
    for body, kept in (({"mode": "verify"}, 0), ({"mode": "what_if", "overrides": {}}, 0), ({"mode": "rerun"}, 1)):
        answers = [sent(api, f"/turns/{turn.id}/replay", body, key=body["mode"]) for _ in range(2)]
        assert answers[0].content == answers[1].content
        assert answers[1].has_header("Idempotency-Replayed") == bool(kept)
        assert KeptAnswer.objects.count() == kept


def test_a_secret_in_a_response_is_not_stored_in_plain_text(api: Program):
    made = sent(api, "/keys", {"name": "ci"}).json()
    (row,) = KeptAnswer.objects.all()
    assert made["secret"].encode() not in bytes(row.sealed_body)
    assert sent(api, "/keys", {"name": "ci"}).json() == made
    assert GatewayKey.objects.count() == 1


def test_a_request_still_in_progress_is_not_started_again(api: Program):
    key = services.KeyedRequest(User.objects.get(username="bootstrap").pk, "k-1", "0" * 64)
    sent(api, "/policies", POLICY)
    KeptAnswer.objects.update(status=None)
    refused = sent(api, "/policies", POLICY)
    assert (refused.status_code, refused["Retry-After"]) == (409, "1")
    assert services.claim(key) is services.Claim.OTHER_REQUEST
    KeptAnswer.objects.update(claimed_at=timezone.now() - services.LOST - timedelta(seconds=1))
    assert sent(api, "/policies", POLICY).status_code == 201


def test_a_key_is_reusable_after_a_day_and_deleted_by_the_worker(api: Program):
    sent(api, "/policies", POLICY)
    KeptAnswer.objects.update(claimed_at=timezone.now() - services.KEPT - timedelta(seconds=1))
    assert sent(api, "/policies", {"name": "q"}).status_code == 201
    KeptAnswer.objects.update(claimed_at=timezone.now() - services.KEPT - timedelta(seconds=1))
    services.sweep()
    assert not KeptAnswer.objects.exists()


@pytest.mark.usefixtures("imports_here")
def test_a_file_imported_with_a_key_is_read_completely(api: Program):
    refused = sent(api, "/turns/import", {"format": "no turn"})
    assert "no turn" not in said(refused)
    assert refused.status_code in (400, 422)
    assert b"not JSON" not in refused.content


@pytest.mark.django_db(transaction=True)
def test_one_of_many_simultaneous_requests_is_executed():
    bootstrap_token_ensure(TOKEN)
    answers: list[int] = []
    starting = threading.Barrier(4)

    def ask() -> None:
        api = Program(Client(headers={"Authorization": f"Bearer {TOKEN}"}))
        starting.wait()
        answers.append(sent(api, "/policies", POLICY).status_code)
        connection.close()

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(answers) <= {201, 409}
    assert 201 in answers
    assert PolicyVersion.objects.count() == 1
    assert not Agent.objects.exists()
    assert not Connection.objects.exists()


def test_a_write_with_a_response_too_large_to_store_is_still_executed_once(
    api: Program, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(services, "MOST_BYTES", 10)
    first, again = sent(api, "/policies", POLICY), sent(api, "/policies", POLICY)
    assert (first.status_code, again.status_code) == (201, 409)
    assert "succeeded" in again.json()["detail"]
    assert PolicyVersion.objects.count() == 1


def test_a_write_whose_response_was_deleted_is_still_executed_once(api: Program, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(services, "MOST_BYTES_OF_USER", 10)
    first = sent(api, "/policies", POLICY)
    services.sweep()
    again = sent(api, "/policies", POLICY)
    assert (first.status_code, again.status_code) == (201, 409)
    assert "no longer kept" in again.json()["detail"]
    assert PolicyVersion.objects.count() == 1


@pytest.mark.parametrize(("bound", "most"), [("MOST_KEYS", 2), ("MOST_BYTES_OF_USER", 250)])
def test_only_the_latest_responses_of_a_user_are_kept(
    api: Program, monkeypatch: pytest.MonkeyPatch, bound: str, most: int
):
    monkeypatch.setattr(services, bound, most)
    user, another = User.objects.get(), User.objects.create(username="another")
    now = timezone.now()

    def kept(by: User, key: str, minutes: int, status: int | None = 201) -> None:
        claimed_at = now - timedelta(minutes=minutes)
        KeptAnswer.objects.create(
            user=by, key_digest=key, request_digest="", claimed_at=claimed_at, status=status, sealed_body=b"x" * 100
        )

    for minutes, key in enumerate(["latest", "next", "old", "oldest"]):
        kept(user, key, minutes)
    kept(user, "under way", 9, status=None)
    kept(another, "their own", 9)
    services.sweep()
    left = dict(KeptAnswer.objects.values_list("key_digest", "sealed_body"))
    assert {key for key in left if left[key]} == {"latest", "next", "under way", "their own"}
    assert ("oldest" in left) == (bound == "MOST_BYTES_OF_USER"), "what was done is known for longer than its answer"
