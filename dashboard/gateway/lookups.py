"""Answers requests that take no call: the list of models (`/v1/models`) and stored responses (`/v1/responses/…`).

Listed are agents, aliases, and the models of connections that agents use.

Also holds the faults of unknown addresses, with what to change in the client, and of methods and callers that are
refused.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import parse_qs

from dashboard.agents.models import Agent
from dashboard.gateway import stored_responses
from dashboard.gateway.access.callers import Caller
from dashboard.gateway.access.refusals import Refusal
from dashboard.gateway.models import Alias
from dashboard.gateway.routing import AWAY_FAULT
from dashboard.gateway.serving.response_writer import ResponseWriter
from dashboard.gateway.wire.faults import Fault, unsupported
from dashboard.gateway.wire.gemini.address import METHODS
from dashboard.gateway.wire.gemini.dialect import GEMINI
from dashboard.platform.db_threads import AWAY, in_database

MODELS, RESPONSES, GEMINI_MODELS = "/v1/models", "/v1/responses", "/v1beta/models"
_OLLAMA = "/api/"
Scope = Mapping[str, Any]
_V1 = "Set the client's base URL to this address followed by /v1."
_BARE = "Set the client's base URL to this address without a path: this client adds /v1 itself."
_TWICE = "Remove /v1 from the end of the client's base URL: this client adds it itself."
_OPENAI = "Use an OpenAI client, and set its base URL to this address followed by /v1."
#: What to change in a client, by the path it asks for; the first that fits the whole path counts.
_ADVICE: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), words)
    for pattern, words in (
        (
            r"(/v1)?/api/(chat|copy|create|delete|embed|embeddings|generate|ps|pull|push|show|tags|version)",
            f"This gateway does not support Ollama's API. {_OPENAI}",
        ),
        (
            r"(/v1)?/v2/(chat|embed)|/v1/(chat|classify|detokenize|embed|tokenize)",
            f"This gateway does not support Cohere's API. {_OPENAI}",
        ),
        (r"(/v1)?/v2/rerank", "This gateway does not support Cohere's API. Use POST /v1/rerank."),
        (r"/v1/(openai/)?v1/.+", _TWICE),
        (r"(/.+)?/v1/messages(/count_tokens|/batches)?|(/anthropic)?/messages", _BARE),
        (r"/openai/deployments/.+", f"This gateway does not support Azure OpenAI's deployment paths. {_V1}"),
        (r"(/.+)?/chat/completions|(/openai)?/(responses|embeddings|completions)", _V1),
        (
            r"/model/.+/(converse|converse-stream|invoke|invoke-with-response-stream)",
            f"This gateway does not support Amazon Bedrock's API. {_OPENAI}",
        ),
        (
            r"/v1(beta1?)?/projects/.+:[A-Za-z]+",
            "This gateway does not support Vertex AI's API. Use the Gemini API: POST /v1beta/models/…:generateContent.",
        ),
        (
            r"/v1/(fim|agents|conversations)(/.*)?",
            "This gateway does not support this endpoint of Mistral's API. Use POST /v1/chat/completions.",
        ),
        (r"/(v1/)?metrics|/(traces|logs)|/v1/(traces|logs)/.+", "Send OTLP to /v1/traces and /v1/logs."),
    )
)


def advice_for(path: str) -> str:
    """What to change in the client, in sentences; empty where nothing is known of the path."""
    return next((words for pattern, words in _ADVICE if pattern.fullmatch(path.rstrip("/"))), "")


def refused_as(refusal: Refusal) -> Fault:
    headers: Mapping[str, str] = refusal.headers()
    return Fault(refusal.status, refusal.message, refusal.type, refusal.code, headers=tuple(headers.items()))


def unknown_address(scope: Scope, posted: Iterable[str]) -> Fault:
    advice = advice_for(scope["path"])
    message = (
        f"Unknown request URL: {scope['method']} {scope['path'][:200]}. {advice}{' ' if advice else ''}"
        f"This gateway answers {', '.join(f'POST {path}' for path in posted)}, GET {MODELS}, GET {MODELS}/…, "
        f"GET or DELETE {RESPONSES}/…, /v1/files and /v1/batches, "
        f"POST {GEMINI_MODELS}/…:{'|'.join(METHODS)} and GET {GEMINI_MODELS}"
    )
    return Fault(404, message, code="unknown_url")


def misplaced(scope: Scope) -> Fault | None:
    """The fault of a path that a client of another API asks for; None for any other. Pages may have the other paths, so
    these are only posted to; only Ollama's clients read below /api, where the REST API begins with /api/v1."""
    asks = scope["method"] == "POST" or scope["path"].startswith(_OLLAMA)
    advice = advice_for(scope["path"]) if asks else ""
    told = f"Unknown request URL: {scope['method']} {scope['path'][:200]}. {advice}"
    return Fault(404, told, code="unknown_url") if advice else None


def wrong_method(scope: Scope, allowed: str) -> Fault:
    message = f"{scope['path'][:200]} does not accept {scope['method']} requests. Use {allowed}."
    return Fault(405, message, code="method_not_supported", headers=(("allow", allowed.replace(" or ", ", ")),))


