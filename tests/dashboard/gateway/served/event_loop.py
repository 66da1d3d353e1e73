"""Whether code runs on an event loop, where every other call waits for it."""

import asyncio


def is_on_the_event_loop() -> bool:
    """Whether this thread runs one."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
