"""What evaluations before revision 10 of the rules hold in their sentence alone. No other module reads a sentence of
ours: a test looks for it.

Two things had no value of their own: that the resolver of an error's context failed, and which part of a structured
answer broke its schema. Evaluations by later rules store them in `context`, and their sentence is not read.
"""

from collections.abc import Mapping
from typing import Any

from agentcore.criteria.incomplete_answers import stores_quoted_values
from agentcore.machine.error_context import UNRESOLVED


def unresolved_in(evaluation: Mapping[str, Any], revision: int | None) -> str:
    """Why the resolver of an error's context failed, of a recorded evaluation of the error policy; empty if it did not.
    `revision`: of the rules that the evaluation was made by."""
    if stores_quoted_values(revision):
        return str(evaluation["context"].get("unresolved", ""))
    reason = str(evaluation["reason"])
    return reason if reason.startswith(UNRESOLVED) else ""


def violations_in(evaluation: Mapping[str, Any], revision: int | None) -> str:
    """What a structured answer broke of its schema, of a recorded evaluation of the envelope criterion. `revision`: of
    the rules that the evaluation was made by."""
    if stores_quoted_values(revision):
        return str(evaluation["context"].get("violations", ""))
    return str(evaluation["reason"]).rpartition("; ")[0]
