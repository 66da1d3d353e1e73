"""What speaks against a file whose history replays: answers that are not in its bytes, and times that cannot be."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from uuid import UUID

from agentcore.events import Started
from agentcore.replay import Recording
from dashboard.keeping import shapes
from dashboard.turns.evidence import faults_of, other_beginning
from dashboard.turns.models import Attempt

UUID_OF_TIME = 7
CLOCKS_DIFFER = timedelta(hours=1)
LATER = "It says that it was {what} after {than}"


def evidence_doubt(turn: shapes.Turn, recording: Recording) -> str:
    """The first fault, in words; empty where there is none."""
    attempts = [Attempt(**attempt.model_dump(exclude={"chunks"})) for attempt in turn.attempts]
    raws = {attempt.index: b"".join(chunk.raw for chunk in attempt.chunks) for attempt in turn.attempts}
    fault = next(faults_of(recording.records, attempts, raws), None)
    return fault.words.rstrip(".") if fault else next(_turn_faults(turn, recording), "")


def _turn_faults(turn: shapes.Turn, recording: Recording) -> Iterator[str]:
    first = recording.records[0].event if recording.records else None
    if isinstance(first, Started) and (other := other_beginning(turn.provider, turn.input_text, first)):
        yield f"Its {other} is not the one of its first record"
    yield from _times(turn)


def _times(turn: shapes.Turn) -> Iterator[str]:
    """Times in an order in which no turn can happen."""
    if not turn.records:
        return
    begun, ended = turn.records[0].at, turn.records[-1].at
    if turn.created_at > begun + CLOCKS_DIFFER:
        yield LATER.format(what="created", than="its first record")
    ordered = zip(turn.records, turn.records[1:], strict=False)
    if any(later.at + CLOCKS_DIFFER < earlier.at for earlier, later in ordered):
        yield "Its records are not in the order of their times"
    times = [attempt.started_at for attempt in turn.attempts]
    times += [chunk.at for attempt in turn.attempts for chunk in attempt.chunks]
    if any(not begun - CLOCKS_DIFFER <= at <= ended + CLOCKS_DIFFER for at in times):
        yield "Its calls were not made while it ran"


def file_doubt(file: shapes.TurnFile) -> str:
    """Times that cannot be, of the file as a whole: an id tells when it was made, and so does the export."""
    made = _made(file.id)
    if made is not None and abs(made - file.turn.created_at) > CLOCKS_DIFFER:
        return "Its id was not made when it says that it was created"
    if file.turn.records and file.exported_at + CLOCKS_DIFFER < file.turn.records[-1].at:
        return LATER.format(what="still running", than="its export")
    return ""


def _made(turn_id: UUID) -> datetime | None:
    """When an id was made, where it tells."""
    if turn_id.version != UUID_OF_TIME:
        return None
    return datetime.fromtimestamp((turn_id.int >> 80) / 1000, UTC)
