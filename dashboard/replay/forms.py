"""The numbers of a turn that a replay may change, as fields with their recorded values."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from agentcore.policy import Policy
from dashboard.turns.models import Turn

LIMITS = ("max_continuations", "max_total_completion_tokens", "max_total_output_chars")
NAMES = ("max_tokens", *LIMITS)


@dataclass(frozen=True, slots=True)
class Dial:
    """One number: what it was, and how far its slider goes. `unset` says what no number means, where it may be none."""

    name: str
    label: str
    unit: str
    recorded: int | None
    least: int
    slides_to: int
    unset: str = ""


def dials_of(turn: Turn, policy: Policy) -> tuple[Dial, ...]:
    """The dials of a turn; sliders reach well beyond what was recorded, and numbers typed in may go further."""
    limits = policy.limits
    total = limits.max_total_completion_tokens
    used = max(int(turn.output_tokens), turn.max_tokens)
    written = max(len(turn.output_text) * 2, 2_000)
    return (
        Dial("max_tokens", "max tokens", "tokens per call", turn.max_tokens, 1, 4 * used),
        Dial("max_continuations", "continuations", "per turn", limits.max_continuations, 0, 20),
        Dial(
            "max_total_completion_tokens",
            "total completion tokens",
            "tokens per turn",
            total,
            1,
            8 * used,
            "" if total else "4 × max_tokens",
        ),
        Dial("max_total_output_chars", "output characters", "per turn", limits.max_total_output_chars, 1, written),
    )


class BudgetForm(forms.Form):
    """Each number is optional: left out, it stays as recorded."""

    def __init__(self, dials: tuple[Dial, ...], data: Mapping[str, Any] | None) -> None:
        super().__init__(data, auto_id="budget_%s")
        self.dials = dials
        for dial in dials:
            self.fields[dial.name] = forms.IntegerField(
                label=dial.label,
                required=False,
                min_value=dial.least,
                error_messages={
                    "invalid": f"{dial.name} must be a whole number.",
                    "min_value": f"{dial.name} must be at least {dial.least}.",
                },
                widget=forms.NumberInput(attrs={"inputmode": "numeric", "placeholder": _placeholder(dial)}),
            )

    @property
    def rows(self) -> list[tuple[Dial, forms.BoundField, int]]:
        """Each dial with its field and where its slider stands."""
        return [(dial, self[dial.name], self._stands(dial)) for dial in self.dials]

    def _stands(self, dial: Dial) -> int:
        given = str(self[dial.name].value() or "")
        value = int(given) if given.isascii() and given.isdigit() else dial.recorded or dial.slides_to // 2
        return max(dial.least, min(value, dial.slides_to))

    @property
    def overrides(self) -> dict[str, Any]:
        """What differs from the recording, as services take it."""
        changed = {
            dial.name: value
            for dial in self.dials
            if (value := self.cleaned_data.get(dial.name)) is not None and value != dial.recorded
        }
        limits = {name: changed[name] for name in LIMITS if name in changed}
        tokens = {"max_tokens": changed["max_tokens"]} if "max_tokens" in changed else {}
        return {**tokens, **({"limits": limits} if limits else {})}

    def take_errors(self, error: ValidationError) -> None:
        """Show a service's error beside the field it names, or above all."""
        for message in error.messages:
            named = next((name for name in NAMES if message.startswith(name)), None)
            self.add_error(named, message)


def _placeholder(dial: Dial) -> str:
    return dial.unset or str(dial.recorded)
