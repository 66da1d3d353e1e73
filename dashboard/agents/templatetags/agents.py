"""`{{ field|setting }}`: what a form's field is set to, in words, for those who may not change it."""

from typing import Any

from django import forms, template

register = template.Library()


@register.filter
def setting(field: forms.BoundField) -> str:
    """Empty where nothing is set."""
    value: Any = field.value()
    if isinstance(field.field, forms.ModelChoiceField):
        return str(field.field.to_python(value) or "")
    if isinstance(field.field, forms.ChoiceField) and not isinstance(value, list):
        return str(dict(field.field.choices).get(value, value or ""))  # type: ignore[arg-type]
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(value) if isinstance(value, list) else str("" if value is None else value)
