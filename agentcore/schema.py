"""A ready JSON Schema validator for `Policy.validate`, for programs that have the package `jsonschema-rs`.

The package is imported when the validator is made, so the core itself does not need it.
"""

import json
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import islice
from typing import Any

from agentcore.errors import CoreError
from agentcore.policy import Validator, Violation
from agentcore.schema_cost import steps

MOST_BREACHES = 20  #: that are listed of one value
#: Steps up to which all breaches are listed: the validator makes its whole list at once, 50 µs for each breach.
_LISTED = 5_000


def jsonschema_rs_validator() -> Validator:
    """A validator of JSON Schema: `Policy(validate=jsonschema_rs_validator())`.

    Only references within the schema itself are followed; nothing is ever fetched. Another reference raises ValueError
    when the schema is first used, and so does a schema that would take more than `MOST_STEPS` to judge a value by.
    Compiled schemas are kept, at most 256 of them. Raises `CoreError` where the package is not installed.
    """
    try:
        import jsonschema_rs
    except ImportError as error:
        raise CoreError("jsonschema_rs_validator needs the package jsonschema-rs; it is not installed.") from error

    @lru_cache(maxsize=256)
    def compiled(schema: str) -> Any:
        return jsonschema_rs.validator_for(json.loads(schema), retriever=_refuse)

    def violations(schema: Mapping[str, Any], value: Any) -> list[Violation]:
        """The first `MOST_BREACHES` breaches of the schema by the value, in the validator's order; of a large value
        the first alone."""
        taken = steps(schema, value)
        validator = compiled(json.dumps(schema, sort_keys=True))
        if taken <= _LISTED:
            found = list(islice(validator.iter_errors(value), MOST_BREACHES))
        else:
            found = list(_first(validator, value))
        return [
            Violation(_pointer(e.instance_path), _pointer(e.schema_path), _keyword(e.schema_path), e.message)
            for e in found
        ]

    def _first(validator: Any, value: Any) -> Iterator[Any]:
        try:
            validator.validate(value)
        except jsonschema_rs.ValidationError as error:
            yield error

    return violations


def _refuse(uri: str) -> Any:
    """The retriever of every schema: there is no other document."""
    raise ValueError(f"The schema refers to {uri}; only references within the schema itself are followed.")


def _pointer(path: list[str | int]) -> str:
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in path)


def _keyword(path: list[str | int]) -> str:
    return next((str(part) for part in reversed(path) if isinstance(part, str)), "schema")


__all__ = ["MOST_BREACHES", "jsonschema_rs_validator"]
