"""The first words of a verdict, which the page gives the colour and the shape of the reason."""

from dataclasses import dataclass

from dashboard.turns.templatetags.reasons import reason_label

#: How verdicts begin.
BEGINNINGS = ("Completed", "Cut off", "Stopped", "Failed", "Blocked", "Interrupted", "Undecidable")


@dataclass(frozen=True, slots=True)
class Leading:
    """A verdict in two parts; together they are the sentence, or the reason's label and the sentence."""

    first: str
    rest: str


def leading(verdict: str, reason: str) -> Leading:
    """Part a verdict after its first words; where these say nothing of the reason, its label stands before."""
    for beginning in BEGINNINGS:
        if verdict.startswith(beginning):
            return Leading(beginning, verdict[len(beginning) :])
    label = reason_label(reason)
    return Leading(f"{label[:1].upper()}{label[1:]}{':' if verdict else '.'}", f" {verdict}" if verdict else "")
