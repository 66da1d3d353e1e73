"""What somebody with a token can do by websockets: many that each show something else, and frames without end."""

import contextlib
import select
import socket
from collections.abc import Callable, Iterator
from itertools import chain, cycle, product, repeat

from dashboard.bench.abuse.attack_requests import NOTHING, PIECE, Target
from dashboard.bench.abuse.connections import held

MANY = 400  #: sockets
FLOODING = 60  #: of them, that send without end
CLAIMED = 3_900_000  #: bytes of a frame that never comes whole
_HANDSHAKE = (
    b"GET %b HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %b\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
)
_ENDS = b"\r\n"
#: What else a handshake may hold: nothing, another site's page with a session, more fields than are taken.
_MORE = (
    b"",
    b"Origin: http://elsewhere.example\r\nCookie: sessionid=stolen\r\n",
    b"X-Long: " + b"x" * 20_000 + b"\r\n",
)
_MASK = bytes(4)
_TAILS = (b'{"tail":"pause"}', b'{"tail":"resume"}')
#: What is sent again and again: words, pings, pieces of a message that never ends, pages held and let go.
FRAMES = (
    (b"\x81\x84" + _MASK + b"text") * 500,
    (b"\x89\x84" + _MASK + b"ping") * 500,
    (b"\x00\x80" + _MASK) * 1_000,
    b"".join(bytes([0x81, 0x80 | len(said)]) + _MASK + said for said in _TAILS) * 20,
)
BEGUN = b"\x01\x80" + _MASK  #: the first piece of a message
HALF = b"\x81\xff" + CLAIMED.to_bytes(8) + _MASK  #: the beginning of a frame


def subjects(target: Target) -> None:
    """Each page shows other turns, so each is looked up for itself, again and again."""
    _opened(target, lambda number: f"/ws/timeline/?q=x{number}", MANY, lambda _: iter(()))


def handshakes(target: Target) -> None:
    """Sockets that are opened and closed, with a token and without, from other sites, and with much in their heads."""
    for token, more in cycle(product((target.token, "wrong", ""), _MORE)):
        if target.is_over:
            return
        with contextlib.suppress(OSError), target.dial() as one:
            one.sendall(_HANDSHAKE % (b"/ws/inbox/", token.encode()) + more + _ENDS)
            target.answers[_status(one)] += 1


def unfinished(target: Target) -> None:
    """Many handshakes that never end, held open."""
    held(target, [_HANDSHAKE % (b"/ws/inbox/", token.encode()) for token in (target.token, "")])


def frames(target: Target) -> None:
    """Sockets that send as much as is taken."""
    _opened(target, lambda _: "/ws/timeline/", FLOODING, lambda n: chain([BEGUN], repeat(FRAMES[n % len(FRAMES)])))


def halves(target: Target) -> None:
    """Sockets that each send nearly all of a large frame, and no more."""
    _opened(target, lambda _: "/ws/inbox/", MANY, lambda _: chain([HALF], repeat(PIECE, CLAIMED // len(PIECE))))


def _opened(target: Target, path: Callable[[int], str], many: int, sent: Callable[[int], Iterator[bytes]]) -> None:
    """So many sockets, each of which sends its own as far as it is taken, until the time is over."""
    with contextlib.ExitStack() as stack:
        opened: list[_Socket] = []
        for number in range(many):
            with contextlib.suppress(OSError):
                one = stack.enter_context(target.dial())
                one.sendall(_HANDSHAKE % (path(number).encode(), target.token.encode()) + _ENDS)
                opened.append(_Socket(one, sent(number)))
        while not target.is_over:
            live = [one for one in opened if one.is_open]
            readable, writable, _ = select.select(live, [one for one in live if one.has_more], [], 0.05)
            for heard in readable:
                heard.hear()
            for told in writable:
                told.say()
        target.answers.update(one.status for one in opened)


class _Socket:
    """One socket of an attacker, which does not wait for itself. `sent`: what it sends."""

    def __init__(self, connection: socket.socket, sent: Iterator[bytes]) -> None:
        connection.setblocking(False)
        self._connection, self._sent, self._rest = connection, sent, b""
        self.status, self.is_open, self.has_more = NOTHING, True, False

    def fileno(self) -> int:
        return self._connection.fileno()

    def hear(self) -> None:
        said = b""
        with contextlib.suppress(OSError):
            said = self._connection.recv(65_536)
        self.is_open = bool(said)
        if self.status == NOTHING and said:
            self.status = said[9:12].decode("latin-1")
            self.has_more = self.status == "101"  # before it, frames would be a second request

    def say(self) -> None:
        self._rest = self._rest or next(self._sent, b"")
        self.has_more = bool(self._rest)
        with contextlib.suppress(OSError):
            self._rest = self._rest[self._connection.send(self._rest) :]


def _status(one: socket.socket) -> str:
    with contextlib.suppress(OSError):
        return one.recv(4_096)[9:12].decode("latin-1") or NOTHING
    return NOTHING
