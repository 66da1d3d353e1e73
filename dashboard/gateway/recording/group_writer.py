"""Writes groups of turns: a statement for new turns, one for updates of stored ones, one for pieces of their answers.

A group that the database refuses is halved until what it refuses stands alone; one that takes it too long is written
turn by turn, and a turn that alone takes too long is written apart, so that no other waits for it; so is one whose row
somebody holds. A group whose answer got lost is looked for before it is sent again.
"""

import asyncio
import contextlib
from collections import deque
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from uuid import UUID

import structlog

from dashboard.gateway.recording import statements
from dashboard.gateway.recording.deduplication import LARGE, KnownNodes, parameters
from dashboard.gateway.recording.pg_connection import (
    DatabaseAway,
    LackingError,
    LockedError,
    PgConnection,
    RefusedError,
    SlowError,
    byte_strings,
)
from dashboard.gateway.recording.recorder_messages import TurnUpdate
from dashboard.gateway.recording.rows import StoredTurn, TableRows, add_part, listed
from dashboard.gateway.recording.slow_writes import Settle, SlowWrites
from dashboard.gateway.recording.turn_group import TurnGroup
from dashboard.platform.ids import new_id
from dashboard.turns import models

log = structlog.get_logger(__name__)

BEAT_SECONDS = 1.0
REFUSALS = 5  #: after which a group is given up that refers to nodes that are not there
SLOW_IN_A_ROW = 2  #: turns that were alone too slow, after which it is the database that is slow
TAKEN = "Another process ended this turn because this process stopped responding."

#: A turn, what is said of it, what is stored of it, whether it is stored, whether it has ended.
Given = tuple[UUID, TurnUpdate, StoredTurn, bool, bool]


