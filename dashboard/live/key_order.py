"""The order of names in a request. The database keeps none of a turn's settings, but a model reads the properties of a
schema in order, and writes them in it: a re-run says them as the recorded call did. A dialect that tells its tools in
the prompt's text (`llama`) tells their schemas in the database's order.
"""

import json
from typing import Any

from dashboard.turns.history import request_body_of
from dashboard.turns.models import Attempt, Turn

STREAMS = ("streamGenerateContent", "-stream")  #: of an address that is asked for pieces


def recorded_order(turn: Turn) -> Any:
    """The first request of the turn that this one runs again; None where there is none, or none that can be read."""
    if turn.parent_id is None:
        return None
    first = Attempt.objects.filter(turn_id=turn.parent_id).order_by("index").first()
    try:
        return None if first is None else json.loads(request_body_of(first))
    except ValueError:
        return None


def is_streamed(turn: Turn) -> bool:
    """Whether the turn's calls are: a re-run asks as the recorded call did, which a client of the gateway may have
    asked for a whole answer. Three dialects say so in the address."""
    if turn.parent_id is None:
        return True
    first = Attempt.objects.filter(turn_id=turn.parent_id).order_by("index").first()
    if first is None or any(word in first.request_url for word in STREAMS):
        return True
    sample = recorded_order(turn)
    return not isinstance(sample, dict) or bool(sample.get("stream", False))


def in_order_of(value: Any, sample: Any) -> Any:
    """The same value, with the names of its objects in the order that they have in `sample`. Another one follows the
    name that it follows in the value."""
    if isinstance(value, dict) and isinstance(sample, dict):
        return {name: in_order_of(value[name], sample.get(name)) for name in _names(value, sample)}
    if isinstance(value, list) and isinstance(sample, list):
        return [in_order_of(each, sample[place] if place < len(sample) else None) for place, each in enumerate(value)]
    return value


def _names(value: dict[str, Any], sample: dict[str, Any]) -> list[str]:
    names, before = [name for name in sample if name in value], None
    for name in value:
        if name not in sample:
            names.insert(0 if before is None else names.index(before) + 1, name)
        before = name
    return names
