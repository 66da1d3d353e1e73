"""What records hold in a stored sentence alone. No other module reads a sentence of ours: a test looks for it.

Two things have no value of their own in a record: that the resolver of an error's context failed, and which part of a
structured answer broke its schema.
"""

from collections.abc import Mapping
from typing import Any

from agentcore.machine.error_context import UNRESOLVED


def unresolved_in(evaluation: Mapping[str, Any]) -> str:
    """The sentence of an error policy that was not asked, for the resolver had nothing to tell; else empty."""
    reason = str(evaluation["reason"])
    return reason if reason.startswith(UNRESOLVED) else ""


def violations_in(evaluation: Mapping[str, Any]) -> str:
    """What a structured answer broke of its schema, as an evaluation says it before the rounds that were used."""
    return str(evaluation["reason"]).rpartition("; ")[0]