class GroupWriter:
    """Writes groups, one after another, as one process that is heard of."""

    def __init__(self, settle: Settle) -> None:
        self._settle = settle
        self.process_id = new_id()
        self._link = PgConnection(statements.ALL)
        self._link_apart = PgConnection(statements.ALL)
        self._known = KnownNodes()
        self._slow_in_a_row = 0
        self.apart = SlowWrites(self._write_apart, settle)
        self._groups: deque[TurnGroup] = deque()
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="gateway-rows")
        self._is_taking = False
        self._beaten: float | None = None
        self.stored_at = 0.0  #: when the database last took a group, by the loop's clock

    @property
    def busy(self) -> bool:
        return self._is_taking or bool(self._groups)

    async def take(self, given: Iterable[Given]) -> None:
        """What is to be written next."""
        self._is_taking = True
        try:
            self._groups.extend([group for group in await self._grouped(given) if group.parts])
        finally:
            self._is_taking = False

    async def _grouped(self, given: Iterable[Given]) -> list[TurnGroup]:
        """A turn with large texts is a group of its own, whose marks are its alone."""
        groups = {one.name: TurnGroup(one.name) for one in (statements.NEW, statements.MORE, statements.PIECES)}
        apart: list[TurnGroup] = []
        for turn_id, part, kept, is_stored, has_ended in given:
            group = groups[name := _statement_of(part, is_stored=is_stored)]
            rows = TableRows()
            try:
                await self._add(rows, turn_id, part, kept)
            except Exception as error:
                # A turn that cannot be written down keeps no other from it.
                log.exception("gateway_turn_without_rows", turn=str(turn_id))
                self._settle(TurnGroup("", {turn_id: part}), {turn_id: f"{type(error).__name__}: {error}"})
                continue
            if rows.large:
                apart.append(group := TurnGroup(name))
            group.rows[turn_id], group.parts[turn_id] = rows, part
            if has_ended:
                group.ended.add(turn_id)
        return [*groups.values(), *apart]

    async def _add(self, rows: TableRows, turn_id: UUID, part: TurnUpdate, kept: StoredTurn) -> None:
        """To write down what is large takes long, so it is done in a thread, and other calls go on meanwhile."""
        if part.size <= LARGE:
            add_part(rows, turn_id, part, kept)
            return
        await asyncio.get_running_loop().run_in_executor(self._thread, add_part, rows, turn_id, part, kept)

    def next(self) -> TurnGroup | None:
        return self._groups[0] if self._groups else None

    async def write(self, group: TurnGroup) -> dict[UUID, str]:
        """Why which turns of it are lost; the others are stored. Raises `DatabaseAway`; it is to be written again."""
        try:
            lost = await self._written(group, self._link, group.seconds)
        except SlowError as error:
            is_held = await self._is_held(group, error)
            self._groups.popleft()
            self._set_apart(group, error, is_held=is_held)
            return {}
        except RefusedError as error:
            self._groups.popleft()
            if len(group.parts) == 1:
                return dict.fromkeys(group.parts, str(error))
            self._groups.extendleft(reversed(group.halves()))
            group.parts.clear()
            return {}
        self._groups.popleft()
        self._has_stored()
        return lost

    def _has_stored(self) -> None:
        self._slow_in_a_row = 0
        self.stored_at = asyncio.get_running_loop().time()

    async def _write_apart(self, group: TurnGroup, seconds: float) -> dict[UUID, str]:
        """As `write`, for one slow turn, on a connection of its own. Raises `SlowError` too."""
        try:
            lost = await self._written(group, self._link_apart, seconds)
        except RefusedError as error:
            return dict.fromkeys(group.parts, str(error))
        self._has_stored()
        return lost

    async def _written(self, group: TurnGroup, link: PgConnection, seconds: float) -> dict[UUID, str]:
        if group.sent and await self._is_there(group, link):
            return {}
        group.sent = False
        try:
            found = await link.run(group.statement, self._values(group), seconds=seconds)
        except LackingError:
            group.refused += 1
            if group.refused == REFUSALS:
                raise
            self._known.forget()  # all are sent now
            return await self._written(group, link, seconds)
        except DatabaseAway as error:
            group.sent = error.sent
            raise
        self._known.add(node for rows in group.rows.values() for node in rows.nodes)
        return self._taken(group, found)

    async def _is_held(self, group: TurnGroup, error: SlowError) -> bool:
        """Whether it is one turn, whose row somebody holds, so that no other waits for that. Raises `DatabaseAway`
        where more than its row is locked."""
        if not isinstance(error, LockedError) or len(group.parts) > 1:
            return False
        turn_id = next(iter(group.parts))
        if await self._link.run(statements.IS_HELD.name, [str(turn_id).encode()]):
            return True
        raise DatabaseAway(str(error), sent=False)

    def _set_apart(self, group: TurnGroup, error: SlowError, *, is_held: bool) -> None:
        """Its turns are written one by one, or, where it is one, beside the others. Raises `DatabaseAway` where it
        seems to be the database that is slow."""
        singles = group.singles()
        group.parts.clear()
        if len(singles) > 1:
            self._groups.extendleft(reversed(singles))
            return
        self.apart.take(singles[0])
        if is_held:
            return
        self._slow_in_a_row += 1
        if self._slow_in_a_row >= SLOW_IN_A_ROW:
            raise DatabaseAway(str(error), sent=False)

    def _taken(self, group: TurnGroup, found: list[bytes]) -> dict[UUID, str]:
        if group.statement == statements.NEW.name:
            return {}
        ours = {UUID(turn_id.decode()) for turn_id in found}
        said = (turn_id for turn_id, part in group.parts.items() if part.entries or part.pieces)
        return {turn_id: TAKEN for turn_id in said if turn_id not in ours}

    def _values(self, group: TurnGroup) -> list[bytes | None]:
        rows, process, owned = group.together(), str(self.process_id).encode(), _ids(group.parts)
        if group.statement == statements.PIECES.name:
            return [*_encoded([*parameters(rows.large), *rows.pieces]), owned, process]
        shared = _encoded(rows.parameters(self._known.lacking(rows.nodes)))
        if group.statement == statements.NEW.name:
            open_ids = _ids(turn_id for turn_id in group.parts if turn_id not in group.ended)
            return [*shared, rows.json(models.Turn), open_ids, process]
        ended = _ids(group.ended)
        return [*shared, listed(rows.ended), rows.json(models.Turn), owned, ended, process, listed(rows.told)]

    async def _is_there(self, group: TurnGroup, link: PgConnection) -> bool:
        """Whether the database has stored this group, although its confirmation was lost. A group is one transaction,
        so one of its rows is looked up."""
        turn_id, rows = next(iter(group.rows.items()))
        if group.statement == statements.NEW.name:
            return bool(await link.run(statements.HAS_TURN.name, [str(turn_id).encode()]))
        for turn_id, rows in group.rows.items():
            if rows.found_by is not None:
                name, key = rows.found_by
                return bool(await link.run(name, [str(part).encode() for part in (turn_id, *key)]))
        return False  # only what callers were told, which may be said twice

    def beat_due(self, now: float, *, open_turns: bool) -> bool:
        return open_turns and (self._beaten is None or now - self._beaten >= BEAT_SECONDS)

    async def beat(self) -> None:
        """Store that this process is alive, so that no other process takes over its open turns."""
        await self._link.run(statements.BEAT.name, [str(self.process_id).encode()])
        self._beaten = asyncio.get_running_loop().time()

    async def disown(self, turn_ids: Sequence[UUID]) -> list[UUID]:
        """Remove this process as the owner of these turns. Returns the turns whose rows another transaction has locked;
        call again for them later."""
        return [UUID(held.decode()) for held in await self._link.run(statements.DISOWN.name, [_ids(turn_ids)])]

    async def close(self) -> None:
        """Leave in order, as far as the database is there."""
        await self.apart.close()
        if self._link.is_open:
            with contextlib.suppress(DatabaseAway, RefusedError):
                await self._link.run(statements.LEAVE.name, [str(self.process_id).encode()])
        self._link.close()
        self._link_apart.close()
        self._thread.shutdown(wait=False)


def _statement_of(part: TurnUpdate, *, is_stored: bool) -> str:
    """By which a part is written."""
    if not is_stored:
        return statements.NEW.name
    return (statements.PIECES if part.has_only_pieces else statements.MORE).name


def _encoded(values: Iterable[bytes | list[bytes] | None]) -> list[bytes | None]:
    return [byte_strings(value) if isinstance(value, list) else value for value in values]


def _ids(turn_ids: Iterable[UUID]) -> bytes:
    return ("{" + ",".join(map(str, turn_ids)) + "}").encode()
