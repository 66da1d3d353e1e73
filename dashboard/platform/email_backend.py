"""E-mail sent within a limit of time: a server that answers byte by byte holds up no other message."""

import smtplib
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from django.core.mail.backends.smtp import EmailBackend

#: From the connection to the last answer. `email_server.SECONDS` of one answer begin anew with each byte.
SECONDS_IN_ALL = 30.0


class _Timed(smtplib.SMTP):
    """Its connection ends when its time is over, whatever it is waiting for."""

    _timer: threading.Timer | None = None
    _watched: socket.socket | None = None

    def _get_socket(self, *to: Any) -> socket.socket:
        connected: socket.socket = super()._get_socket(*to)  # type: ignore[misc]
        # TLS takes the socket over, so it is ended by another descriptor.
        self._watched = connected.dup()
        self._timer = threading.Timer(SECONDS_IN_ALL, _end, (self._watched,))
        self._timer.daemon = True
        self._timer.start()
        return connected

    def starttls(self, *given: Any, **named: Any) -> Any:
        with _or_closed(self):
            return super().starttls(*given, **named)

    def login(self, *given: Any, **named: Any) -> Any:
        with _or_closed(self):
            return super().login(*given, **named)

    def close(self) -> None:
        if self._timer is not None and self._watched is not None:
            self._timer.cancel()
            self._watched.close()
        super().close()


class _TimedTLS(smtplib.SMTP_SSL, _Timed):
    """The same where all is encrypted."""

    def _get_socket(self, *to: Any) -> socket.socket:
        with _or_closed(self):
            encrypted: socket.socket = super()._get_socket(*to)
            return encrypted


@contextmanager
def _or_closed(connection: smtplib.SMTP) -> Iterator[None]:
    """Nothing of a connection is left that was not made whole."""
    try:
        yield
    except BaseException:
        connection.close()
        raise


class TimedEmailBackend(EmailBackend):
    """Django's own, but for the time that it may take."""

    @property
    def connection_class(self) -> type[smtplib.SMTP]:
        return _TimedTLS if self.use_ssl else _Timed


def _end(connection: socket.socket) -> None:
    with connection, suppress(OSError):  # it has ended by itself
        connection.shutdown(socket.SHUT_RDWR)
