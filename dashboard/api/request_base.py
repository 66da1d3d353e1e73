"""The base class of request schemas: strict types, known fields only, and text that Postgres can store."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from pydantic import (
    AfterValidator,
    AliasChoices,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    Strict,
    WithJsonSchema,
    model_validator,
)
from pydantic_core import PydanticCustomError

from agentcore.quoting import shortened
from dashboard.api import policy_openapi
from dashboard.platform.one_line import is_one_line


def _storable(value: Any) -> Any:
    """Postgres keeps no U+0000, which no name, prompt or schema needs."""
    if "\x00" in _text_of(value):
        raise PydanticCustomError("nul", "The text must not contain the character U+0000.")
    return value


def _one_line(value: str) -> str:
    if not is_one_line(value):
        raise PydanticCustomError("one_line", "The text must be one line without control characters.")
    return value


def _written(value: Any) -> Any:
    """A moment as text; a number could be seconds or milliseconds."""
    if not isinstance(value, str) or value.strip().lstrip("+-").replace(".", "", 1).isdigit():
        raise PydanticCustomError("moment", "It must be a date and time as text, such as 2030-01-31T12:00:00Z.")
    return value


def whole(value: Any) -> Any:
    """JSON has one kind of numbers: 3.0 is the integer 3."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _text_of(value: Any) -> str:
    """All the text in a value, keys included."""
    if isinstance(value, Mapping):
        return "".join(_text_of(part) for item in value.items() for part in item)
    return "".join(map(_text_of, value)) if isinstance(value, list) else value if isinstance(value, str) else ""


Text = Annotated[str, AfterValidator(_storable)]
Line = Annotated[str, AfterValidator(_storable), AfterValidator(_one_line)]  #: a name, as forms take it
Whole = Annotated[int, BeforeValidator(whole)]  #: bounds stand before the validator, or no schema has them
Id = Annotated[UUID, Field(strict=False)]  #: JSON has no UUIDs but their text
Moment = Annotated[datetime, BeforeValidator(_written), Strict(False)]
Object = Annotated[dict[str, Any], AfterValidator(_storable), WithJsonSchema({"type": "object"})]
Limits = Annotated[dict[str, Any], AfterValidator(_storable), WithJsonSchema(policy_openapi.limits_schema())]
ErrorPolicy = Annotated[dict[str, Any], AfterValidator(_storable), WithJsonSchema(policy_openapi.error_policy_schema())]
Envelope = Annotated[dict[str, Any], AfterValidator(_storable), WithJsonSchema(policy_openapi.envelope_schema())]
Retention = Annotated[dict[str, Any], AfterValidator(_storable), WithJsonSchema(policy_openapi.retention_schema())]
Criterion = Annotated[dict[str, Any], AfterValidator(_storable), WithJsonSchema(policy_openapi.criterion_schema())]


class Body(BaseModel):
    """What all bodies have in common."""

    model_config = ConfigDict(strict=True, extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _known(cls, given: Any) -> Any:
        if isinstance(given, Mapping):
            unknown = next((name for name in given if name not in cls.known_names()), None)
            if unknown is not None:
                known = ", ".join(cls.model_fields)
                context = {"field": shortened(str(unknown)), "known": known}
                raise PydanticCustomError(
                    "unknown_field", "There is no field “{field}”; the fields are {known}.", context
                )
        return given

    @classmethod
    def known_names(cls) -> set[str]:
        aliases = (field.validation_alias for field in cls.model_fields.values())
        choices = {str(name) for alias in aliases if isinstance(alias, AliasChoices) for name in alias.choices}
        return {*cls.model_fields, *choices}

    def given(self) -> dict[str, Any]:
        """The fields that were sent and are not null, by name."""
        return self.model_dump(exclude_unset=True, exclude_none=True)
