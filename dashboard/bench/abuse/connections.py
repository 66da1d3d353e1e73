"""What a stranger can send without any key: halves of requests, bodies and headers without end, many checks."""

import contextlib
import select
import socket
import time
from itertools import cycle, islice

from dashboard.bench.abuse.attack_requests import PIECE, Request, Target, pour, send_all

HALF = b"GET / HTTP/1.1\r\nHost: x\r\nX-"
HALF_FORM = b"POST /sign-in/ HTTP/1.1\r\nHost: localhost\r\nContent-Length: 20000\r\n\r\n" + b"x" * 10_000
HALF_CALL = (
    b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %b\r\nContent-Length: %d\r\n\r\n{"
)
HALVES = 1_100
HELD_SECONDS = 6.0
CHECKS, CHECKERS = 1_681, 50
FLOODING, IN_ONE = 300, 60  #: connections, and requests that each sends at once
MOST_PIECES = 160  #: of a body: 10 MB
MOST_LINES = 1_000_000  #: of headers
PATHS = (
    "/sign-in/", "/healthz", "/share/x", "/nowhere", "/admin/login/", "/api/v1/turns", "/api/v1/turns/import",
    "/import", "/v1/chat/completions", "/v1/traces", "/metrics",
)  # fmt: skip
LENGTHS = {
    b"Content-Length: 12000000000": PIECE,
    b"Transfer-Encoding: chunked": b"%x\r\n%b\r\n" % (len(PIECE), PIECE),
}
LINES = {b"": b"a: b\r\n", b"X-One: ": PIECE}  #: how a head goes on, and what it repeats


def half_sent(target: Target) -> None:
    """Many connections, each with the beginning of a head, held open."""
    held(target, [HALF])


def half_bodies(target: Target) -> None:
    """Many connections, each with half a body, held open: of a stranger's form, and of calls with a key."""
    held(target, [HALF_FORM, *(HALF_CALL % (target.key.encode(), length) for length in (20_000, 2_000_000))])


def held(target: Target, halves: list[bytes]) -> None:
    """Many connections, each with the beginning of something, held open."""
    with contextlib.ExitStack() as stack:
        for half in islice(cycle(halves), HALVES):
            with contextlib.suppress(OSError):
                one = stack.enter_context(target.dial())
                one.sendall(half)
                target.answers["opened"] += 1
        time.sleep(HELD_SECONDS)


def bodies(target: Target) -> None:
    """Bodies that claim 12 GB, or have no end, to every kind of address."""
    for path, (length, piece) in cycle((path, item) for path in PATHS for item in LENGTHS.items()):
        if target.is_over:
            return
        head = b"POST %b HTTP/1.1\r\nHost: localhost\r\n%b\r\n\r\n" % (path.encode(), length)
        pour(target, head, islice(cycle([piece]), MOST_PIECES))


def headers(target: Target) -> None:
    """Heads without end: of many lines, and of one."""
    for begun, line in cycle(LINES.items()):
        if target.is_over:
            return
        block = line * (len(PIECE) // len(line))
        times = MOST_LINES * len(line) // len(block) if len(line) < len(PIECE) else MOST_PIECES
        pour(target, b"GET / HTTP/1.1\r\nHost: localhost\r\n" + begun, islice(cycle([block]), times))


def checks(target: Target) -> None:
    """Many callers of `/healthz`."""
    send_all(target, lambda number: Request("/healthz") if number < CHECKS else None, at_once=CHECKERS)


def pipelined(target: Target) -> None:
    """Many connections that each ask for the sign-in page again and again without waiting for an answer."""
    asked = b"GET /sign-in/ HTTP/1.1\r\nHost: localhost\r\n%b\r\n"
    forms = cycle([asked % b"", asked % b"Via: 1.1 a-proxy-that-nobody-trusts\r\n"])
    while not target.is_over:
        with contextlib.ExitStack() as stack:
            opened = []
            for form in islice(forms, FLOODING):
                with contextlib.suppress(OSError):
                    opened.append(stack.enter_context(target.dial()))
                    opened[-1].sendall(form * IN_ONE)
            _answers(opened, target)


def _answers(opened: list[socket.socket], target: Target) -> None:
    """Count what all of them are answered, until they are closed or the time is over."""
    left = set(opened)
    while left and not target.is_over:
        for one in select.select(left, [], [], 0.1)[0]:
            said = b""
            with contextlib.suppress(OSError):
                said = one.recv(1 << 20)
            if not said:
                left.discard(one)
            for piece in said.split(b"HTTP/1.1 ")[1:]:
                target.answers[piece[:3].decode("latin-1")] += 1
