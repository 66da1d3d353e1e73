"""Driving turns in tests as a worker would, without the queue."""

import asyncio
from collections.abc import Callable

from dashboard.agents.models import Agent
from dashboard.live.driver import Driver
from dashboard.live.signal_inbox import SignalInbox
from dashboard.live.transport import Transport
from dashboard.turns.models import Turn

AgentOf = Callable[..., Agent]
Play = Callable[..., Turn]


async def driven(turn: Turn) -> None:
    """Drive a queued turn to where it stops, as a worker would."""
    async with Transport() as transport:
        await Driver(turn.id, transport, SignalInbox()).drive()


def drive(turn: Turn) -> Turn:
    """The turn, as it is after it was driven to where it stops."""
    asyncio.run(driven(turn))
    turn.refresh_from_db()
    return turn
