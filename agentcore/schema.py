"""A ready JSON Schema validator for `Policy.validate`, for programs that have the package `jsonschema-rs`; and what is
checked of a schema before it is compiled.

The package is imported when the validator is made, so the core itself does not need it.
"""

import json
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import islice
from typing import Any

from agentcore.argument_validation import CoreError, WrongInput, door
from agentcore.json_values import is_json
from agentcore.policy import Validator, Violation
from agentcore.schema_cost import AGAIN, Names, beside, steps
from agentcore.schema_size import BACKTRACKS, Sizes, TooMuchWork, Walk, check, parts_of, walked

MOST_UNFOLDED = 5_000  #: subschemas that are written out, of which each takes some 10 to 50 µs and 4 KB
#: Why a schema is refused before it is compiled.
UNFOLDED = (
    f"The subschemas beside unevaluatedProperties and unevaluatedItems may be at most {MOST_UNFOLDED:,}, each counted "
    "as often as references lead to it, and may not lead back to themselves. Refer to fewer, or leave out unevaluated…."
)


def check_before_compiling(schema: Any) -> None:
    """Raises `TooMuchWork` for a schema that would take too long, or too much memory, to compile."""
    check(schema)
    if any(map(_is_asking, parts_of(schema))):
        _Unfolding(schema).check()


def _is_asking(part: Any) -> bool:
    return isinstance(part, Mapping) and any(word in part for word in AGAIN)


class _Unfolding:
    """How often compiling a schema follows its references, counted before it is compiled.

    For `unevaluatedProperties` and `unevaluatedItems` a validator needs to know what the subschemas beside them judge.
    It writes these out anew for each of them, along every path of references: 20 subschemas that refer to the next one
    twice are a million, and compiling cannot be stopped. All else is compiled once, however often it is referred to.
    """

    def __init__(self, schema: Any) -> None:
        self._names = Names(schema)
        self._known: dict[int, int] = {}

    def check(self) -> None:
        taken = 0
        for part in filter(_is_asking, parts_of(self._names.root)):
            known = self._known.get(id(part))
            taken = _bounded(taken + (walked(self._unfolded(part)) if known is None else known))

    def _unfolded(self, schema: Mapping[str, Any]) -> Walk:
        """How many subschemas judge the same value, itself included."""
        self._known[id(schema)] = MOST_UNFOLDED + 1  # for who leads back to it meanwhile
        taken = 1
        for part in beside(schema, self._names):
            known = self._known.get(id(part)) if isinstance(part, Mapping) else 1
            taken = _bounded(taken + ((yield self._unfolded(part)) if known is None else known))
        self._known[id(schema)] = taken
        return taken


def _bounded(taken: int) -> int:
    if taken > MOST_UNFOLDED:
        raise TooMuchWork(UNFOLDED)
    return taken


MOST_BREACHES = 20  #: The maximum number of violations listed for one value.
#: Steps up to which all breaches are listed: the validator makes its whole list at once, 50 µs for each breach.
_LISTED = 5_000
#: The same, times the size of the value: each breach that the validator makes has a copy of what breaks the schema.
_COPIED = 500_000
_SHORT = 20_000  #: characters of a schema that is kept with many others


@door
def jsonschema_rs_validator() -> Validator:
    """A validator of JSON Schema: `Policy(validate=jsonschema_rs_validator())`.

    Only references within the schema itself are followed; nothing is ever fetched. The validator raises `CoreError` at
    the first use of a schema with any other reference, of an invalid schema, and of one that needs more than
    `MOST_STEPS` steps for a value. At most 256 compiled schemas are cached, 8 of them long. Raises `CoreError` if the
    package is not installed.
    """
    try:
        import jsonschema_rs
    except ImportError as error:
        raise CoreError("jsonschema_rs_validator needs the package jsonschema-rs; it is not installed.") from error

    options = jsonschema_rs.FancyRegexOptions(backtrack_limit=BACKTRACKS)

    def compiled(schema: str) -> Any:
        read = json.loads(schema)
        check_before_compiling(read)
        return jsonschema_rs.validator_for(read, retriever=_refuse, pattern_options=options)

    short, long = lru_cache(maxsize=256)(compiled), lru_cache(maxsize=8)(compiled)

    def violations(schema: Mapping[str, Any], value: Any) -> list[Violation]:
        """The first `MOST_BREACHES` breaches of the schema by the value, in the validator's order; of a large value
        the first alone."""
        try:
            taken, text = steps(schema, value), json.dumps(schema, sort_keys=True, allow_nan=False)
            validator = (short if len(text) <= _SHORT else long)(text)
            few = taken <= _LISTED and taken * Sizes().of(value) <= _COPIED
            found = validator.iter_errors(value) if few else _first(validator, value, jsonschema_rs.ValidationError)
            return list(map(_violation, islice(found, MOST_BREACHES)))
        except CoreError:
            raise
        except (TypeError, ValueError) as error:
            raise _wrong(schema, value, error) from error

    return violations


def _violation(breach: Any) -> Violation:
    path = breach.schema_path
    return Violation(_pointer(breach.instance_path), _pointer(path), _keyword(path), breach.message)


def _wrong(schema: Any, value: Any, error: Exception) -> WrongInput:
    """What cannot be judged, by the argument's name. It keeps the name of the error's class, which histories tell."""
    words = "schema must be a JSON Schema" if is_json(value) or not is_json(schema) else "value must be JSON"
    kept: type[WrongInput] = type(type(error).__name__, (WrongInput,), {})
    return kept(f"{words}: {str(error).partition(chr(10))[0]}")


def _first(validator: Any, value: Any, breach: type[Exception]) -> Iterator[Any]:
    """The first breach alone, which the validator raises."""
    try:
        validator.validate(value)
    except breach as error:
        yield error


def _refuse(uri: str) -> Any:
    """The retriever of every schema: there is no other document."""
    raise ValueError(f"The schema refers to {uri}; only references within the schema itself are followed.")


def _pointer(path: list[str | int]) -> str:
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in path)


def _keyword(path: list[str | int]) -> str:
    return next((str(part) for part in reversed(path) if isinstance(part, str)), "schema")


__all__ = ["MOST_BREACHES", "jsonschema_rs_validator"]
