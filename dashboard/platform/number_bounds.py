"""The bounds of numbers in forms, in the words of this product."""

from django import forms
from django.core.validators import DecimalValidator, MaxValueValidator, MinValueValidator
from django.utils.translation import gettext_lazy

BOUNDS = (MinValueValidator, MaxValueValidator)


def name_bounds() -> None:
    """How Django words a bound that has no sentence of its own."""
    MinValueValidator.message = gettext_lazy("It must be at least %(limit_value)s.")
    MaxValueValidator.message = gettext_lazy("It must be at most %(limit_value)s.")
    DecimalValidator.messages |= {
        "max_digits": "It may have at most %(max)s digits.",
        "max_decimal_places": "It may have at most %(max)s decimal places.",
        "max_whole_digits": "It may have at most %(max)s digits before the decimal point.",
    }


def with_bounds_of_model(form: forms.ModelForm) -> None:  # type: ignore[type-arg]
    """Drop the bounds that Django derives from the columns of a form's model: at least 0, even where the model says 1.
    The model's own, with their sentences, are checked in any case."""
    columns = {column.name: column for column in form._meta.model._meta.concrete_fields}
    for name, field in form.fields.items():
        if not isinstance(field, forms.IntegerField) or name not in columns:
            continue
        field.validators = [one for one in field.validators if not isinstance(one, BOUNDS)]
        least = [one.limit_value for one in columns[name].validators if isinstance(one, MinValueValidator)]
        if "min" in field.widget.attrs and least:
            field.widget.attrs["min"] = max(least)
