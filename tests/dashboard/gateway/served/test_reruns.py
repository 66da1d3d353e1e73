"""A re-run asks what the recorded call asked, in every caller's dialect at every provider's: the requests are the same
byte for byte, but for the limit that is changed.

The provider is the simulator behind a recorder of this test's own, which keeps the bytes that came.
"""

import json
from collections.abc import Iterator
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from django.core.exceptions import ValidationError

from agentcore.providers import PROVIDERS
from dashboard.accounts.models import User
from dashboard.accounts.services import OPERATOR
from dashboard.agents.models import Agent, Connection
from dashboard.policies.field_sources import sources_of
from dashboard.policies.predictions.models import Prediction
from dashboard.policies.suggestions.relatives import relatives_of
from dashboard.replay.lineage import changes
from dashboard.replay.rerun_changes import RerunChanges
from dashboard.replay.rerun_service import turn_go_on, turn_rerun
from dashboard.replay.services import turn_verify
from dashboard.turns.history import recording_of
from dashboard.turns.models import Attempt, Turn
from dashboard.turns.sent_caps import cap_demanded
from tests.dashboard.driving import drive
from tests.dashboard.gateway.served.conftest import BASES, turn_of
from tests.dashboard.serving import provider_of
from tests.nightly import nightly

ASKED = "Why do agents stop?"
SCHEMA = {"type": "object", "properties": {"why": {"type": "string"}, "a": {"type": "string"}}, "required": ["why"]}
#: What each dialect of callers says to a provider of any other one.
PLAIN: dict[str, dict[str, Any]] = {
    "openai": {
        "messages": [{"role": "user", "content": ASKED}],
        "max_tokens": 60,
        "temperature": 0.2,
        "top_p": 0.5,
        "stop": ["@@"],
        "tools": [{"type": "function", "function": {"name": "look", "description": "Looks.", "parameters": SCHEMA}}],
        "tool_choice": "auto",
    },
    "openai_responses": {
        "input": ASKED,
        "max_output_tokens": 60,
        "temperature": 0.2,
        "top_p": 0.5,
        "tools": [{"type": "function", "name": "look", "description": "Looks.", "parameters": SCHEMA}],
        "tool_choice": "auto",
    },
    "anthropic": {
        "messages": [{"role": "user", "content": ASKED}],
        "max_tokens": 60,
        "temperature": 0.2,
        "stop_sequences": ["@@"],
        "metadata": {"user_id": "someone"},
        "tools": [{"name": "look", "description": "Looks.", "input_schema": SCHEMA}],
        "tool_choice": {"type": "auto"},
    },
    "gemini": {
        "contents": [{"role": "user", "parts": [{"text": ASKED}]}],
        "generationConfig": {
            "maxOutputTokens": 60,
            "temperature": 0.2,
            "topP": 0.5,
            "seed": 7,
            "stopSequences": ["@@"],
        },
        "tools": [{"functionDeclarations": [{"name": "look", "description": "Looks.", "parameters": SCHEMA}]}],
        "toolConfig": {"functionCallingConfig": {"mode": "AUTO"}},
    },
}
#: What it says more to a provider of its own dialect, in place of what `PLAIN` says under the same name.
MORE: dict[str, dict[str, Any]] = {
    "openai": {
        "max_tokens": None,
        "max_completion_tokens": 60,
        "seed": 7,
        "presence_penalty": 0.1,
        "frequency_penalty": 0.1,
        "logit_bias": {"50256": -100},
        "user": "someone",
        "metadata": {"b": "1", "a": "2"},
        "store": False,
        "service_tier": "auto",
        "reasoning_effort": "low",
        "response_format": {"type": "text"},
        "parallel_tool_calls": False,
        "prompt_cache_key": "k",
        "prefill": True,  # called as a setting of ours is, and a field all the same
        "unheard_of": [1, {"deep": 1e-7}],
    },
    "openai_responses": {
        "reasoning": {"effort": "low"},
        "text": {"verbosity": "low"},
        "metadata": {"b": "1", "a": "2"},
        "service_tier": "auto",
        "truncation": "auto",
        "parallel_tool_calls": False,
    },
    "anthropic": {
        "system": [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}],
        "top_k": 5,
        "service_tier": "auto",
        "thinking": {"type": "disabled"},
        "output_config": {"effort": "low"},
    },
    "gemini": {
        "generationConfig": {
            "maxOutputTokens": 60,
            "temperature": 0.2,
            "topK": 4,
            "thinkingConfig": {"thinkingBudget": 0},
            "responseMimeType": "text/plain",
            "mediaResolution": "MEDIA_RESOLUTION_LOW",
        },
        "safetySettings": [{"category": "HARM_CATEGORY_HARASSMENT", "threshold": "BLOCK_ONLY_HIGH"}],
        "labels": {"team": "a"},
    },
}
#: Before each change every dialect of a caller goes through, and every provider's; all pairs of the two at night.
PAIRS = [
    (caller, provider) if (n + m) % 3 == 0 else nightly(caller, provider)
    for n, caller in enumerate(PLAIN)
    for m, provider in enumerate(PROVIDERS)
]
BETA = {"anthropic-version": "2023-06-01", "anthropic-beta": "context-1m-2025-08-07"}
Call = tuple[str, str, bytes]  #: path, the caller's headers, body


