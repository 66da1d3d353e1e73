"""What the supervisor hears from its processes: passed on to the others, or answered."""

import asyncio
from collections.abc import Coroutine
from typing import Any
from uuid import UUID

from dashboard.gateway.access.limits import KeyLimits
from dashboard.gateway.access.shared_counts import SharedCounts
from dashboard.runtime.processes.members import Member
from dashboard.runtime.processes.messages import (
    Answer,
    Connections,
    Listening,
    MayCall,
    News,
    Ready,
    Used,
    read,
)


class Hub:
    """Between all processes. `counts`: of keys with limits, which it keeps for all of them."""

    def __init__(self, counts: SharedCounts) -> None:
        self.members: dict[str, Member] = {}
        self._counts = counts
        self._listeners: dict[str, set[Member]] = {}
        self._answering: set[asyncio.Task[None]] = set()

    async def serve(self, member: Member) -> None:
        """Hear one process, until it says no more."""
        self.members[member.name] = member
        for group in self._listeners:
            member.tell(Listening(group, listens=True))
        try:
            while (message := await read(member.reader)) is not None:
                self._heard(member, message)
        finally:
            for group in [group for group, listeners in self._listeners.items() if member in listeners]:
                self._listens(member, group, listens=False)
            member.close()

    def forget(self, member: Member) -> None:
        """It no longer exists."""
        self.members.pop(member.name, None)

    def _heard(self, member: Member, message: object) -> None:
        match message:
            case Connections(taken, changes):
                member.has_taken(taken, changes)
            case MayCall(question, key_id, limits):
                self._soon(self._answer(member, question, key_id, limits))
            case Used(key_id, used, asked):
                self._soon(self._counts.charge(key_id, used, asked))
            case News(group):
                for listener in self._listeners.get(group, set()) - {member}:
                    listener.tell(message)
            case Listening(group, listens):
                self._listens(member, group, listens=listens)
            case Ready():
                member.ready.set()

    def _soon(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._answering.add(task)
        task.add_done_callback(self._answering.discard)

    async def _answer(self, member: Member, question: int, key_id: UUID, limits: KeyLimits) -> None:
        member.tell(Answer(question, await self._counts.admit(key_id, limits)))

    def _listens(self, member: Member, group: str, *, listens: bool) -> None:
        """Tell the others whether anybody beside them listens, where that has changed."""
        before = set(self._listeners.get(group, ()))
        after = before | {member} if listens else before - {member}
        if after:
            self._listeners[group] = after
        else:
            self._listeners.pop(group, None)
        for other in self.members.values():
            if bool(before - {other}) != bool(after - {other}):
                other.tell(Listening(group, listens=bool(after - {other})))
