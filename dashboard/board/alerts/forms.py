"""What people type to make or change an alert."""

from typing import Any, ClassVar

from django import forms
from django.core.exceptions import ValidationError
from django.core.validators import validate_email

from agentcore.quoting import quoted
from dashboard.board.alerts.models import Alert
from dashboard.board.alerts.rules import unit_words
from dashboard.board.selectors import DIMENSIONS
from dashboard.platform.form_errors import FieldErrors
from dashboard.platform.number_bounds import with_bounds_of_model

FIELDS = ("name", "metric", "condition", "number", "window_minutes", "least_turns", *DIMENSIONS, "emails")


class Addresses(forms.CharField):
    """E-mail addresses by comma, or one a line."""

    widget = forms.Textarea(attrs={"rows": 2, "placeholder": "oncall@example.com", "autocomplete": "off"})

    def prepare_value(self, value: Any) -> Any:
        return ", ".join(value) if isinstance(value, list) else value

    def clean(self, value: Any) -> Any:
        parts = [part for part in str(super().clean(value)).replace(",", " ").split() if part]
        for part in parts:
            try:
                validate_email(part)
            except ValidationError as error:
                raise ValidationError(f"{quoted(part)} is not an e-mail address.") from error
        return list(dict.fromkeys(parts))


class AlertForm(FieldErrors, forms.ModelForm):  # type: ignore[type-arg]
    """`values`: what there is of each of DIMENSIONS, to choose from."""

    emails = Addresses(label="E-mail to", required=False, help_text="One address per line.")

    class Meta:
        model = Alert
        fields = FIELDS
        labels: ClassVar = {"window_minutes": "Window", "least_turns": "Minimum turns"}
        widgets: ClassVar = {
            "name": forms.TextInput(attrs={"placeholder": "Answers are cut off", "autocomplete": "off"}),
            "number": forms.NumberInput(attrs={"min": 0, "step": "any"}),
            "least_turns": forms.NumberInput(attrs={"min": 0}),
        }
        help_texts: ClassVar = {
            "number": "Percent for rates, rises and falls; seconds for latency; US dollars for the price; "
            "otherwise a count.",
            "window_minutes": "A turn counts from its start. Choose a window longer than a turn takes.",
            "least_turns": "With fewer ended turns in the window, a rate or a change is not evaluated.",
        }

    def __init__(self, *args: Any, values: dict[str, list[str]], **kwargs: Any) -> None:
        super().__init__(*args, **{"auto_id": "alert-%s", **kwargs})
        with_bounds_of_model(self)
        unit = unit_words(str(self["metric"].value()), str(self["condition"].value()))
        metric: Any = self.fields["metric"]
        metric.choices = [("", "Choose a metric"), *(choice for choice in metric.choices if choice[0])]
        self.fields["number"].label = f"Threshold ({unit})" if unit else "Threshold"
        for name in DIMENSIONS:
            # Who knows the name of what has no turns yet may write it into an address.
            chosen = (getattr(self.instance, name), self.initial.get(name), self.data.get(name))
            known = sorted({*values[name], *(str(one) for one in chosen if one)})
            self.fields[name] = forms.ChoiceField(
                required=False, choices=[("", "All"), *((one, one) for one in known)], label=name.capitalize()
            )

    def add(self, error: ValidationError) -> None:
        """What the service found, by field."""
        self.add_error(None, error)