class Recorder:
    """A provider that keeps what it was asked, and answers as the simulator does."""

    def __init__(self, behind: str) -> None:
        self.behind, self.address, self.calls = behind, "", list[Call]()

    async def answer(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        told = ", ".join(request.headers.get(name, "") for name in BETA)
        self.calls.append((request.path_qs, told, body))
        kept = {"content-type": "application/json"}
        async with (
            aiohttp.ClientSession() as session,
            session.post(self.behind + request.path_qs, data=body, headers=kept) as answer,
        ):
            kind = answer.headers["content-type"].partition(";")[0]
            return web.Response(body=await answer.read(), status=answer.status, content_type=kind)

    def take(self) -> list[Call]:
        taken, self.calls = self.calls, []
        return taken


@pytest.fixture
def recorder(simulator_url: str) -> Iterator[Recorder]:
    recording = Recorder(simulator_url.removesuffix("/v1"))
    with provider_of(recording.answer) as address:
        recording.address = address
        yield recording


@pytest.fixture
def call(gate, recorder, connected, agent_at):
    """Ask an agent at a provider in a caller's dialect: its turn, and the calls that were made for it."""

    def ask(
        caller: str, provider: str, mode: str = "continue", whole: bool = False, **changed: Any
    ) -> tuple[Turn, list[Call]]:
        at = connected(provider, base_url=recorder.address + BASES[provider])
        agent = agent_at("sim-essay", connection=at, gateway_mode=mode)
        body = {**PLAIN[caller], **(MORE[caller] if caller == provider else {}), **changed}
        if provider == "llama":  # whose tools are told in the prompt, in the order in which the database has them
            body["tools"] = body["tool_choice"] = None
        body = {name: value for name, value in body.items() if value is not None}
        if caller != "gemini":
            body |= {"model": agent.name, "stream": not whole}
        path = {
            "openai": "/v1/chat/completions",
            "openai_responses": "/v1/responses",
            "anthropic": "/v1/messages",
            "gemini": f"/v1beta/models/{agent.name}:streamGenerateContent?alt=sse",
        }[caller]
        if whole:
            path = path.replace("streamGenerateContent?alt=sse", "generateContent")
        answer = gate.send("POST", path, json.dumps(body).encode(), BETA)
        assert answer.status == 200, answer.body
        return turn_of(answer), recorder.take()

    return ask


def with_cap(call: Call, was: int, cap: int) -> Call:
    """The same call under another cap, whatever that is called."""
    path, told, body = call
    return path, told, body.replace(f":{was}".encode(), f":{cap}".encode())


@pytest.mark.parametrize(("caller", "provider"), PAIRS)
def test_a_re_run_sends_the_same_bytes_except_for_the_changed_limit(call, recorder, caller: str, provider: str):
    turn, calls = call(caller, provider)
    assert len(calls) > 1, "a truncated answer was continued"
    child = drive(turn_rerun(turn=turn, overrides={}))
    assert recorder.take() == calls
    assert turn_verify(turn=child).verified
    higher = drive(turn_rerun(turn=turn, overrides={"max_tokens": 90}))
    assert Prediction.objects.filter(child=higher).exists()
    raised = recorder.take()
    assert raised[0] == with_cap(calls[0], 60, 90) != calls[0]
    drive(turn_rerun(turn=child, overrides={"limits": {"max_continuations": 0}}))
    assert recorder.take() == calls[:1]
    second = next(record.seq for record in recording_of(turn).records if record.command.get("attempt") == 2)
    drive(turn_rerun(turn=turn, overrides={}, from_record=second))
    assert recorder.take() == calls[1:]


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_non_streaming_call_is_re_run_without_streaming(call, recorder, provider: str):
    turn, calls = call("openai", provider, whole=True)
    child = drive(turn_rerun(turn=turn, overrides={}))
    assert recorder.take() == calls
    assert turn_verify(turn=child).verified
    drive(turn_rerun(turn=child, overrides={}))
    assert recorder.take() == calls


def test_a_call_without_a_cap_is_re_run_without_one(gate, recorder, connected):
    connection = connected("openai", base_url=recorder.address + BASES["openai"])
    body = {**PLAIN["openai"], "model": f"{connection.name}/sim-essay", "stream": True}
    del body["max_tokens"]
    turn = turn_of(gate.send("POST", "/v1/chat/completions", json.dumps(body).encode(), {}))
    calls = recorder.take()
    child = drive(turn_rerun(turn=turn, overrides={"limits": {"max_continuations": 1}}))
    assert recorder.take() == calls
    assert (turn.max_tokens, child.max_tokens) == (None, None)
    capped = drive(turn_rerun(turn=turn, overrides={"max_tokens": 60}))
    assert json.loads(recorder.take()[0][2])["max_tokens"] == 60
    assert capped.max_tokens == 60


@pytest.mark.parametrize("noted", [True, "unknown"])
@pytest.mark.parametrize("forked", [False, True])
def test_an_explicit_cap_is_sent_whatever_an_older_release_or_a_log_recorded(call, recorder, noted, forked: bool):
    turn, _ = call("openai", "openai")
    turn.setup["setup"]["extra"]["uncapped"] = noted
    turn.save(update_fields=["setup"])
    child = drive(turn_rerun(turn=turn, overrides={}, from_record=1 if forked else None))
    assert (child.max_tokens, stated(child)) == (60, sent(recorder.take()))


def test_a_connection_of_another_dialect_is_sent_a_cap_only_where_it_requires_one(gate, recorder, connected, client):
    connection = connected("openai", base_url=recorder.address + BASES["openai"])
    connected("anthropic", name="other", base_url=recorder.address + BASES["anthropic"])
    body = {**PLAIN["openai"], "model": f"{connection.name}/sim-essay", "stream": True}
    del body["max_tokens"]
    turn = turn_of(gate.send("POST", "/v1/chat/completions", json.dumps(body).encode(), {}))
    recorder.take()
    child = drive(turn_rerun(turn=turn, overrides={}, words=RerunChanges(connection="other")))
    asked = sent(recorder.take())
    assert (child.max_tokens, stated(child)) == (asked[0], asked)
    assert turn_verify(turn=child).verified
    assert cap_demanded(child), "nobody set it, and this dialect demands one"
    assert next(source for source in sources_of(child) if source.field == "max_tokens").of == "anthropic"
    client.force_login(User.objects.get(username=OPERATOR))
    told = "16,384</b>. Not set by the caller; anthropic requires a limit."
    assert told in client.get(f"/turns/{child.id}").content.decode()
    assert client.get(f"/api/v1/turns/{child.id}/attempts").json()[0]["max_tokens_demanded"] is True
    back = drive(turn_rerun(turn=child, overrides={}, words=RerunChanges(connection=connection.name)))
    assert (sent(recorder.take())[0], back.max_tokens, cap_demanded(back)) == (None, None, False)
    capped = drive(turn_rerun(turn=turn, overrides={"max_tokens": 90}, words=RerunChanges(connection="other")))
    assert (sent(recorder.take())[0], cap_demanded(capped)) == (90, False)


def stated(turn: Turn) -> list[int | None]:
    """By each attempt of a turn."""
    return list(Attempt.objects.filter(turn_id=turn.id).order_by("index").values_list("max_tokens", flat=True))


def sent(calls: list[Call]) -> list[int | None]:
    bodies = [json.loads(body) for _, _, body in calls]
    return [body.get("max_tokens", body.get("max_completion_tokens")) for body in bodies]


@pytest.mark.parametrize("whole", [False, True])
def test_a_call_that_named_a_connection_and_no_agent_can_be_re_run(call, gate, recorder, client, whole: bool):
    _, _ = call("openai", "openai")
    connection = Connection.objects.get()
    Agent.objects.all().delete()
    body = {**PLAIN["openai"], "model": f"{connection.name}/sim-essay", "stream": not whole}
    turn = turn_of(gate.send("POST", "/v1/chat/completions", json.dumps(body).encode(), {}))
    calls = recorder.take()
    child = drive(turn_rerun(turn=turn, overrides={}))
    assert recorder.take() == calls
    assert (child.agent, child.overrides["connection"]) == (None, connection.name)
    drive(turn_rerun(turn=child, overrides={"max_tokens": 90}))
    assert recorder.take()[0] == with_cap(calls[0], 60, 90)
    assert turn in relatives_of(child)
    client.force_login(User.objects.get(username=OPERATOR))
    assert "Re-run live" in client.get(f"/turns/{turn.id}/replay?max_tokens=90").content.decode()
    Connection.objects.update(base_url="http://127.0.0.1:9/v1")
    with pytest.raises(ValidationError, match="no connection with its address"):
        turn_rerun(turn=turn, overrides={})


def test_an_observed_call_is_re_run_with_all_settings_of_its_caller(call, recorder, agent_at):
    turn, ((path, told, body),) = call("anthropic", "anthropic", mode="observe")
    drive(turn_rerun(turn=turn, overrides={}))
    ((again_path, again_told, again),) = recorder.take()
    assert (again_path, again_told) == (path, told)
    assert {**json.loads(again), "messages": []} == {**json.loads(body), "messages": []}


def test_fields_dropped_for_another_dialect_are_reported_and_prove_nothing(call, recorder, connected):
    turn, _ = call("anthropic", "anthropic")
    connected("openai", name="other", base_url=recorder.address + "/v1")
    child = drive(turn_rerun(turn=turn, overrides={"max_tokens": 2_000}, words=RerunChanges(connection="other")))
    ((_, _, body), *_) = recorder.take()
    assert not {"temperature", "top_k", "thinking"} & json.loads(body).keys()
    told = next(word for word in changes(child, turn) if word.startswith("without"))
    assert told == (
        "without the caller's anthropic-beta, metadata, output_config, service_tier, stop_sequences, temperature, "
        "thinking, tool_choice, top_k"
    )
    assert relatives_of(turn) == []
    assert not Prediction.objects.filter(child=child).exists()


def test_a_connection_changed_to_another_provider_is_reported_on_the_page(call, client):
    turn, _ = call("gemini", "gemini")
    Connection.objects.update(provider="openai")
    client.force_login(User.objects.get(username=OPERATOR))
    html = client.get(f"/turns/{turn.id}/replay/again").content.decode()
    assert "The connection has changed since this turn began (provider" in html
    assert "is not sent what the caller also set: generationConfig, labels, safetySettings, toolConfig." in html


@pytest.mark.parametrize("dialect", list(PLAIN))
def test_a_live_continuation_uses_all_settings_of_the_caller(call, recorder, dialect: str):
    turn, calls = call(dialect, dialect)
    more = {"limits": {"max_continuations": 9, "max_total_completion_tokens": 2_000}}
    drive(turn_go_on(turn=turn, overrides=more))
    assert settings(recorder.take()[0]) == settings(calls[-1])


def settings(call: Call) -> tuple[str, str, dict[str, Any]]:
    """A call without its conversation."""
    path, told, body = call
    said = {"messages", "input", "contents", "system", "systemInstruction", "instructions"}
    return path, told, {name: value for name, value in json.loads(body).items() if name not in said}
