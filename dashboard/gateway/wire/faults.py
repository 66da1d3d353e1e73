"""What a client is told instead of an answer: an error as a value, and the OpenAI API's form and words for it."""

from dataclasses import dataclass
from typing import Any

INVALID = "invalid_request_error"


@dataclass(frozen=True, slots=True)
class Fault:
    """An error as a value. `param`: where in the request it is; `headers` go out beside it."""

    status: int
    message: str
    type: str = INVALID
    code: str | None = None
    param: str | None = None
    headers: tuple[tuple[str, str], ...] = ()

    def told(self) -> dict[str, Any]:
        """`{error: {message, type, param, code}}`."""
        return {"error": {"message": self.message, "type": self.type, "param": self.param, "code": self.code}}


def missing(param: str) -> Fault:
    return Fault(400, f"Missing required parameter: '{param}'.", code="missing_required_parameter", param=param)


def wrong_type(param: str, expected: str, given: object) -> Fault:
    message = f"Invalid type for '{param}': expected {expected}, but got {kind_of(given)} instead."
    return Fault(400, message, code="invalid_type", param=param)


def wrong_value(param: str, given: object, supported: tuple[str, ...]) -> Fault:
    listed = ", ".join(f"'{word}'" for word in supported[:-1]) + f", and '{supported[-1]}'"
    message = f"Invalid value: '{str(given)[:60]}'. Supported values are: {listed}."
    return Fault(400, message, code="invalid_value", param=param)


def below(param: str, least: int, given: float) -> Fault:
    expected = f"Expected a value >= {least}, but got {str(given)[:30]} instead."
    message = f"Invalid '{param}': integer below minimum value. {expected}"
    return Fault(400, message, code="integer_below_min_value", param=param)


def unsupported(param: str, why: str) -> Fault:
    return Fault(400, f"Unsupported parameter: '{param}': {why}.", code="unsupported_parameter", param=param)


def kind_of(value: object) -> str:
    """A JSON value's kind, with its article, as OpenAI's errors name it."""
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case int():
            return "an integer"
        case float():
            return "a decimal"
        case str():
            return "a string"
        case list():
            return "an array"
        case _:
            return "an object"


def item_unknown(given: str) -> Fault:
    """Of an item that is named by its id alone, and is not stored here for this caller."""
    message = (
        f"Item with id '{given[:60]}' not found. Items are not persisted when `store` is set to false. Try again with "
        "`store` set to true, or remove this item from your input."
    )
    return Fault(404, message, param="input")
