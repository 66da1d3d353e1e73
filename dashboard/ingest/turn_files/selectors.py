"""Reads: where a turn came from."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from dashboard.ingest.turn_files.models import Origin, Signature
from dashboard.turns.models import Turn

KEY_SHOWN = 12  #: characters of a public key


@dataclass(frozen=True, slots=True)
class OriginView:
    """An imported turn's; `installation` and `public_key` are empty where no valid signature tells them."""

    imported_at: datetime
    imported_by: str
    exported_at: datetime
    original_id: UUID
    signature: str
    installation: str
    public_key: str
    doubt: str

    @property
    def signed(self) -> str:
        """What the signature proves, in words."""
        match self.signature:
            case Signature.KNOWN:
                return f"signed by {self.installation}"
            case Signature.UNKNOWN:
                return f"signed by an unknown key {self.public_key[:KEY_SHOWN]}…"
        return str(Signature(self.signature).label)


@dataclass(frozen=True, slots=True)
class Provenance:
    """Who vouches that a turn's recording is what happened; a verification does not tell.

    `by`: `here`, `sender` (of traces), or what the signature of its file proves (`Signature`).
    """

    by: str
    words: str
    is_proven: bool  #: whether this installation recorded or signed it, or one whose key has a name here


HERE = Provenance("here", "Recorded by this installation.", True)
SENDER = Provenance("sender", "The recording is based on the sender's trace.", False)
LOG = Provenance("sender", "The recording is based on an imported log; it was not verified.", False)
VOUCHED: Mapping[str, Provenance] = {
    Signature.OWN: Provenance("own", "The recording was signed by this installation.", True),
    Signature.KNOWN: Provenance("known", "The recording was signed by a known installation.", True),
    Signature.SENDER: SENDER,
    Signature.UNKNOWN: Provenance("unknown", "The recording was signed with an unknown key.", False),
    Signature.UNSIGNED: Provenance("unsigned", "The recording is not signed: it is based on its file.", False),
    Signature.BROKEN: Provenance("broken", "The file was changed after it was signed: it cannot be trusted.", False),
}


BEGINNING = "It continues another turn. {words}"
GONE = Provenance("unsigned", "It continues a turn that no longer exists, so its beginning cannot be verified.", False)


def vouched_of(turn: Turn) -> Provenance:
    """Who vouches for a turn's recording."""
    origin: Origin | None = getattr(turn, "origin", None)
    if origin is not None:
        return VOUCHED[origin.signature]
    if (ingested := getattr(turn, "ingested", None)) is not None:
        return LOG if ingested.log else SENDER
    return HERE if turn.forked_at is None else _beginning_vouched(turn)


def _beginning_vouched(fork: Turn) -> Provenance:
    """What a fork begins with was recorded in the turn that it goes on from."""
    parent = fork.parent
    if parent is None:
        return GONE
    vouched = vouched_of(parent)
    return HERE if vouched.is_proven else replace(vouched, words=BEGINNING.format(words=vouched.words))


def origin_of(turn: Turn) -> OriginView | None:
    """Where an imported turn came from; None where it was recorded here."""
    origin: Origin | None = getattr(turn, "origin", None)
    if origin is None:
        return None
    by = origin.imported_by.get_username() if origin.imported_by else ""
    return OriginView(
        origin.imported_at, by, origin.exported_at, origin.original_id, origin.signature, origin.installation,
        origin.public_key, origin.doubt,
    )  # fmt: skip


def origin_told(turn: Turn) -> dict[str, Any] | None:
    """The origin of a turn as the API returns it."""
    origin = origin_of(turn)
    return None if origin is None else asdict(origin)


def origin_in_file(turn: Turn) -> dict[str, Any] | None:
    """The same as a file tells it. What this installation did not record itself has an origin there too, for the file
    is signed by it: traces, and turns that go on from one nobody vouches for."""
    told, vouched = origin_told(turn), vouched_of(turn)
    if told is not None or vouched.is_proven:
        return told
    at = turn.created_at
    return asdict(OriginView(at, "", at, turn.id, vouched.by, "", "", ""))
