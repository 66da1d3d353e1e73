"""Reading a request's body strictly where a provider would refuse it, and leniently where one would shrug."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from dashboard.simulator import errors
from dashboard.simulator.request_values import Speaker

CEILING = 16_384  #: tokens; more is refused
UNLIMITED = 4_096  #: tokens, where the request sets no limit


def payload_of(body: bytes) -> Mapping[str, Any]:
    """The body as an object. Raises `RequestError` for anything else."""
    try:
        payload = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise errors.broken_json(str(error)) from error
    if not isinstance(payload, dict):
        raise errors.broken_json(f"it is a {type(payload).__name__}")
    return payload


def model_of(payload: Mapping[str, Any]) -> str:
    model = payload.get("model")
    if not isinstance(model, str):
        raise errors.wrong_type("model", "a string", model)
    return model


def messages_of(payload: Mapping[str, Any], param: str, speakers: Mapping[str, Speaker]) -> Sequence[Mapping[str, Any]]:
    """The messages under `param`, each an object with a role that the dialect has."""
    value = payload.get(param)
    if not isinstance(value, list):
        raise errors.wrong_type(param, "an array of objects", value)
    if not value:
        raise errors.no_messages(param)
    for index, message in enumerate(value):
        if not isinstance(message, dict):
            raise errors.wrong_type(f"{param}[{index}]", "an object", message)
        role = message.get("role")
        if not (isinstance(role, str) and role in speakers):
            raise errors.unknown_role(f"{param}[{index}]", role, tuple(speakers))
    return value


def budget_of(payload: Mapping[str, Any], *params: str, least: int = 1) -> int:
    """The output limit under the first of `params` that is set, in tokens."""
    for param in params:
        value = payload.get(param)
        if value is None:
            continue
        if not isinstance(value, int) or isinstance(value, bool):
            raise errors.wrong_type(param, "an integer", value)
        if value < least:
            raise errors.budget_too_small(param, value, least)
        if value > CEILING:
            raise errors.budget_too_large(param, value, CEILING)
        return value
    return UNLIMITED


def mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def mappings(value: object) -> list[Mapping[str, Any]]:
    """The objects in an array."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def names_of(tools: object, *path: str) -> tuple[str, ...]:
    """The names of tools, each under the keys of `path`."""
    found: list[Any] = mappings(tools)
    for key in path:
        found = [mapping(item).get(key) for item in found]
    return tuple(name for name in found if isinstance(name, str))


def text_of(content: object) -> str:
    """A message's text: a string, or the `text` of its parts."""
    if isinstance(content, str):
        return content
    texts = (part.get("text") for part in mappings(content))
    return "".join(text for text in texts if isinstance(text, str))


def written(value: object) -> str:
    """Arguments as text, which some dialects send as an object."""
    return value if isinstance(value, str) else json.dumps(value)
