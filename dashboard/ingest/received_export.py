"""The body of an export: read once, stored, and let go of where that holds nobody up."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from uuid import UUID

from dashboard.agents.schema_judging.judging import asking_as, judging_budget
from dashboard.gateway.access.callers import Caller
from dashboard.gateway.wire.decompression import unpacked
from dashboard.ingest.services import Outcome, ingest
from dashboard.ingest.wire.bodies import ParsedBody


@dataclass(frozen=True, slots=True)
class StoredExport:
    """What the exporter, the metrics and open pages are told of a body. `last`: the turn that was written last."""

    kept: int
    let_go: int
    refused: int
    message: str
    last: UUID | None

    @classmethod
    def of(cls, taken: ParsedBody, outcome: Outcome) -> "StoredExport":
        return cls(
            kept=taken.count - outcome.let_go - outcome.unread,
            let_go=outcome.let_go,
            refused=sum(taken.refused.values()),
            message=taken.message,
            last=outcome.written[-1] if outcome.written else None,
        )


@dataclass(slots=True)
class ReceivedExport:
    """A request's body, which is read once however often it is tried to store it."""

    read: Callable[[bytes, str], ParsedBody]
    body: bytes
    headers: Mapping[bytes, str]
    caller: Caller
    _taken: ParsedBody | None = None

    @property
    def coding(self) -> str:
        return self.headers.get(b"content-encoding", "").strip().casefold()

    def taken(self) -> ParsedBody:
        """What it holds. Its bytes are let go of."""
        if self._taken is None:
            self._taken = self.read(unpacked(self.body, self.coding), str(self.caller.project))
            self.body = b""
        return self._taken

    def stored(self, most: int | None) -> StoredExport:
        """Store it. Raises `LargeError` where that would be more than `most` pieces."""
        taken, caller = self.taken(), self.caller
        sender = sender_of(caller)
        with judging_budget(), asking_as(sender):
            outcome = ingest(project_id=caller.project, taken=taken, by=caller.user_id, sender=sender, most=most)
        # Let go of here: in the event loop, to free what 20,000 spans were read to takes a tenth of a second.
        self._taken = None
        return StoredExport.of(taken, outcome)


def sender_of(caller: Caller) -> UUID:
    """A key, or the user of a token."""
    return caller.key_id or UUID(int=caller.user_id or 0)
