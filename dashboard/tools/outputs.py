"""What a tool returned, as text a model can read and Postgres can store."""

from typing import Any

from pydantic_core import to_json

from dashboard.platform.fields import storable_text


def text_of(output: Any) -> str:
    """Text as it is, anything else as JSON."""
    if isinstance(output, str):
        return output
    return to_json(output, bytes_mode="base64", inf_nan_mode="strings", fallback=str).decode()


def shown(output: Any, most: int) -> str:
    """At most `most` characters of it, with a note on what was cut, and no character that cannot be stored."""
    text = text_of(output)
    if len(text) > most:
        text = f"{text[:most]}\n… cut: {most:,} of {len(text):,} characters are shown, {len(text) - most:,} are not."
    return storable_text(text)
