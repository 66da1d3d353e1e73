"""Whether a caller's JSON Schema can be judged by."""

from typing import Any

from django.core.exceptions import ValidationError

from dashboard.agents.validation import json_schema_valid


def schema_fault(schema: Any) -> str | None:
    """What is wrong with it, in words; None: nothing."""
    try:
        json_schema_valid(schema)
    except ValidationError as error:
        return " ".join(error.messages)
    return None
