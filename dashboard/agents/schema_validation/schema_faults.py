"""What is wrong with a JSON Schema, in words. It compiles the schema: `validator.fault_in` is for those of others."""

from typing import Any, Never

import jsonschema_rs

from agentcore.schema import check_before_compiling
from agentcore.schema_cost import steps
from agentcore.schema_size import TooMuchWork

_SIMPLE: tuple[Any, ...] = (0, {}, [])


def fault_of(schema: Any) -> str | None:
    """Why nothing can be judged by this object; None: something can."""
    try:
        check_before_compiling(schema)
        fault = _fault_of_compiling(schema)
        if fault is None:
            for value in _SIMPLE:
                steps(schema, value)
    except TooMuchWork as error:
        return str(error)
    return fault


def _fault_of_compiling(schema: Any) -> str | None:
    refused: list[str] = []

    def refuse(uri: str) -> Never:
        refused.append(uri)
        raise ValueError(uri)

    try:
        jsonschema_rs.validator_for(schema, retriever=refuse)
    except (jsonschema_rs.ValidationError, ValueError) as error:
        return _in_words(error, refused)
    return None


def _in_words(error: Exception, refused: list[str]) -> str:
    if refused:
        return f"The schema refers to “{refused[0]}”. Nothing is fetched: put it under “$defs” and refer to that."
    fault = str(getattr(error, "message", error)).splitlines()[0]
    place = "/".join(str(part) for part in getattr(error, "instance_path", ()))
    return f"This is not a JSON Schema{f' (at /{place})' if place else ''}: {fault.rstrip('.')}."
