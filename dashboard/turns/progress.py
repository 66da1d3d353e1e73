"""How far a turn is, by few and small queries: asked again and again for everyone who watches one."""

from dataclasses import dataclass
from uuid import UUID

from django.db.models import Exists

from dashboard.turns.models import UNFINISHED, Attempt, Piece, Turn

MOST_PIECES = 500  #: of an answer, read at once


@dataclass(frozen=True, slots=True)
class Progress:
    """The last record's number (0: none yet), and whether the turn has ended."""

    seq: int
    ended: bool


def progress_of(turn_id: UUID) -> Progress | None:
    """None where there is no such turn, or not any more."""
    found = Turn.objects.filter(id=turn_id).values_list("last_seq", "status").first()
    return None if found is None else Progress(found[0], found[1] not in UNFINISHED)


@dataclass(frozen=True, slots=True)
class DraftPosition:
    """How much is known of an answer that streams: its attempt, the last of its pieces, the characters up to there."""

    attempt: int = 0
    piece: int = 0
    offset: int = 0


def drafted(turn_id: UUID, *, seq: int, place: DraftPosition) -> tuple[str, DraftPosition]:
    """The text that streamed after `place` in answer to record `seq`, and the place behind it.

    Empty where nothing did, and where a newer record tells it all. Long texts come in parts: ask again.
    """
    attempt = _in_flight(turn_id, seq)
    if attempt is None:
        return "", place
    here = place if place.attempt == attempt else DraftPosition(attempt)
    pieces = Piece.objects.filter(turn_id=turn_id, attempt=attempt, n__gt=here.piece).order_by("n")
    rows = list(pieces.values_list("n", "text")[:MOST_PIECES])
    text = "".join(text for _, text in rows)
    return text, DraftPosition(attempt, rows[-1][0] if rows else here.piece, here.offset + len(text))


def _in_flight(turn_id: UUID, seq: int) -> int | None:
    """The attempt under way that record `seq` asked for. One statement, so that both are of one moment."""
    is_last = Exists(Turn.objects.filter(id=turn_id, last_seq=seq))
    running = Attempt.objects.filter(is_last, turn_id=turn_id, duration_ms=None)
    return running.order_by("-index").values_list("index", flat=True).first()
