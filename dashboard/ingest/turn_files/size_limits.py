"""How many values a turn file may hold."""

from django.core.exceptions import ValidationError

from dashboard.agents.json_value_count import holds_more_values

MAX_VALUES = 1_000_000
TOO_MANY_VALUES = f"A turn file may hold {MAX_VALUES:,} values; this one holds more."


def check_values(content: bytes) -> None:
    """Raises `ValidationError` where the text would become more than `MAX_VALUES` values."""
    if holds_more_values(content, MAX_VALUES):
        raise ValidationError(TOO_MANY_VALUES)
