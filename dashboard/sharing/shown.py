"""What a link shows: the turn as its page shows it, with nothing that leads further."""

from typing import Any

from dashboard.sharing.models import ShareLink
from dashboard.sharing.redaction import Redaction
from dashboard.turns.history import recording_of
from dashboard.turns.selectors import attempts_of
from dashboard.turns.shown import turn_shown


def shared_context(link: ShareLink) -> dict[str, Any]:
    """What the parts of the page are rendered from; redacted before any of them is."""
    page = turn_shown(link.turn)
    attempts = list(attempts_of(link.turn_id))
    if not link.redacted:
        return {"link": link, "page": page, "turn": page.turn, "attempts": attempts}
    redaction = Redaction.of(recording_of(link.turn), link.turn)
    redacted = redaction.value(page)
    return {
        "link": link,
        "page": redacted,
        "turn": redacted.turn,
        "attempts": [redaction.attempt(attempt) for attempt in attempts],
    }
