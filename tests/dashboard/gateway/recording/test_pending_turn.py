"""Who waits for the database, and when they are told that it does not answer."""

import asyncio

import pytest

from dashboard.gateway.recording.pending_turn import PATIENCE_SECONDS, NotStoredError, PendingTurn, fail_expired_waiters
from dashboard.gateway.recording.recorder_messages import TurnUpdate
from dashboard.platform.ids import new_id

NOW = 100.0
LONG = NOW - 2 * PATIENCE_SECONDS


async def told(*, waiting_bytes: int = 0, stored_at: float = 0.0) -> bool:
    """Whether one who has waited for twice the patience hears that nothing was stored."""
    part = TurnUpdate(LONG)
    waiting = asyncio.get_running_loop().create_future()
    part.waiting.append((LONG, waiting))
    fail_expired_waiters([PendingTurn(new_id(), part=part)], NOW, waiting_bytes=waiting_bytes, stored_at=stored_at)
    if not waiting.done():
        assert part.waiting
        return False
    assert not part.waiting
    with pytest.raises(NotStoredError):
        waiting.result()
    return True


async def test_a_caller_waiting_for_an_unresponsive_database_is_told():
    assert await told()
    assert await told(stored_at=LONG)


async def test_the_wait_is_longer_while_much_is_being_stored():
    assert not await told(waiting_bytes=48_000_000)


async def test_data_after_something_large_was_stored_gets_a_new_wait():
    """The large part of a turn was stored after seconds; its end, which is small, has waited as long and comes next."""
    assert not await told(waiting_bytes=4_000, stored_at=NOW - 0.02)
