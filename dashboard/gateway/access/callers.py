"""Who calls: a key or a user's token, and what it may do. Values of one moment; their counts are the meter's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol
from uuid import UUID

from agentcore.messages import TokenUsage
from dashboard.gateway.access import key_meter, refusals
from dashboard.gateway.access.key_meter import KeyMeter, PricedModel
from dashboard.gateway.access.limits import NO_LIMITS, KeyLimits
from dashboard.gateway.access.refusals import Refusal


class Counter(Protocol):
    """Who counts the calls of keys with limits where several processes serve: one for all of them."""

    async def admit(self, key_id: UUID, limits: KeyLimits) -> Refusal | None:
        """Count a call, or say why it may not begin."""

    def refusal(self, key_id: UUID, limits: KeyLimits) -> Refusal | None:
        """Why a call may not begin, as far as this process knows at once. Counts nothing."""

    def charge(self, key_id: UUID, used: TokenUsage, asked: PricedModel) -> None:
        """A call that was let through has used this much."""


counter: Counter | None = None  #: None: this process counts by itself


@dataclass(frozen=True, slots=True)
class Target:
    """What an alias stands for, by names: an agent, or a model at a connection."""

    agent: str | None
    connection: str | None
    model: str


@dataclass(frozen=True, slots=True)
class Caller:
    """`project`: its id. `user_id`: whose token, or who made the key. `mode`: wins over an agent's."""

    project: UUID
    name: str
    user_id: int | None
    key_id: UUID | None = None  #: None: a user's token
    mode: str | None = None
    default_connection: str | None = None  #: where what names no model goes
    scope: frozenset[str] = frozenset()  #: empty: everything
    limits: KeyLimits = NO_LIMITS
    digest: str = field(default="", compare=False, repr=False)  #: of the secret it came with
    aliases: Mapping[str, Target] = field(default_factory=dict, compare=False, repr=False)  #: of its project, by name
    meter: KeyMeter | None = field(default=None, compare=False, repr=False)

    def allows(self, *, agent: str | None, connection: str, model: str) -> Refusal | None:
        """Whether it may call this. An alias gives no right of its own: what it stands for is asked here."""
        if not self.scope:
            return None
        wanted = agent if agent is not None else f"{connection}/{model}"
        if wanted in self.scope or (agent is None and f"{connection}/*" in self.scope):
            return None
        return refusals.out_of_scope(key=self.name, wanted=wanted)

    def refusal(self) -> Refusal | None:
        """Why a call may not begin, as far as this process knows at once: asked before work is done on a request.
        Counts nothing; `admit` decides."""
        if self.meter is None or self.limits == NO_LIMITS:
            return None
        if counter is not None:
            return counter.refusal(self.meter.key_id, self.limits)
        return self.meter.refusal(self.limits, key_meter.now())

    async def admit(self) -> Refusal | None:
        """Count a call that is about to begin, or say why it may not. Once per call, after `allows`."""
        if self.meter is None:
            return None
        if counter is not None and self.limits != NO_LIMITS:
            return await counter.admit(self.meter.key_id, self.limits)
        return self.meter.admit(self.limits, key_meter.now())

    def charge(self, used: TokenUsage | None, *, provider: str, model: str, address: str = "") -> None:
        """What a call has used, once it has ended; with several calls upstream, once for each. `address`: its URL."""
        if self.meter is None or used is None:
            return
        asked = PricedModel(provider, model, address)
        if counter is not None and self.limits != NO_LIMITS:
            counter.charge(self.meter.key_id, used, asked)
        else:
            self.meter.charge(used, asked, key_meter.now())
