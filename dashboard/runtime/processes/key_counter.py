"""Counts calls of keys with limits through the supervisor, which counts for all processes."""

from uuid import UUID

from agentcore.messages import TokenUsage
from dashboard.gateway.access.key_meter import PricedModel
from dashboard.gateway.access.limits import KeyLimits
from dashboard.gateway.access.refusals import Refusal
from dashboard.runtime.processes.link import Link
from dashboard.runtime.processes.messages import Used


class CountedElsewhere:
    """A `Counter` of the gateway's (dashboard.gateway.access.callers)."""

    def __init__(self, link: Link) -> None:
        self._link = link

    async def admit(self, key_id: UUID, limits: KeyLimits) -> Refusal | None:
        return await self._link.may_call(key_id, limits)

    def charge(self, key_id: UUID, used: TokenUsage, asked: PricedModel) -> None:
        self._link.send(Used(key_id, used, asked))
