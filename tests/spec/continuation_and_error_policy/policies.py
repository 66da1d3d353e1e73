"""The document's error policies as it words them, and what follows from its words: no line of this asks our code."""

from collections.abc import Mapping
from itertools import product
from typing import NamedTuple

TYPES = ("tool", "model", "validation", "rate_limit", "timeout", "unknown")


class Worded(NamedTuple):
    """A preset: what it says of each type of error, in the order of `TYPES`, and its max_retries."""

    handling: tuple[str, str, str, str, str, str]
    max_retries: int


PRESETS: Mapping[str, Worded] = {
    "stop_on_any_error": Worded(("stop", "stop", "stop", "stop", "stop", "stop"), 0),
    "retry_tool_errors": Worded(("retry", "stop", "retry", "retry", "retry", "stop"), 3),
    "ignore_tool_errors": Worded(("ignore", "stop", "ignore", "retry", "retry", "ignore"), 0),
    "retry_all": Worded(("retry", "retry", "retry", "retry", "retry", "retry"), 5),
}


class Case(NamedTuple):
    """What the document makes of one error: its handling and the sentence that gives the reason."""

    preset: str
    error: str
    failures: int
    handling: str
    reason: str


def _handled(said: str, failures: int, max_retries: int) -> str:
    if failures == 0:
        return "ignore"
    return "stop" if said == "retry" and failures >= max_retries else said


def _reason(error: str, handling: str, failures: int, max_retries: int) -> str:
    if failures == 0:
        return "No errors present"
    label = error[0].upper() + error[1:]
    sentences = {
        "stop": f"{label} error after {failures} consecutive failures (max: {max_retries})",
        "retry": f"{label} error, retrying ({failures}/{max_retries})",
        "ignore": f"{label} error ignored by policy",
    }
    return sentences[handling]


def cases() -> list[Case]:
    """Every preset, type of error and number of consecutive failures from 0 to 6."""
    found = []
    for (name, preset), (position, error), failures in product(PRESETS.items(), enumerate(TYPES), range(7)):
        handling = _handled(preset.handling[position], failures, preset.max_retries)
        found.append(Case(name, error, failures, handling, _reason(error, handling, failures, preset.max_retries)))
    return found
