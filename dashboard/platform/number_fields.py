"""Numbers in forms are read as pages write them: `120,000`, and plain digits. Any other text is no number."""

from functools import partial
from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from agentcore.number_format import read_number


def is_whole(field: forms.Field) -> bool:
    """Whether it takes whole numbers alone. The form library derives its other numbers from the whole ones."""
    return isinstance(field, forms.IntegerField) and not isinstance(field, forms.FloatField | forms.DecimalField)


def read_numbers_as_shown(form: forms.BaseForm) -> None:
    """Have all numbers of a form read so, also those that its model or the admin made."""
    for field in form.fields.values():
        if isinstance(field, forms.IntegerField):
            field.to_python = partial(_read, field)  # type: ignore[method-assign]


def _read(field: forms.IntegerField, typed: Any) -> Any:
    if isinstance(typed, str) and typed.strip():
        number = read_number(typed)
        if number is None or (is_whole(field) and isinstance(number, float)):
            raise ValidationError(field.error_messages["invalid"], code="invalid")
        typed = typed.replace(",", "")
    return type(field).to_python(field, typed)
