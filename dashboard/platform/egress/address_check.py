"""Checks an address against the egress rules when a connection is made."""

import asyncio
import socket

from django.conf import settings

from dashboard.platform.egress import addresses
from dashboard.platform.egress.addresses import Kind
from dashboard.platform.egress.rules import Rules, host_of

#: What a message says of an address; never the address, which would tell how the names inside a network resolve.
WORDS = {
    Kind.PUBLIC: "a public address",
    Kind.PRIVATE: "a private address",
    Kind.LOOPBACK: "this machine itself",
    Kind.LINK_LOCAL: "a link-local address",
    Kind.METADATA: "a cloud's metadata address",
    Kind.RESERVED: "a reserved address",
}

OF_THE_PROXY = "it is this machine itself, and a proxy would call its own machine instead; add the host to NO_PROXY"


def rules() -> Rules:
    """Those in force."""
    found: Rules = settings.EGRESS
    return found


def refusal(host: str, port: int, address: str) -> str | None:
    """Why this host may not be connected to at this address, as the end of a sentence; None: it may."""
    read = addresses.read(address)
    if read is None:
        return "its address cannot be read"
    kind = rules().refused(host, port, read)
    return None if kind is None else in_words(kind)


def in_words(kind: Kind) -> str:
    return f"it is at {WORDS[kind]}, which WHYSTOP_EGRESS does not allow"


async def resolved(host: str, port: int) -> tuple[str, ...]:
    """The addresses of a host, in the order in which to try them; OSError where its name is not known."""
    literal = addresses.read(host)
    if literal is not None:
        return (str(literal),)
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return tuple(dict.fromkeys(str(address[0]) for *_, address in found))


def _is_near(address: str) -> bool:
    read = addresses.read(address)
    return read is not None and any(face.is_loopback for face in addresses.faces(read))


async def refusal_by_proxy(host: str, port: int) -> str | None:
    """Why a proxy may not be asked to connect to this host; None: it may.

    The proxy resolves the name itself. Ours is judged as far as it is known here: a name that this machine cannot
    resolve counts as public. What is on this machine is not for the proxy: there the same name leads to its own.
    """
    if host_of(host) in addresses.METADATA_NAMES and not rules().allows_name(host, port):
        return in_words(Kind.METADATA)
    try:
        found = await resolved(host, port)
    except (OSError, UnicodeError):
        return None if rules().allows_unknown(host, port) else "WHYSTOP_EGRESS does not allow this host"
    if any(_is_near(address) for address in found):
        return OF_THE_PROXY
    return next((why for address in found if (why := refusal(host, port, address)) is not None), None)
