"""What a person says to an agent."""

from collections.abc import Mapping
from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from agentcore.policy import LIMIT_NAMES
from dashboard.agents.models import Agent
from dashboard.agents.validation import MAX_TOKENS, max_tokens_within
from dashboard.platform.form_errors import FieldErrors, NamedError, label_of
from dashboard.turns.conversations.models import Conversation


class PromptForm(FieldErrors, forms.Form):
    """One turn to be started. What the service finds wrong is put beside the field it is about."""

    input = forms.CharField(
        label="Prompt",
        strip=False,
        widget=forms.Textarea(attrs={"rows": 2, "placeholder": "What should it do?", "enterkeyhint": "send"}),
    )
    max_tokens = forms.IntegerField(
        label=LIMIT_NAMES["max_tokens"],
        required=False,
        min_value=1,
        max_value=MAX_TOKENS,
        widget=forms.NumberInput(attrs={"inputmode": "numeric", "step": 1}),
    )

    token_budget = forms.IntegerField(
        label="Conversation budget",
        required=False,
        widget=forms.NumberInput(attrs={"inputmode": "numeric", "step": 1, "placeholder": "none"}),
    )

    def __init__(self, agent: Agent, data: Mapping[str, Any] | None = None) -> None:
        super().__init__(data, auto_id="prompt_%s")
        self.agent = agent
        self.fields["max_tokens"].widget.attrs["placeholder"] = str(agent.max_tokens)

    def clean_input(self) -> str:
        """Spaces alone are no prompt."""
        text: str = self.cleaned_data["input"]
        if not text.strip():
            raise NamedError(f"{label_of(self, 'input')} is required.")
        return text

    def clean_max_tokens(self) -> int | None:
        value: int | None = self.cleaned_data["max_tokens"]
        if value is not None:
            connection = self.agent.connection
            max_tokens_within(value, ceiling=connection.ceiling, connection=connection.name)
        return value

    @property
    def numbers(self) -> list[forms.BoundField]:
        """The fields that hold a number; both may be left empty."""
        return [self["max_tokens"], self["token_budget"]]

    @property
    def overrides(self) -> dict[str, Any]:
        """What the turn is to have in place of the agent's own."""
        value = self.cleaned_data.get("max_tokens")
        return {} if value is None else {"max_tokens": value}

    def take_errors(self, error: ValidationError) -> None:
        """Show a service's error beside its field."""
        by_field = error.message_dict if hasattr(error, "error_dict") else {"": error.messages}
        for name, messages in by_field.items():
            for message in messages:
                self.add_error(name if name in self.fields else None, message)


class BudgetForm(FieldErrors, forms.Form):
    """The token budget of a conversation; empty: none."""

    token_budget = forms.IntegerField(
        label="Token budget",
        required=False,
        widget=forms.NumberInput(attrs={"inputmode": "numeric", "step": 1, "placeholder": "none"}),
    )

    def __init__(self, conversation: Conversation | None, data: Mapping[str, Any] | None = None) -> None:
        initial = {"token_budget": conversation.token_budget if conversation else None}
        super().__init__(data, auto_id="budget_%s", initial=initial)
