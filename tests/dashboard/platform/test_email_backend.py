"""A mail server that answers byte by byte holds a message up for a bounded time."""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import pytest
from django.conf import settings
from django.core.mail import EmailMessage, get_connection

from dashboard.platform import email_backend

SECONDS = 1.0
DRIP = 0.05  #: seconds between two bytes: no single wait is ever too long


@contextmanager
def server(answer: Callable[[socket.socket], None]) -> Iterator[int]:
    """Listens until the block ends; gives its port."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            with suppress(OSError):
                client, _ = listening.accept()
                with client:
                    answer(client)

        threading.Thread(target=serve, daemon=True).start()
        yield listening.getsockname()[1]


def greeting_without_end(client: socket.socket) -> None:
    _drip(client)


def answer_without_end(client: socket.socket) -> None:
    client.sendall(b"220 here\r\n")
    client.recv(1000)
    _drip(client)


def more_lines_without_end(client: socket.socket) -> None:
    while True:
        client.sendall(b"220-more\r\n")
        time.sleep(DRIP)


def handshake_without_end(client: socket.socket) -> None:
    client.sendall(b"220 here\r\n")
    client.recv(1000)
    client.sendall(b"250-here\r\n250 STARTTLS\r\n")
    client.recv(1000)
    client.sendall(b"220 go\r\n")
    client.recv(10_000)
    client.sendall(b"\x16\x03\x03\x3f\xff\x02\x00\x3f\xfb")  # a record whose bytes are still to come
    _drip(client)


def record_without_end(client: socket.socket) -> None:
    client.recv(10_000)
    client.sendall(b"\x16\x03\x03\x3f\xff\x02\x00\x3f\xfb")
    _drip(client)


def _drip(client: socket.socket) -> None:
    while True:
        client.sendall(b"2")
        time.sleep(DRIP)


@pytest.mark.parametrize(
    ("answer", "how"),
    [
        (greeting_without_end, {}),
        (answer_without_end, {}),
        (more_lines_without_end, {}),
        (handshake_without_end, {"use_tls": True}),
        (record_without_end, {"use_ssl": True}),
    ],
)
def test_a_server_that_answers_byte_by_byte_is_given_up(
    answer: Callable[[socket.socket], None], how: dict[str, bool], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(email_backend, "SECONDS_IN_ALL", SECONDS)
    failures: list[Exception] = []
    with server(answer) as port:

        def send() -> None:
            using = get_connection(
                f"{email_backend.__name__}.TimedEmailBackend", host="127.0.0.1", port=port, timeout=60, **how
            )
            try:
                EmailMessage("subject", "body", to=["a@mail.example"], connection=using).send()
            except Exception as error:
                failures.append(error)

        sending = threading.Thread(target=send, daemon=True)
        sending.start()
        sending.join(20 * SECONDS)

    assert not sending.is_alive()
    assert failures


def refused(client: socket.socket) -> None:
    client.sendall(b"554 go away\r\n")


def no_tls(client: socket.socket) -> None:
    client.sendall(b"220 here\r\n")
    client.recv(10_000)
    client.sendall(b"250-here\r\n250 STARTTLS\r\n")
    client.recv(10_000)
    client.sendall(b"220 go on\r\nno tls")


@pytest.mark.parametrize(("answer", "how"), [(refused, {}), (refused, {"use_ssl": True}), (no_tls, {"use_tls": True})])
def test_no_connection_is_left_once_a_message_has_been_given_up(
    answer: Callable[[socket.socket], None], how: dict[str, bool]
):
    before = set(threading.enumerate())
    with server(answer) as port:
        using = get_connection(f"{email_backend.__name__}.TimedEmailBackend", host="127.0.0.1", port=port, **how)
        with pytest.raises(OSError, match=r"go away|SSL"):
            EmailMessage("subject", "body", to=["a@mail.example"], connection=using).send()

    timers = [one for one in set(threading.enumerate()) - before if isinstance(one, threading.Timer)]
    assert all(timer.finished.is_set() for timer in timers)


def test_the_installation_uses_this_backend():
    from dashboard import settings as own

    assert own.EMAIL_BACKEND.endswith("email_backend.TimedEmailBackend")
    assert settings.EMAIL_TIMEOUT < email_backend.SECONDS_IN_ALL
