"""Names and other texts of one line: no line break, and no other control character, which pages show as a box."""

import re
from functools import partial
from typing import Any

from django import forms
from django.core.exceptions import ValidationError

#: What follows the name of the field. U+0000 has a sentence of its own, for the database refuses it in all texts.
ONE_LINE = "must be one line without control characters."
_OTHERS = re.compile("[\x01-\x1f\x7f-\x9f\u2028\u2029]")


def is_one_line(text: str) -> bool:
    return not _OTHERS.search(text)


def read_one_lines(form: forms.BaseForm) -> None:
    """Have each text field that pages show as one line refuse others."""
    for field in form.fields.values():
        if isinstance(field, forms.CharField) and isinstance(field.widget, forms.TextInput):
            field.to_python = partial(_read, field)  # type: ignore[method-assign]


def _read(field: forms.CharField, typed: Any) -> Any:
    text = type(field).to_python(field, typed)
    if isinstance(text, str) and not is_one_line(text):
        raise ValidationError(f"The text {ONE_LINE}", code="one_line")
    return text