@dataclass(frozen=True, slots=True)
class ModelListFormat:
    """How an API tells a model, of which the OpenAI API's form is given; and how it tells the list of all."""

    model: Callable[[dict[str, Any]], dict[str, Any]]
    all: Callable[[list[dict[str, Any]]], dict[str, Any]]


def _as_gemini(model: dict[str, Any]) -> dict[str, Any]:
    name = {"name": f"models/{model['id']}", "baseModelId": model["id"], "displayName": model["id"]}
    return {**name, "version": "", "supportedGenerationMethods": list(METHODS)}


IN_OPENAIS_FORM = ModelListFormat(lambda model: model, lambda models: {"object": "list", "data": models})
IN_GEMINIS_FORM = ModelListFormat(_as_gemini, lambda models: {"models": models})


async def models_of(caller: Caller, wanted: str, form: ModelListFormat = IN_OPENAIS_FORM) -> bytes | Fault:
    """The list, or the one that is `wanted`."""
    try:
        models = await in_database(_listed, caller)
    except AWAY:
        return AWAY_FAULT
    if not wanted:
        return json.dumps(form.all([form.model(model) for model in models])).encode()
    found = next((model for model in models if model["id"] == wanted), None)
    if found is None:
        message = f"The model '{wanted[:200]}' does not exist"
        return Fault(404, message, code="model_not_found", param="model")
    return json.dumps(form.model(found)).encode()


def _listed(caller: Caller) -> list[dict[str, Any]]:
    listed: dict[str, dict[str, Any] | None] = {}
    for name, owner, created, allowed in _names(caller):
        told = {"id": name, "object": "model", "created": int(created.timestamp()), "owned_by": owner}
        listed.setdefault(name, told if allowed else None)
    return [told for told in listed.values() if told is not None]


def _names(caller: Caller) -> Iterator[tuple[str, str, datetime, bool]]:
    """Each name, whose it is, since when, and whether the caller may call it; of one name, what is called first."""
    agents = list(Agent.objects.filter(project=caller.project).select_related("connection"))
    for alias in Alias.objects.filter(project=caller.project).select_related("agent__connection", "connection"):
        named, at = (alias.agent.name, alias.agent.connection) if alias.agent else (None, alias.connection)
        if at is not None:
            model = alias.agent.model if alias.agent else alias.model or alias.name
            yield alias.name, at.name, alias.created_at, _may(caller, named, at.name, model)
    for agent in agents:
        owner = agent.connection.name
        yield agent.name, owner, agent.created_at, _may(caller, agent.name, owner, agent.model)
    for agent in agents:
        connection = agent.connection
        name = f"{connection.name}/{agent.model}"
        yield name, connection.name, connection.created_at, _may(caller, None, connection.name, agent.model)


def _may(caller: Caller, agent: str | None, connection: str, model: str) -> bool:
    return caller.allows(agent=agent, connection=connection, model=model) is None


async def lookup(scope: Scope, path: str, outgoing: ResponseWriter, caller: Caller, posted: Iterable[str]) -> None:
    """Answer a request that looks something up, or whose address is unknown."""
    listed = f"{path}/".startswith((f"{MODELS}/", f"{GEMINI_MODELS}/"))
    if listed:
        await _models(scope, outgoing, caller, posted)
    elif path.startswith(f"{RESPONSES}/") and path.count("/") == RESPONSES.count("/") + 1:
        await _kept(scope, outgoing, caller)
    else:
        await outgoing.fault(unknown_address(scope, posted))


async def _models(scope: Scope, outgoing: ResponseWriter, caller: Caller, posted: Iterable[str]) -> None:
    if scope["method"] not in ("GET", "HEAD"):
        is_unknown = scope["method"] == "POST" and ":" in scope["path"]  # `models/x:nope`: Gemini's form of a call
        await outgoing.fault(unknown_address(scope, posted) if is_unknown else wrong_method(scope, "GET"))
        return
    wanted = scope["path"].removeprefix(GEMINI_MODELS).removeprefix(MODELS).strip("/")
    answer = await models_of(caller, wanted, IN_GEMINIS_FORM if outgoing.door is GEMINI else IN_OPENAIS_FORM)
    if isinstance(answer, Fault):
        await outgoing.fault(answer)
    else:
        await outgoing.whole(200, answer)


async def _kept(scope: Scope, outgoing: ResponseWriter, caller: Caller) -> None:
    """An answer that was told before: read again, or forgotten."""
    answer_id = scope["path"].rstrip("/").rpartition("/")[2]
    query = parse_qs(scope.get("query_string", b"").decode("latin-1"))
    if scope["method"] not in ("GET", "DELETE"):
        answer: bytes | Fault = wrong_method(scope, "GET or DELETE")
    elif query.get("stream", ["false"])[0].lower() == "true":
        answer = unsupported("stream", "a stored answer is sent whole")
    else:
        answer = await (stored_responses.forget if scope["method"] == "DELETE" else stored_responses.read_again)(
            caller, answer_id
        )
    if isinstance(answer, Fault):
        await outgoing.fault(answer)
    else:
        await outgoing.whole(200, answer)
