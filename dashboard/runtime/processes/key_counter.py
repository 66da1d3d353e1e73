"""Counts calls of keys with limits through the supervisor, which counts for all processes."""

from dataclasses import dataclass
from time import monotonic as _now
from uuid import UUID

from agentcore.messages import TokenUsage
from dashboard.gateway.access.key_meter import PricedModel
from dashboard.gateway.access.limits import KeyLimits
from dashboard.gateway.access.refusals import Refusal
from dashboard.runtime.processes.link import Link
from dashboard.runtime.processes.messages import Used

KEPT_SECONDS = 1.0  #: that a refusal is remembered, so that a key beyond its limits causes little work in the meantime


@dataclass(frozen=True, slots=True)
class _Refused:
    limits: KeyLimits
    refusal: Refusal
    until: float


class CountedElsewhere:
    """A `Counter` of the gateway's (dashboard.gateway.access.callers)."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._refused: dict[UUID, _Refused] = {}

    async def admit(self, key_id: UUID, limits: KeyLimits) -> Refusal | None:
        refusal = await self._link.may_call(key_id, limits)
        if refusal is None:
            self._refused.pop(key_id, None)
        else:
            wait = KEPT_SECONDS if refusal.retry_after is None else min(KEPT_SECONDS, refusal.retry_after)
            self._refused[key_id] = _Refused(limits, refusal, _now() + wait)
        return refusal

    def refusal(self, key_id: UUID, limits: KeyLimits) -> Refusal | None:
        """The last one while it is fresh: the supervisor is not asked before a body is read, which would make each call
        of a key with limits wait for it twice."""
        last = self._refused.get(key_id)
        if last is None or last.limits != limits or _now() > last.until:
            return None
        return last.refusal

    def charge(self, key_id: UUID, used: TokenUsage, asked: PricedModel) -> None:
        self._link.send(Used(key_id, used, asked))
