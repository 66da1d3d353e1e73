"""What people type to make or change a webhook."""

from typing import Any, ClassVar

from django import forms
from django.core.exceptions import ValidationError

from agentcore.reasons import NormalizedStopReason, StopReason, TurnStatus
from dashboard.exports.webhooks.events import EVENTS
from dashboard.exports.webhooks.models import Webhook
from dashboard.platform.form_errors import FieldErrors
from dashboard.turns.models import UNFINISHED

ENDED = [status.value for status in TurnStatus if status.value not in UNFINISHED]


def _choices(label: str, words: list[tuple[str, str]], *, required: bool = False) -> forms.MultipleChoiceField:
    return forms.MultipleChoiceField(label=label, choices=words, required=required, widget=forms.CheckboxSelectMultiple)


class WebhookForm(FieldErrors, forms.ModelForm):  # type: ignore[type-arg]
    """Filters that are left empty let every turn that ended through."""

    events = _choices("Events", list(EVENTS.items()), required=True)
    statuses = _choices("Status", [(word, word) for word in ENDED])
    stop_reasons = _choices("Agent stop reason", [(one.value, one.value) for one in StopReason])
    model_stop_reasons = _choices("Model stop reason", [(one.value, one.value) for one in NormalizedStopReason])

    class Meta:
        model = Webhook
        fields = ("name", "url", "events", "statuses", "stop_reasons", "model_stop_reasons")
        widgets: ClassVar = {
            "name": forms.TextInput(attrs={"placeholder": "on-call", "autocomplete": "off"}),
            "url": forms.URLInput(attrs={"placeholder": "https://example.com/hooks/whystop", "autocomplete": "off"}),
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{"auto_id": "webhook-%s", **kwargs})
        self.fields["events"].error_messages["required"] = "Choose at least one event."

    def add(self, error: ValidationError) -> None:
        """What the service found, by field; a name that is taken belongs to none."""
        self.add_error(None, error)
