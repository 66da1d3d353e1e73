"""The list of models (`/v1/models`): agents, aliases, and the models of connections that agents use."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from dashboard.agents.models import Agent
from dashboard.gateway.access.callers import Caller
from dashboard.gateway.models import Alias
from dashboard.gateway.routing import AWAY_FAULT
from dashboard.gateway.wire.faults import Fault
from dashboard.gateway.wire.gemini.address import METHODS
from dashboard.platform.db_threads import AWAY, in_database


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
