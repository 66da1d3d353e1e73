"""The recorder: what calls say of themselves gets into Postgres in groups, before their callers hear the end.

`open`, `step`, `piece` and `told` return at once; `committed` waits until all that was said of a turn is stored. Nobody
waits for a timer: who ends while nothing is being written is written at once, and what is said while one group is being
written is the next. A turn that has ended by then is written once, in its final form; one that is open for longer is
written as it stands, as owned by this process, so that another can end it should this one be killed (`live.owning`).

Where the database is away, what was said is kept, up to a bound, and stored when it is back; those who wait for it are
told that it is not stored (`NotStoredError`) after `PATIENCE_SECONDS`.
"""

import asyncio
import time
from collections.abc import Iterator
from datetime import datetime
from uuid import UUID

import structlog

from agentcore.commands import Finish
from dashboard.gateway.recording.group_writer import GroupWriter, TurnGroup
from dashboard.gateway.recording.pending_turn import (
    LOCKED_SECONDS,
    PATIENCE_SECONDS,
    NotStoredError,
    PendingTurn,
    UnstorableError,
    answered,
    fail_expired_waiters,
    tell_waiters,
    wake_waiter,
)
from dashboard.gateway.recording.pg_connection import DatabaseAway, RefusedError
from dashboard.gateway.recording.polling import poll_until
from dashboard.gateway.recording.recorder_messages import AnswerChunk, CallerResult, NewTurn, TurnUpdate
from dashboard.gateway.recording.rows import StoredTurn
from dashboard.metrics.counters import count_step
from dashboard.platform.notifications import announce_group
from dashboard.turns.recorder import StepRows

log = structlog.get_logger(__name__)
TICK_SECONDS = 0.02
RETRY_SECONDS = 0.25
GROUP_TURNS = 256
GROUP_BYTES = 4_000_000
MOST_BYTES = 64_000_000  #: that are kept for a database that is slow or away; beyond, new turns are not recorded
TURN_BYTES = 512 * 1024  #: said of one turn, which are written without delay; of as much again its caller waits
STEP_BYTES = 4_000  #: what a step is reckoned with


