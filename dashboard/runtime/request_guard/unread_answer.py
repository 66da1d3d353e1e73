"""How much memory an HTTP answer takes that its client has still to read."""

from typing import Any

import structlog

from dashboard.platform.kept_answers import SCOPE_KEY, KeptAnswer

log = structlog.get_logger(__name__)


class UnreadAnswer:
    """Of one request. `cycle` is uvicorn's; None: no request has come yet."""

    def __init__(self) -> None:
        self._body = 0  #: bytes of an answer of known length, which its application has whole until it is sent

    def size(self, cycle: Any, buffered: int) -> int:
        """Bytes that are written (`buffered`), or that the application keeps."""
        if cycle is None:
            return buffered
        is_sent = not cycle.response_started or cycle.response_complete
        self._body = 0 if is_sent else max(self._body, cycle.expected_content_length)
        return buffered + self._body + _kept(cycle).size

    def give_up(self, cycle: Any, buffered: int) -> bool:
        """Whether the application lets go of what it keeps: it then says why, and ends, once its client reads."""
        log.info("client_reads_too_little", unread=self.size(cycle, buffered))
        kept = None if cycle is None else _kept(cycle)
        if kept is None or kept.give_up is None or not kept.size:
            return False
        kept.give_up()
        return True

    def end(self, cycle: Any) -> None:
        """The connection has ended: nothing is kept for it."""
        if cycle is not None:
            _kept(cycle).end()


def _kept(cycle: Any) -> KeptAnswer:
    kept: KeptAnswer = cycle.scope[SCOPE_KEY]
    return kept
