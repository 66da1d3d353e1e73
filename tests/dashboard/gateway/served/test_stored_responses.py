"""The gateway's turns are turns like any others: shown, found, taken away as files, tried under other limits."""

import json
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from agentcore import verify, what_if
from agentcore.policy import Limits
from agentcore.values import replace
from dashboard.accounts.models import User
from dashboard.accounts.services import OPERATOR
from dashboard.gateway.services import key_create
from dashboard.policies.ledger import ledger_of
from dashboard.policies.policy_creation import policy_create
from dashboard.policies.stop_explanation import derivation_of
from dashboard.policies.stop_setting import stop_setting_of
from dashboard.turns.history import recording_of
from dashboard.turns.models import Turn
from tests.dashboard.gateway.served.conftest import turn_of
from tests.dashboard.gateway.served.gate import Gate
from tests.dashboard.gateway.served.upstream import Reply, called, said, whole

TOOLS = [{"type": "function", "function": {"name": "look"}}]


@pytest.fixture
def signed_in(token):
    client = Client()
    client.force_login(User.objects.get(username=OPERATOR))
    return client


def test_stored_responses_are_shown_even_without_an_agent(gate, upstream, watched, signed_in):
    upstream.says(whole(None, "tool_calls", tool_calls=called('{"a": 1}')))
    for model in ("watched", f"{watched.connection.name}/m"):
        turn = turn_of(gate.ask(model=model, tools=TOOLS))
        assert signed_in.get("/").status_code == 200
        for page in ("", "/replay", "/attempts", "/sweep", "/replay/again"):
            answer = signed_in.get(f"/turns/{turn.id}{page}", follow=True)
            assert answer.status_code in (200, 404), (page, answer.status_code)
        assert turn.agent_name in signed_in.get(f"/turns/{turn.id}").content.decode()
        for part in ("", "/attempts", "/records", "/evaluations"):
            answer = signed_in.get(f"/api/v1/turns/{turn.id}{part}")
            assert answer.status_code == 200, (part, answer.content)
        assert signed_in.post(
            f"/api/v1/turns/{turn.id}/replay",
            {"mode": "verify"},
            content_type="application/json",
            headers={"Authorization": f"Bearer {gate.token}"},
        ).json()["verified"]


def test_a_stored_response_can_be_re_run_or_says_why_not(gate, upstream, watched):
    upstream.says(whole("Half", "length"))
    for model in ("watched", f"{watched.connection.name}/m"):
        turn = turn_of(gate.ask(model=model))
        again = json.dumps({"mode": "rerun", "overrides": {}}).encode()
        answer = gate.send("POST", f"/api/v1/turns/{turn.id}/replay", again, {})
        assert answer.status in (201, 400, 409, 422), answer.body
        more = json.dumps({"mode": "what_if", "overrides": {"limits": {"max_continuations": 2}}}).encode()
        answer = gate.send("POST", f"/api/v1/turns/{turn.id}/replay", more, {})
        assert answer.status in (200, 201), answer.body


@pytest.mark.usefixtures("imports_here")
def test_stored_responses_are_exported_and_imported_unchanged(gate, upstream, continued):
    upstream.says(whole(None, "tool_calls", tool_calls=called('{"a": 1}')))
    turn = turn_of(gate.ask(model="continued", tools=TOOLS))
    file = gate.get(f"/api/v1/turns/{turn.id}/export")
    assert file.status == 200
    answer = gate.send("POST", "/api/v1/turns/import", file.body, {})
    assert answer.status in (200, 201), answer.body
    again = Turn.objects.get(id=answer.json["id"])
    assert verify(recording_of(again)).verified


def test_an_observed_turn_shows_what_continuing_would_have_done(gate, upstream, watched):
    upstream.says(whole("Half", "length"))
    recording = recording_of(turn_of(gate.ask(model="watched")))
    more = replace(recording.policy, limits=Limits())
    assert what_if(recording, more).undecidable


def test_usage_not_counted_by_a_provider_is_not_shown_as_free(gate, upstream, watched):
    maker = User.objects.get(username=OPERATOR)
    for stream in (True, False):
        _, secret = key_create(project=watched.project, by=maker, name=f"{stream}", tokens_per_minute=10)
        keyed = Gate(gate.address, secret)
        upstream.says(said("word " * 100) if stream else whole("word " * 100).replace(b'"usage"', b'"use"'))
        assert keyed.ask(model="watched", stream=stream).status == 200
        assert keyed.ask(model="watched", stream=stream).status == 429


def test_calls_are_queued_where_their_connection_is_limited(gate, agent_at, connected):
    limited = connected(name="limited", max_concurrent_calls=1)
    agent_at("sim-script", connection=limited, name="helper")
    with ThreadPoolExecutor(4) as clients:
        answers = list(clients.map(lambda _: gate.ask(model="helper"), range(4)))
    assert [answer.status for answer in answers] == [200] * 4
    assert Turn.objects.filter(status="completed").count() == 4


@pytest.mark.parametrize("answer", ["cut", "failed"])
def test_an_ending_of_an_observed_call_is_attributed_to_no_policy(gate, upstream, watched, signed_in, answer):
    said = {"limits": {"max_continuations": 3}, "error_policy": {"preset": "retry_all"}}
    watched.policy = policy_create(project=watched.project, name="three", **said).policy
    watched.save()
    upstream.says(
        whole("Half", "length") if answer == "cut" else Reply([b"{}"], status=500, content_type="application/json")
    )
    turn = turn_of(gate.ask(model="watched"))
    stop, why = stop_setting_of(turn), derivation_of(turn)
    assert stop is None, "what ran out is what the caller asked for, and its program decides about errors"
    assert why is not None
    how = "an observed call is not continued" if answer == "cut" else "the program that made the call did not try again"
    assert how in "\n".join(why.lines)
    assert "policy three" not in "\n".join(why.lines)
    now = timezone.now()
    assert ledger_of(watched.project, since=now - timedelta(days=1), now=now).lines == ()
    assert "observed only" in signed_in.get(f"/turns/{turn.id}").content.decode()