class Recorder:
    """One per event loop, and only used there."""

    def __init__(self) -> None:
        self._tracks: dict[UUID, PendingTurn] = {}
        self._due: dict[UUID, PendingTurn] = {}
        self._later: dict[UUID, PendingTurn] = {}  #: said of them and not written, and nobody waits
        self._disowned: list[UUID] = []
        self._bytes = 0
        self._away_since: float | None = None
        self._writer = GroupWriter(self._settle)
        self._writing: asyncio.Task[None] | None = None
        self._wake = asyncio.Event()
        self._ticking: asyncio.TimerHandle | None = None

    @property
    def away(self) -> bool:
        """Whether the database is known not to answer, or so slow that nothing more is kept for it."""
        return self._away_since is not None or self._bytes > MOST_BYTES

    async def takes_more(self, seconds: float = 30.0) -> bool:
        """Whether a new turn can be recorded. A database that stores what waits for it is waited for, for so long."""
        await poll_until(lambda: self._away_since is not None or not self.away, seconds=seconds)
        return not self.away

    def open(self, turn: NewTurn) -> None:
        """A turn has begun; its first step follows."""
        track = self._tracks[turn.id] = PendingTurn(turn.id)
        if self._bytes > MOST_BYTES:
            track.refused = NotStoredError("Too many calls are waiting for the database.")
            return
        self._part(track, len(turn.body) * 3 + STEP_BYTES).new = turn

    def step(self, entry: StepRows) -> None:
        """A step of its history."""
        track = self._tracks[entry.turn_id]
        # Who waits for its end has still to say what the caller is told, which is written with it.
        track.has_ended = isinstance(entry.step.command, Finish)
        if track.refused:
            return
        self._part(track, STEP_BYTES + answered(entry)).entries.append(entry)
        track.seq = entry.seq

    def piece(self, turn_id: UUID, attempt: int, n: int, raw: bytes, text: str, at: datetime) -> None:  # noqa: ARG002
        """Bytes of an answer, and the text in them. Those that are written together are one, and counted anew."""
        track = self._tracks[turn_id]
        if track.refused:
            return
        pieces = self._part(track, len(raw) + len(text)).pieces
        if not pieces or pieces[-1].attempt != attempt:
            pieces.append(AnswerChunk(attempt, at, [], []))
        pieces[-1].raws.append(raw)
        if text:
            pieces[-1].texts.append(text)
        pieces[-1].at = at
        if track.part is not None and track.part.size > TURN_BYTES:
            self._hurry(track)

    def told(self, turn_id: UUID, told: CallerResult) -> None:
        """Record the result the caller received."""
        track = self._tracks.get(turn_id)
        if track is None:
            track = self._tracks[turn_id] = PendingTurn(turn_id, is_stored=True, has_ended=True)
        if not track.refused:
            self._part(track, 0).told = told

    async def committed(self, turn_id: UUID) -> None:
        """Returns once all that was said of this turn is stored. Raises `NotStoredError`."""
        track = self._tracks.get(turn_id)
        if track is None:
            return
        if track.refused:
            if track.has_ended:
                del self._tracks[turn_id]
            raise track.refused
        part = track.part or track.writing
        if part is None:
            return
        loop = asyncio.get_running_loop()
        stored: asyncio.Future[None] = loop.create_future()
        part.waiting.append((loop.time(), stored))
        if part is track.part:
            self._hurry(track)
        self._tick_on()
        await stored

    def forget(self, turn_id: UUID) -> None:
        """Nothing more of this turn is to be stored: what there is of it will be ended as lost."""
        track = self._tracks.pop(turn_id, None)
        if track is None:
            return
        track.refused = UnstorableError("It was given up.")
        self._later.pop(turn_id, None)
        self._due.pop(turn_id, None)
        if track.part is not None:
            self._bytes -= track.part.size
        if track.is_stored or track.writing is not None:
            self._disown([turn_id])

    def _disown(self, turn_ids: list[UUID]) -> None:
        self._disowned += turn_ids
        self._start()

    async def room(self, turn_id: UUID) -> None:
        """For who has much to say. Returns at once unless the database is behind; `NotStoredError` if it stays so."""
        track = self._tracks.get(turn_id)
        roomy = await poll_until(
            lambda: self._bytes <= MOST_BYTES // 2 and (track is None or self.away or track.size <= 3 * TURN_BYTES),
            seconds=PATIENCE_SECONDS,
        )
        if not roomy:
            raise NotStoredError("The database is too slow to store this call.")

    async def close(self, seconds: float = 2.0) -> None:
        """Write what was said, and end. What is open then will be ended as lost, by whoever looks."""
        for track in list(self._later.values()):
            self._hurry(track)
        writer = self._writer
        await poll_until(lambda: not (self._due or self._disowned or writer.busy or writer.apart.busy), seconds=seconds)
        if self._ticking is not None:
            self._ticking.cancel()
        if self._writing is not None:
            self._writing.cancel()
            await asyncio.gather(self._writing, return_exceptions=True)
        await self._writer.close()

    def _part(self, track: PendingTurn, size: int) -> TurnUpdate:
        if track.part is None:
            track.part = TurnUpdate(asyncio.get_running_loop().time())
            self._later[track.id] = track
            self._tick_on()
        track.part.size += size
        self._bytes += size
        return track.part

    def _hurry(self, track: PendingTurn) -> None:
        """Somebody waits for it, or it has ended."""
        self._later.pop(track.id, None)
        self._due[track.id] = track
        self._start()

    def _start(self) -> None:
        if self._writing is None or self._writing.done():
            self._writing = asyncio.create_task(self._write(), name="gateway recorder")
        self._wake.set()

    def _tick_on(self) -> None:
        if self._ticking is None:
            self._ticking = asyncio.get_running_loop().call_later(TICK_SECONDS, self._tick)

    def _tick(self) -> None:
        """While anything is open: what has waited long enough is written, and who has waited too long is told."""
        self._ticking, now = None, asyncio.get_running_loop().time()
        for track in [track for track in self._later.values() if track.is_due(now)]:
            self._hurry(track)
        waiting_bytes = self._bytes if self._away_since is None else 0
        apart = self._writer.apart
        tracks = [track for track in self._tracks.values() if not apart.holds(track.id)]
        locked = [track for track in self._tracks.values() if apart.waits_for_lock(track.id)] if apart.busy else []
        tell_waiters(locked, now, LOCKED_SECONDS, "Another transaction holds the row of its turn.")
        if fail_expired_waiters(tracks, now, waiting_bytes=waiting_bytes, stored_at=self._writer.stored_at):
            self._is_away("It does not answer.")
        if self._writer.beat_due(now, open_turns=any(track.is_open for track in self._tracks.values())):
            self._start()
        if self._tracks:
            self._tick_on()

    def _is_away(self, why: str) -> None:
        if self._away_since is None:
            self._away_since = time.monotonic()
            log.warning("gateway_database_away", error=why)

    async def _write(self) -> None:
        while True:
            self._wake.clear()
            try:
                await self._write_once()
            except RefusedError as error:
                log.error("gateway_recorder_refused", error=str(error))
                await asyncio.sleep(RETRY_SECONDS)
                continue
            except DatabaseAway as error:
                self._is_away(str(error))
                await asyncio.sleep(RETRY_SECONDS)
                continue
            if self._away_since is not None:
                log.info("gateway_database_back", seconds=round(time.monotonic() - self._away_since, 1))
                self._away_since = None
            if not self._due and not self._disowned:
                await self._wake.wait()

    async def _write_once(self) -> None:
        """One group, and what else is due. Raises `DatabaseAway` with all of it still to be done."""
        if self._writer.beat_due(asyncio.get_running_loop().time(), open_turns=True):
            await self._writer.beat()
        if self._disowned:
            given_up = list(self._disowned)
            held = await self._writer.disown(given_up)
            del self._disowned[: len(given_up)]
            if held:
                asyncio.get_running_loop().call_later(RETRY_SECONDS, self._disown, held)
        if not self._writer.busy and self._due:
            self._writer.take(self._next_group())
        while (group := self._writer.next()) is not None:
            lost = await self._writer.write(group)
            self._settle(group, lost)

    def _next_group(self) -> Iterator[tuple[UUID, TurnUpdate, StoredTurn, bool, bool]]:
        turns = size = 0
        for turn_id in list(self._due):
            if turns >= GROUP_TURNS or size > GROUP_BYTES:
                return
            track = self._due.pop(turn_id)
            if self._writer.apart.holds(turn_id):
                continue  # what else is said of it is due once that is settled
            part, track.part = track.part, None
            if part is None:
                continue
            track.writing = part
            turns, size = turns + 1, size + part.size
            yield track.id, part, track.kept, track.is_stored, track.has_ended

    def _settle(self, group: TurnGroup, lost: dict[UUID, str]) -> None:
        open_turns: dict[UUID, int] = {}
        for turn_id, part in group.parts.items():
            self._bytes -= part.size
            track = self._tracks.get(turn_id)
            if turn_id in lost:
                log.error("gateway_turn_not_stored", turn=str(turn_id), why=lost[turn_id])
                wake_waiter(part, lost[turn_id])
                if track is not None:
                    self._refuse(track, lost[turn_id])
                continue
            wake_waiter(part)
            for entry in part.entries:
                count_step(entry.step)
            if track is not None:
                if track.is_stored or not track.has_ended:
                    open_turns[turn_id] = track.seq
                track.writing, track.is_stored = None, True
                if track.part is not None and turn_id not in self._later:
                    self._hurry(track)
                if track.has_ended and track.part is None:
                    del self._tracks[turn_id]
        if group.parts.keys() - lost.keys():
            announce_group(open_turns, last=next(reversed(group.parts)))

    def _refuse(self, track: PendingTurn, why: str) -> None:
        """Nothing more of it can be stored."""
        track.refused, track.writing = UnstorableError(why), None
        self._later.pop(track.id, None)
        self._due.pop(track.id, None)
        if track.part is not None:
            self._bytes -= track.part.size
            wake_waiter(track.part, why)
            track.part = None
        if track.has_ended:
            self._tracks.pop(track.id, None)
        elif track.is_stored:
            self._disowned.append(track.id)
