"""Validates what keys may open, the names of models, and the JSON Schemas of callers."""

from collections.abc import Collection, Iterable
from typing import Any

from django.core.exceptions import ValidationError

from agentcore.quoting import quoted
from dashboard.agents.validation import json_schema_valid, model_valid

MOST_ENTRIES = 100
TRACES = "otlp"  #: what a key's scope names where it may send traces (`dashboard.ingest`)
MOST_CHARACTERS = 265  #: of a connection's name, a slash and a model's


def is_model(name: str) -> bool:
    """Whether anything can be asked for by this name."""
    try:
        model_valid(name)
    except ValidationError:
        return False
    return bool(name)


def scope_clean(scope: Iterable[str], *, agents: Collection[str], connections: Collection[str]) -> list[str]:
    """The entries, each once, in their order. Raises `ValidationError` for what names nothing there is."""
    entries = list(dict.fromkeys(entry.strip() for entry in scope if entry.strip()))
    if len(entries) > MOST_ENTRIES:
        raise ValidationError({"scope": f"A key may name at most {MOST_ENTRIES} agents and models."})
    faults = [fault for entry in entries if (fault := _fault(entry, agents, connections)) is not None]
    if faults:
        raise ValidationError({"scope": faults[:5]})
    return entries


def _fault(entry: str, agents: Collection[str], connections: Collection[str]) -> str | None:
    connection, slash, model = entry.partition("/")
    if len(entry) > MOST_CHARACTERS:
        return f"{quoted(entry)} is too long for a name."
    if not slash:
        known = entry in agents or entry == TRACES
        named = f"an agent's name, connection/model, connection/* or {TRACES}"
        return None if known else f"There is no agent {quoted(entry)}. Write {named}."
    if connection not in connections:
        return f"There is no connection {quoted(connection)}; create it first, or choose another."
    return None if model else f"{quoted(entry)} does not name a model: write {connection}/* for all of them."


def schema_fault(schema: Any) -> str | None:
    """What is wrong with a caller's JSON Schema, in words; None: nothing."""
    try:
        json_schema_valid(schema)
    except ValidationError as error:
        return " ".join(error.messages)
    return None
