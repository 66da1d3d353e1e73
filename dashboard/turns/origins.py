"""Reads: where a turn came from that was not recorded here, and who vouches for its recording.

`turn.origin` is the row of a turn that came as a file, `turn.ingested` that of one made of a trace or a log: `ingest`
has their tables, each row with the id of its turn.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import TextChoices

from dashboard.turns.models import Turn

KEY_SHOWN = 12  #: characters of a public key


class Signature(TextChoices):
    """What the weakest signature on a turn's way here proves; the further down, the weaker."""

    OWN = "own", "signed by this installation"
    KNOWN = "known", "signed by a known installation"
    SENDER = "sender", "as reported by the sender of a trace"
    UNKNOWN = "unknown", "signed by an unknown key"
    UNSIGNED = "unsigned", "not signed"
    BROKEN = "broken", "signature invalid: the file was changed after it was signed"


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

    @property
    def doubts(self) -> str:
        """The key that signed it, and the doubt, as the end of a sentence."""
        key = f"; signed by key {self.public_key}" if self.public_key else ""
        return f"{key}; {self.doubt}" if self.doubt else key


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
    origin = getattr(turn, "origin", None)
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
    origin = getattr(turn, "origin", None)
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


@dataclass(frozen=True, slots=True)
class IngestView:
    """Of one turn. `notes`: what is not known of it, or differs from what its provider said."""

    ingested_at: datetime
    log: str  #: the file's name, where it is from one; empty: from a trace
    instrumentations: list[str]
    service: str
    provider: str
    trace_id: str
    span_ids: list[str]
    loop: str
    loop_reason: str | None
    consistent_with: str
    notes: list[dict[str, Any]]

    @property
    def by(self) -> str:
        """Which instrumentations told of it."""
        return ", ".join(self.instrumentations) or "an unnamed instrumentation"

    @property
    def said(self) -> str:
        """In a word: how it came here."""
        return "imported" if self.log else "ingested"


def ingested_of(turn: Turn) -> IngestView | None:
    """Where an ingested turn came from; None where it is another."""
    row = getattr(turn, "ingested", None)
    if row is None:
        return None
    return IngestView(
        row.ingested_at, row.log, row.instrumentations, row.service, row.provider, row.trace.hex, row.spans, row.loop,
        row.loop_reason, row.policy, row.notes,
    )  # fmt: skip


def ingested_told(turn: Turn) -> dict[str, Any] | None:
    """The ingest data of a turn as the API returns it."""
    shown = ingested_of(turn)
    return None if shown is None else asdict(shown)
