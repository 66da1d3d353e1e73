"""Limits on what unauthenticated clients may use of this process, each and all together."""

from dataclasses import dataclass

from dashboard.platform.trusted_proxies import NOBODY, Proxies

HEAD_BYTES = 16 * 1024  #: the request line and all header fields, trailers included
WHOLE_BODY = 32_768  #: bytes of a body that are here, all of them, before anything works on the request
WIRE_RATIO = 17  #: bytes that a byte of a chunked body may take: chunks of one byte with a short extension
HEAD_FIELDS = 256  #: of a head: each costs the parser a call, however short it is
PIPELINED = 8  #: requests of one connection that wait for the answer to one before them: each is parsed when it comes


@dataclass(frozen=True, slots=True)
class ResourceLimits:
    """Limits on the connections of one process."""

    connections: int = 4_096  #: at once, of all addresses
    per_address: int = 256  #: at once, of one address that is not this machine's; 0: no such bound
    head_seconds: float = 10.0  #: from the connection, or the first byte of a further request, to the end of its head
    body_seconds: float = 20.0  #: that a client may be slower than `body_rate`
    body_rate: float = 4_096.0  #: bytes of a body in a second
    linger_seconds: float = 2.0  #: that a client still has to read an answer that came before its body was sent
    stalled_seconds: float = 30.0  #: in which a client has to take `stalled_bytes` of an answer that waits for it
    stalled_bytes: int = 8_192
    unread_bytes: int = 256_000_000  #: that all clients together have not taken of what was written for them
    dropped_bytes: int = 64_000_000  #: read between two looks, of all clients that send on after their answer
    frame_share: float = 0.05  #: of the event loop's time, for reading what all websockets send
    handshake_share: float = 0.15  #: of the event loop's time, for answering the handshakes of websockets
    frame_bytes: int = 64_000_000  #: of what all websockets have sent that is not whole, or waits to be looked at
    sweep_seconds: float = 1.0  #: between two looks at those that wait
    proxies: Proxies = NOBODY  #: whose connections are not counted by address
