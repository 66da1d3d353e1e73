"""JSON Schema for the core: it judges violations, this says what they are. Never fetches a remote `$ref`."""

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import jsonschema_rs

from agentcore.policy import Violation


def refuse(uri: str) -> Any:
    """The retriever of every schema: there is no other document."""
    raise ValueError(f"The schema refers to {uri}; only references within the schema itself are followed.")


@lru_cache(maxsize=256)
def _validator(schema: str) -> Any:
    return jsonschema_rs.validator_for(json.loads(schema), retriever=refuse)


def violations(schema: Mapping[str, Any], value: Any) -> list[Violation]:
    """Every breach of the schema by the value, in the validator's order."""
    validator = _validator(json.dumps(schema, sort_keys=True))
    return [
        Violation(_pointer(e.instance_path), _pointer(e.schema_path), _keyword(e.schema_path), e.message)
        for e in validator.iter_errors(value)
    ]


def _pointer(path: list[str | int]) -> str:
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in path)


def _keyword(path: list[str | int]) -> str:
    return next((str(part) for part in reversed(path) if isinstance(part, str)), "schema")
