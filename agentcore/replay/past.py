"""The recorded run once more, for what its records do not hold: snapshots, and with them commands, and the tapes."""

from collections.abc import Mapping
from dataclasses import dataclass

from agentcore.events import Event, ToolResult
from agentcore.machine.advance import settle
from agentcore.machine.snapshot import Snapshot
from agentcore.replay.recall import as_judged
from agentcore.replay.recording import Recording
from agentcore.replay.tape import Listener, Tape


@dataclass(frozen=True, slots=True)
class Past:
    """Each event with the snapshot after it, and what tapes and tools have said."""

    after: tuple[tuple[Event, Snapshot], ...]
    tapes: Mapping[int, Tape]  #: by iteration
    results: Mapping[tuple[str, str], ToolResult]  #: of tools, by name and arguments

    @classmethod
    def of(cls, recording: Recording) -> "Past":
        """The past of a recording, which keeps it: it is most of a what-if, and a sweep asks many of one recording."""
        source = (recording.policy, recording.base_snapshot, recording.records)
        kept = recording.kept
        # A copy with another policy shares the list, so what is kept says what it was read from.
        if not kept or any(one is not other for one, other in zip(kept[0], source, strict=True)):
            kept[:] = (source, cls._read(recording))
        past: Past = kept[1]
        return past

    @classmethod
    def _read(cls, recording: Recording) -> "Past":
        snapshot, after, listener = recording.base_snapshot, [], Listener()
        for record in recording.records:
            judged = as_judged(recording.policy, record.transitions)
            listener.hear(snapshot, record.event)
            snapshot = settle(snapshot, record.event, judged)
            after.append((record.event, snapshot))
        return cls(tuple(after), listener.tapes(snapshot), listener.results)
