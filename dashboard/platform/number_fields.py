"""Fields of forms that read a number as pages write it: `120,000`, and plain digits. Any other text is no number."""

from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from agentcore.number_format import read_number


class _AsShown(forms.Field):
    def to_python(self, value: Any) -> Any:
        if isinstance(value, str) and value.strip():
            if read_number(value) is None:
                raise ValidationError(self.error_messages["invalid"], code="invalid")
            value = value.strip().replace(",", "")
        return super().to_python(value)


class _WholeAsShown(_AsShown, forms.IntegerField):
    """The form library takes `4.0` for a whole number, which no page shows."""

    def to_python(self, value: Any) -> Any:
        if isinstance(value, str) and "." in value:
            raise ValidationError(self.error_messages["invalid"], code="invalid")
        return super().to_python(value)


class _FloatAsShown(_AsShown, forms.FloatField):
    pass


class _DecimalAsShown(_AsShown, forms.DecimalField):
    pass


_READ_SO: dict[type[forms.Field], type[forms.Field]] = {
    forms.IntegerField: _WholeAsShown,
    forms.FloatField: _FloatAsShown,
    forms.DecimalField: _DecimalAsShown,
}


def read_numbers_as_shown(form: forms.BaseForm) -> None:
    """Have all numbers of a form read so, also those that its model or the admin made."""
    for field in form.fields.values():
        field.__class__ = _READ_SO.get(type(field), type(field))
