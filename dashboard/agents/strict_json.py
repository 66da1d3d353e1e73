"""JSON from people and programs, as RFC 8259 and Postgres have it: what either refuses is refused here, in words."""

import json
from typing import Any

from pydantic_core import from_json

BEYOND = "a number is larger than any that can be kept, such as 1e999"


def read_strictly(text: str | bytes) -> Any:
    """The value. Raises `ValueError`; also for NaN, numbers out of range, endless nesting and halves of characters."""
    value = from_json(text, allow_inf_nan=False)
    try:
        json.dumps(value, allow_nan=False)  # 1e999 is read as a number that no JSON can hold
    except ValueError as error:
        raise ValueError(BEYOND) from error
    return value
