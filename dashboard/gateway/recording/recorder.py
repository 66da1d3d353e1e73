"""The recorder: what calls say of themselves gets into Postgres in groups, before their callers hear the end.

`open`, `step`, `piece` and `told` return at once; `committed` waits until all that was said of a turn is stored. Nobody
waits for a timer: who ends while nothing is being written is written at once, and what is said while one group is being
written is the next. A turn that has ended by then is written once, in its final form; one that is open for longer is
written as it stands, as owned by this process, so that another can end it should this one be killed
(`live.lost_turns`).

Where the database is away, what was said is kept, up to a bound, and stored when it is back; those who wait for it are
told that it is not stored (`NotStoredError`) after `PATIENCE_SECONDS`.
"""

import asyncio
import time
from collections.abc import Callable
from datetime import datetime
from uuid import UUID

import structlog

from agentcore.commands import Finish
from dashboard.gateway.recording.group_writer import GroupWriter
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
from dashboard.gateway.recording.recorder_messages import AnswerChunk, CallerResult, NewTurn
from dashboard.gateway.recording.turn_group import TurnGroup
from dashboard.gateway.recording.turn_queue import MOST_BYTES, TurnQueue
from dashboard.metrics.counters import count_step
from dashboard.platform.notifications import announce_group
from dashboard.turns.recorder import StepRows

log = structlog.get_logger(__name__)
TICK_SECONDS = 0.02
RETRY_SECONDS = 0.25
TURN_BYTES = 512 * 1024  #: said of one turn, which are written without delay; of as much again its caller waits
STEP_BYTES = 4_000  #: what a step is reckoned with
LOOK_SECONDS = 0.02  #: between two looks whether a condition holds


