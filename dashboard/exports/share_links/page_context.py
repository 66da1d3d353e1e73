"""The template context of a shared turn: its page without links into the application."""

from dataclasses import replace
from typing import Any

from agentcore.verdict import verdict_of
from dashboard.exports.share_links.models import ShareLink
from dashboard.exports.share_links.redaction import Redaction
from dashboard.policies.suggestions.remembered_suggestions import suggestion_lately
from dashboard.policies.suggestions.suggestion_text import because, sentence
from dashboard.turns.history import recording_of
from dashboard.turns.prices.selectors import price_of
from dashboard.turns.selectors import attempts_of
from dashboard.turns.turn_view import TurnView, turn_view


def shared_context(link: ShareLink, *, step: int | None = None) -> dict[str, Any]:
    """What the parts of the page are rendered from; redacted before any of them is, the steps as data too.

    `sealed` keeps the parts from leading to pages that a stranger may not see.
    """
    page = turn_view(link.turn, step=step)
    attempts = list(attempts_of(link.turn_id))
    if link.redacted:
        redaction = Redaction.of(recording_of(link.turn), link.turn)
        page = redaction.value(replace(page, verdict=_verdict_for_readers(page)))
        attempts = [redaction.attempt(attempt) for attempt in attempts]
    shown = {"page": page, "turn": page.turn, "attempts": attempts, "price": price_of(link.turn)}
    return {"link": link, "sealed": True, "limit_words": _limit_words(link), **shown}


def _verdict_for_readers(page: TurnView) -> str:
    """The sentence of a redacted page, which has no parts, without the advice to re-run: readers cannot."""
    told = verdict_of(page.shown.snapshot)
    return page.verdict if told is None else f"{told.happened} {told.helps}".rstrip()


def _limit_words(link: ShareLink) -> str:
    """What would have let the turn finish, by this turn and its re-runs: a stranger is told nothing of others, and
    starts no search among them. A redacted link leaves out what the re-run used."""
    said = suggestion_lately(link.turn, alone=True)
    if said is None or not said.known:
        return ""
    return sentence(said) if link.redacted else f"{sentence(said)} {because(said)}"
