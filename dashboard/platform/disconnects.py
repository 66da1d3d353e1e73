"""That the client of a request has hung up: nobody reads the answer, so the work on it stops.

The server tells by `ClientConnection.close`, in the event loop; a thread that works looks, or is told. A statement of
the database that runs meanwhile is cancelled.
"""

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

import psycopg
from django.db import Error, connections
from django.http import HttpRequest

SCOPE_KEY = "whystop.client"  #: in an ASGI scope: a `ClientConnection`
_CANCEL_SECONDS = 2.0


class CutShortError(Exception):
    """An answer that may not be finished. Its connection is closed, so half of it is not taken for the whole."""


class ClientGoneError(BaseException):
    """Stops the work. No `Exception`: nobody between takes it for a fault of theirs."""


class _End:
    """What ends one piece of work: called once at most, and never when the work is over.

    What it works on, such as a connection of the pool, is somebody else's by then.
    """

    def __init__(self, end: Callable[[], None]) -> None:
        self._end, self._over, self._lock = end, False, threading.Lock()

    def __call__(self) -> None:
        with self._lock:
            if not self._over:
                self._over = True
                self._end()

    def over(self) -> None:
        """The work is over. Waits where its end is just being called."""
        with self._lock:
            self._over = True


class ClientConnection:
    """Of one request, whether its client is still there."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._ends: list[_End] = []
        self.closed = threading.Event()

    def leave(self) -> list[_End]:
        """The client has gone: what is to be called, in a thread, so that what works for it ends."""
        with self._lock:
            self.closed.set()
            return [*self._ends]

    def close(self) -> None:
        """The client has gone: end what works for it. It may block for a moment."""
        for end in self.leave():
            end()

    @contextmanager
    def ending(self, end: Callable[[], None]) -> Iterator[None]:
        """`end` is called, in another thread, when the client goes within the block, which is not left while it runs.
        Raises `ClientGoneError` where it has gone before."""
        one = _End(end)
        with self._lock:
            if self.closed.is_set():
                raise ClientGoneError
            self._ends.append(one)
        try:
            yield
        finally:
            with self._lock:
                self._ends.remove(one)
            one.over()

    @contextmanager
    def statements_end(self) -> Iterator[None]:
        """The statements of this thread within the block are ended with the client, in whichever database they run."""
        with ExitStack() as wrapped:
            for connection in connections.all():
                wrapped.enter_context(connection.execute_wrapper(self._executed))
            yield

    def _executed(self, execute: Callable[..., Any], sql: Any, params: Any, many: bool, context: Any) -> Any:
        cancel = _Cancel(context["connection"].connection)
        try:
            with self.ending(cancel):
                return execute(sql, params, many, context)
        except (Exception, ClientGoneError) as error:
            if not self.closed.is_set():
                raise
            with suppress(Error, psycopg.Error):
                context["cursor"].close()  # which Django does for an `Exception`
            raise ClientGoneError from error
        finally:
            cancel.settle()


class _Cancel:
    """Ends the statement that runs on this connection."""

    def __init__(self, database: "psycopg.Connection[Any]") -> None:
        self._database, self._may_come = database, False

    def __call__(self) -> None:
        try:
            self._database.cancel_safe(timeout=_CANCEL_SECONDS)
        except psycopg.Error:
            self._may_come = True

    def settle(self) -> None:
        """After the statement: a cancel that the server has not confirmed may still come, so nobody else gets this
        connection. Raises `ClientGoneError` then."""
        if self._may_come:
            self._database.close()
            raise ClientGoneError


def client_of(request: HttpRequest) -> ClientConnection | None:
    """None where nobody tells: in a process of its own, and in tests."""
    scope: Mapping[str, Any] = getattr(request, "scope", {})
    return scope.get(SCOPE_KEY)
