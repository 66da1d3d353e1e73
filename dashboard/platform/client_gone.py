"""That the client of a request has hung up: nobody reads the answer, so the work on it stops.

The server tells by `ClientConnection.close`, in the event loop; a thread that works looks, or is told. A statement of
the database that runs meanwhile is cancelled.
"""

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

import psycopg
from django.db import Error, connection
from django.http import HttpRequest

SCOPE_KEY = "whystop.client"  #: in an ASGI scope: a `ClientConnection`
_CANCEL_SECONDS = 2.0


class ClientGoneError(BaseException):
    """Stops the work. No `Exception`: nobody between takes it for a fault of theirs."""


class ClientConnection:
    """Of one request, whether its client is still there."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._ends: list[Callable[[], None]] = []
        self.closed = threading.Event()

    def close(self) -> None:
        """The client has gone: end what works for it. It may block for a moment."""
        with self._lock:
            self.closed.set()
            ends = [*self._ends]
        for end in ends:
            end()

    @contextmanager
    def ending(self, end: Callable[[], None]) -> Iterator[None]:
        """`end` is called, in another thread, when the client goes within the block. Raises `ClientGoneError` where it
        has gone before."""
        with self._lock:
            if self.closed.is_set():
                raise ClientGoneError
            self._ends.append(end)
        try:
            yield
        finally:
            with self._lock:
                self._ends.remove(end)

    @contextmanager
    def statements_end(self) -> Iterator[None]:
        """The statements of this thread within the block are ended with the client."""
        with connection.execute_wrapper(self._executed):
            yield

    def _executed(self, execute: Callable[..., Any], sql: Any, params: Any, many: bool, context: Any) -> Any:
        database = context["connection"].connection
        try:
            with self.ending(lambda: _cancel(database)):
                return execute(sql, params, many, context)
        except (Exception, ClientGoneError) as error:
            if not self.closed.is_set():
                raise
            with suppress(Error, psycopg.Error):
                context["cursor"].close()  # which Django does for an `Exception`
            raise ClientGoneError from error


def client_of(request: HttpRequest) -> ClientConnection | None:
    """None where nobody tells: in a process of its own, and in tests."""
    scope: Mapping[str, Any] = getattr(request, "scope", {})
    return scope.get(SCOPE_KEY)


def _cancel(database: "psycopg.Connection[Any]") -> None:
    with suppress(psycopg.Error):
        database.cancel_safe(timeout=_CANCEL_SECONDS)
