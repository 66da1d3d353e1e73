"""What runs in one of several processes: its supervisor has made the database ready and taken the ports, and counts the
calls of keys with limits for all processes."""

import shutil
import socket
from dataclasses import dataclass
from time import monotonic as _now
from uuid import UUID

from agentcore.messages import TokenUsage
from dashboard.gateway.access import callers
from dashboard.gateway.access.key_meter import PricedModel
from dashboard.gateway.access.limits import KeyLimits
from dashboard.gateway.access.refusals import Refusal
from dashboard.platform.process_identity import ProcessIdentity
from dashboard.runtime.application_parts import parts_of
from dashboard.runtime.processes.connection_handover import HandedConnections, ReportedCensus
from dashboard.runtime.processes.link import Link, link
from dashboard.runtime.processes.messages import Ready, Used
from dashboard.runtime.request_guard.resource_limits import ResourceLimits
from dashboard.runtime.server import serve


def run_in(place: ProcessIdentity, bounds: ResourceLimits, *, worker: bool) -> None:
    """Serve, or work, until a signal or until the supervisor is gone."""
    assert link is not None, "a process with a place has a link"
    callers.counter = CountedElsewhere(link)
    census = ReportedCensus(bounds, link)
    parts = parts_of(
        HandedConnections(place.arriving, census) if place.arriving is not None else None,
        socket.socket(fileno=place.simulator) if place.simulator is not None else None,
        worker=worker,
        census=census,
        announce=lambda: link.send(Ready()),
        supervised=link.run,
    )
    try:
        serve(parts)
    finally:
        if link.is_alone:  # nobody else would remove what all of them shared
            shutil.rmtree(place.shared, ignore_errors=True)


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
