"""JSON that people type into forms: read as strictly as what programs send, and kept in columns."""

import json
import re
from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from dashboard.platform.strict_json import read_strictly

NUL = "it contains the character U+0000, which PostgreSQL cannot store"


class StrictDecoder(json.JSONDecoder):
    """For fields of Django's forms: as `read_strictly`, and without U+0000, which no column takes."""

    def decode(self, s: str, *_: Any) -> Any:
        try:
            value = read_strictly(s)
        except ValueError as error:
            raise json.JSONDecodeError(str(error), s, 0) from error
        if "\\u0000" in json.dumps(value).replace(r"\\", ""):
            raise json.JSONDecodeError(NUL, s, 0)
        return value


def read_fields_strictly(form: forms.BaseForm) -> None:
    """Have all JSON of a form read so."""
    for field in form.fields.values():
        if isinstance(field, forms.JSONField):
            field.decoder = StrictDecoder


#: How the parser says that the text ends before its value does.
_ENDS_EARLY = re.compile(r"EOF while parsing .*at line (\d+) column (\d+)")


def _why(told: str) -> str:
    early = _ENDS_EARLY.match(told)
    return told if early is None else f"it ends too early (line {early[1]}, column {early[2]})"


class TypedJson(forms.JSONField):
    """JSON that somebody typed, read strictly. After a fault it is shown as it was typed, with what is wrong."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{**kwargs, "decoder": StrictDecoder})

    def bound_data(self, data: Any, initial: Any) -> Any:  # noqa: ARG002 - Django's signature
        return data

    def to_python(self, value: Any) -> Any:
        try:
            return super().to_python(value)
        except ValidationError as error:
            cause = error.__context__
            why = {"why": _why(str(getattr(cause, "msg", cause)))}
            raise ValidationError("This is not valid JSON: %(why)s.", code="json", params=why) from error


class JsonText(TypedJson):
    """JSON to type in. Nothing is shown as nothing, the rest indented."""

    widget = forms.Textarea(attrs={"rows": 4, "spellcheck": "false", "class": "vLargeTextField mono"})

    def prepare_value(self, value: Any) -> Any:
        if isinstance(value, str):
            return value
        return json.dumps(value, indent=2, ensure_ascii=False) if value else ""