class Recorder:
    """One per event loop, and only used there."""

    def __init__(self) -> None:
        self._queue = TurnQueue()
        self._disowned: list[UUID] = []
        self._away_since: float | None = None
        self._writer = GroupWriter(self._settle)
        self._writing: asyncio.Task[None] | None = None
        self._wake = asyncio.Event()
        self._ticking: asyncio.TimerHandle | None = None

    @property
    def away(self) -> bool:
        """Whether the database is known not to answer, or so slow that nothing more is kept for it."""
        return self._away_since is not None or self._queue.is_full

    async def takes_more(self, seconds: float = 30.0) -> bool:
        """Whether a new turn can be recorded. A database that stores what waits for it is waited for, for so long."""
        await poll_until(lambda: self._away_since is not None or not self.away, seconds=seconds)
        return not self.away

    def open(self, turn: NewTurn) -> None:
        """A turn has begun; its first step follows."""
        track = self._queue.turns[turn.id] = PendingTurn(turn.id)
        self._tick_on()
        if self._queue.is_full:
            track.refused = NotStoredError("Too many calls are waiting for the database.")
            return
        self._queue.update(track, len(turn.body) * 3 + STEP_BYTES).new = turn

    def step(self, entry: StepRows) -> None:
        """A step of its history."""
        track = self._queue.turns[entry.turn_id]
        # Who waits for its end has still to say what the caller is told, which is written with it.
        track.has_ended = isinstance(entry.step.command, Finish)
        if track.refused:
            return
        self._queue.update(track, STEP_BYTES + answered(entry)).entries.append(entry)
        track.seq = entry.seq

    def piece(self, turn_id: UUID, attempt: int, n: int, raw: bytes, text: str, at: datetime) -> None:  # noqa: ARG002
        """Bytes of an answer, and the text in them. Those that are written together are one, and counted anew."""
        track = self._queue.turns[turn_id]
        if track.refused:
            return
        part = self._queue.update(track, len(raw) + len(text))
        pieces = part.pieces
        if not pieces or pieces[-1].attempt != attempt:
            pieces.append(AnswerChunk(attempt, at, [], []))
        pieces[-1].raws.append(raw)
        if text:
            pieces[-1].texts.append(text)
        pieces[-1].at = at
        if part.size > TURN_BYTES:
            self._hurry(track)

    def told(self, turn_id: UUID, told: CallerResult) -> None:
        """Record the result the caller received."""
        track = self._queue.turns.get(turn_id)
        if track is None:
            track = self._queue.turns[turn_id] = PendingTurn(turn_id, is_stored=True, has_ended=True)
            self._tick_on()
        if not track.refused:
            self._queue.update(track, 0).told = told

    async def committed(self, turn_id: UUID) -> None:
        """Returns once all that was said of this turn is stored. Raises `NotStoredError`."""
        track = self._queue.turns.get(turn_id)
        if track is None:
            return
        if track.refused:
            if track.has_ended:
                del self._queue.turns[turn_id]
            raise track.refused
        part = track.part or track.writing
        if part is None:
            return
        loop = asyncio.get_running_loop()
        stored: asyncio.Future[None] = loop.create_future()
        part.waiting.append((loop.time(), stored))
        if part is track.part:
            self._hurry(track)
        await stored

    def forget(self, turn_id: UUID) -> None:
        """Nothing more of this turn is to be stored: what there is of it will be ended as lost."""
        track = self._queue.turns.pop(turn_id, None)
        if track is None:
            return
        track.refused = UnstorableError("It was given up.")
        self._queue.drop(track)
        if track.is_stored or track.writing is not None:
            self._disown([turn_id])

    def _disown(self, turn_ids: list[UUID]) -> None:
        self._disowned += turn_ids
        self._start()

    async def room(self, turn_id: UUID) -> None:
        """For who has much to say. Returns at once unless the database is behind; `NotStoredError` if it stays so."""
        queue, track = self._queue, self._queue.turns.get(turn_id)
        roomy = await poll_until(
            lambda: queue.bytes <= MOST_BYTES // 2 and (track is None or self.away or track.size <= 3 * TURN_BYTES),
            seconds=PATIENCE_SECONDS,
        )
        if not roomy:
            raise NotStoredError("The database is too slow to store this call.")

    async def close(self, seconds: float = 2.0) -> None:
        """Write what was said, and end. What is open then will be ended as lost, by whoever looks."""
        queue, writer = self._queue, self._writer
        for track in list(queue.later.values()):
            self._hurry(track)
        await poll_until(lambda: not (queue.due or self._disowned or writer.busy or writer.apart.busy), seconds=seconds)
        if self._ticking is not None:
            self._ticking.cancel()
        if self._writing is not None:
            self._writing.cancel()
            await asyncio.gather(self._writing, return_exceptions=True)
        await self._writer.close()

    def _hurry(self, track: PendingTurn) -> None:
        self._queue.hurry(track)
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
        queue, apart, now = self._queue, self._writer.apart, asyncio.get_running_loop().time()
        self._ticking = None
        if queue.turns:
            self._tick_on()
        for track in [track for track in queue.later.values() if track.is_due(now)]:
            self._hurry(track)
        waiting_bytes = queue.bytes if self._away_since is None else 0
        tracks = [track for track in queue.turns.values() if not apart.holds(track.id)]
        locked = [track for track in queue.turns.values() if apart.waits_for_lock(track.id)] if apart.busy else []
        tell_waiters(locked, now, LOCKED_SECONDS, "Another transaction holds the row of its turn.")
        if fail_expired_waiters(tracks, now, waiting_bytes=waiting_bytes, stored_at=self._writer.stored_at):
            self._is_away("It does not answer.")
        if self._writer.beat_due(now, open_turns=any(track.is_open for track in queue.turns.values())):
            self._start()

    def _is_away(self, why: str) -> None:
        if self._away_since is None:
            self._away_since = time.monotonic()
            log.warning("gateway_database_unavailable", error=why)

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
            if not self._queue.due and not self._disowned:
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
        if not self._writer.busy and self._queue.due:
            given = list(self._queue.next_group(self._writer.apart.holds))  # at once: turns may be given up meanwhile
            await self._writer.take(given)
        while (group := self._writer.next()) is not None:
            lost = await self._writer.write(group)
            self._settle(group, lost)

    def _settle(self, group: TurnGroup, lost: dict[UUID, str]) -> None:
        open_turns: dict[UUID, int] = {}
        for turn_id, part in group.parts.items():
            self._queue.bytes -= part.size
            track = self._queue.turns.get(turn_id)
            wake_waiter(part, lost.get(turn_id, ""))
            if turn_id in lost:
                log.error("gateway_turn_not_stored", turn=str(turn_id), why=lost[turn_id])
                if track is not None:
                    self._refuse(track, lost[turn_id])
                continue
            for entry in part.entries:
                count_step(entry.step)
            if track is not None:
                if track.is_stored or not track.has_ended:
                    open_turns[turn_id] = track.seq
                self._queue.stored(track)
        if self._queue.due:
            self._start()
        if group.parts.keys() - lost.keys():
            announce_group(open_turns, last=next(reversed(group.parts)))

    def _refuse(self, track: PendingTurn, why: str) -> None:
        """Nothing more of it can be stored."""
        track.refused, track.writing = UnstorableError(why), None
        if (part := self._queue.drop(track)) is not None:
            wake_waiter(part, why)
        if track.has_ended:
            self._queue.turns.pop(track.id, None)
        elif track.is_stored:
            self._disowned.append(track.id)


async def poll_until(holds: Callable[[], bool], *, seconds: float) -> bool:
    """Wait until `holds()` is True, for at most `seconds`. Returns whether it became True; at once if it is already."""
    loop = asyncio.get_running_loop()
    ends = loop.time() + seconds
    while not holds():
        if loop.time() >= ends:
            return False
        await asyncio.sleep(LOOK_SECONDS)
    return True
