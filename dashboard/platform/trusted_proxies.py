"""Proxies that are trusted, and what they say of the client in front of them."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

Headers = Iterable[tuple[bytes, bytes]]
Address = IPv4Address | IPv6Address
LONGEST = 100  #: characters of an address that is kept


@dataclass(frozen=True, slots=True)
class Proxies:
    """Addresses whose `X-Forwarded-For`, `X-Forwarded-Proto` and `Forwarded` are believed (WHYSTOP_TRUSTED_PROXIES)."""

    networks: tuple[IPv4Network | IPv6Network, ...] = ()

    @classmethod
    def read(cls, text: str) -> "Proxies":
        """Addresses and networks, by comma. Raises ValueError, which names the entry that is neither."""
        return cls(tuple(_network(entry.strip()) for entry in text.split(",") if entry.strip()))

    def __bool__(self) -> bool:
        return bool(self.networks)

    def trust(self, host: str | None) -> bool:
        """Whether this address is one of them."""
        address = address_of(host or "")
        return address is not None and any(
            address in network for network in self.networks if network.version == address.version
        )


NOBODY = Proxies()


@dataclass(frozen=True, slots=True)
class Client:
    """The client of a request."""

    address: str  #: as the connection has it, or else as a trusted proxy says
    scheme: str | None = None  #: `http` or `https`, as a trusted proxy says
    proxied: bool = False  #: by a trusted proxy, whatever it says


def client_of(peer: str, headers: Headers, proxies: Proxies) -> Client:
    """Who is behind this connection: the right-most address that is no trusted proxy's.

    Where `X-Forwarded-For` and `Forwarded` name two clients, the proxy set one of them and the client may have sent the
    other: then neither counts, and the address is the proxy's own.
    """
    if not proxies.trust(peer):
        return Client(peer)
    told = [(name.lower(), value.decode("latin-1")) for name, value in headers]
    elements = list(_elements(told))
    chains = [list(_listed(told, b"x-forwarded-for")), [_value(element, "for") for element in elements]]
    named = {_rightmost(chain, peer, proxies.trust) for chain in chains if any(chain)}
    said = {scheme.lower() for scheme in (*list(_listed(told, b"x-forwarded-proto"))[-1:], _proto(elements)) if scheme}
    scheme = said.pop() if len(said) == 1 else None
    known = scheme if scheme in ("http", "https") else None
    return Client(named.pop() if len(named) == 1 else peer, known, proxied=True)


def address_of(text: str) -> Address | None:
    """The address in `1.2.3.4`, `1.2.3.4:80`, `::1` or `[::1]:80`; an IPv4 one that is mapped into IPv6 as itself."""
    return _read(text) if len(text) <= LONGEST else _read.__wrapped__(text)


@lru_cache(maxsize=1024)
def _read(text: str) -> Address | None:
    """Most requests come from a few addresses, which are read once each."""
    text = text.strip()
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        address = ip_address(text)
    except ValueError:
        return None
    return address.ipv4_mapped or address if isinstance(address, IPv6Address) else address


def customer_of(host: str | None) -> str | None:
    """What counts as one address: an IPv4 address, or all of an IPv6 /64. None: it is no address."""
    address = address_of(host or "")
    if isinstance(address, IPv6Address) and not address.is_loopback:
        return str(IPv6Address(int(address) >> 64 << 64))  # one customer has all addresses of a /64
    return None if address is None else str(address)


def _network(entry: str) -> IPv4Network | IPv6Network:
    try:
        return ip_network(entry.strip("[]"), strict=False)
    except ValueError:
        raise ValueError(f"“{entry}” is neither an address nor a network, such as 127.0.0.1 or 10.0.0.0/8") from None


def _rightmost(chain: list[str], peer: str, trust: Callable[[str], bool]) -> str:
    """The chain read from its end, as far as those who wrote it are trusted."""
    client = peer
    for hop in reversed(chain):
        address = address_of(hop)
        if address is None:
            break
        client = str(address)
        if not trust(client):
            break
    return client


def _listed(told: list[tuple[bytes, str]], wanted: bytes) -> Iterator[str]:
    for name, value in told:
        if name == wanted:
            yield from (part.strip() for part in value.split(","))


def _elements(told: list[tuple[bytes, str]]) -> Iterator[str]:
    yield from _listed(told, b"forwarded")


def _value(element: str, wanted: str) -> str:
    """Of one element of `Forwarded` (RFC 7239), such as `for="[2001:db8::1]";proto=https`."""
    pairs = (pair.partition("=") for pair in element.split(";"))
    return next((value.strip().strip('"') for name, _, value in pairs if name.strip().lower() == wanted), "")


def _proto(elements: list[str]) -> str:
    return _value(elements[-1], "proto") if elements else ""
