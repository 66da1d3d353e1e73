"""The rules of `WHYSTOP_EGRESS`: a list by comma of what may be connected to, and of what may not.

public, private, loopback, link-local    all addresses of this kind; `private` is every address that is not routed on
                                         the internet, `localhost` means loopback
10.1.2.3, 10.0.0.0/8, [fd00::/8]         this address or network
llm.corp.example, *.corp.example         this host, or every host below this domain, at a public or private address
anything:8080                            the same at this port alone
!anything                                not this, whatever else is allowed

What no entry allows is refused. A cloud's metadata address is allowed only by an entry for that address alone.
"""

import ipaddress
import re
from dataclasses import dataclass

from dashboard.platform.egress import addresses
from dashboard.platform.egress.addresses import Address, Kind

Network = ipaddress.IPv4Network | ipaddress.IPv6Network

WORDS = {kind.value: kind for kind in (Kind.PUBLIC, Kind.PRIVATE, Kind.LOOPBACK, Kind.LINK_LOCAL)} | {
    "localhost": Kind.LOOPBACK
}
HOST = re.compile(r"(?:\*\.)?[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?(?:\.[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?)*")
_BRACKETS = re.compile(r"\[([^\[\]]*)\](?::(.*))?", re.DOTALL)
_HIGHEST_PORT = 65535


def host_of(name: str) -> str:
    """A host's name as it is compared."""
    return name.lower().rstrip(".")


def host_matches(pattern: str, host: str) -> bool:
    """Whether a host is the one of the pattern, or below the domain of `*.domain`."""
    return host_of(host).endswith(pattern[1:]) if pattern.startswith("*.") else host_of(host) == pattern


def port_split(text: str) -> tuple[str, int | None]:
    """An entry's name or address, and the port that stands behind it; ValueError for what is no port."""
    bracketed = _BRACKETS.fullmatch(text)
    if bracketed:
        body, port = bracketed[1], bracketed[2]
    elif text.count(":") == 1:
        body, _, port = text.partition(":")
    else:
        return text, None
    if port is None:
        return body, None
    if not (port.isascii() and port.isdigit() and 0 < int(port) <= _HIGHEST_PORT):
        raise ValueError(f"“{text}” does not end in a port number")
    return body, int(port)


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry: of `kind`, `network` and `host` one is given."""

    denies: bool
    kind: Kind | None = None
    network: Network | None = None
    host: str = ""
    port: int | None = None  #: None: any

    def names(self, host: str, port: int) -> bool:
        """Whether it names this host."""
        return bool(self.host) and host_matches(self.host, host) and self.port in (None, port)

    def holds(self, address: Address, port: int) -> bool:
        """Whether it covers this address."""
        if self.port not in (None, port):
            return False
        if self.network is not None:
            alone = self.network.num_addresses == 1
            return address in self.network and (self.denies or alone or address not in addresses.METADATA)
        return self.kind is not None and self.kind is addresses.kind_of(address)


def _entry(text: str) -> Entry:
    denies = text.startswith("!")
    body, port = port_split(text.removeprefix("!").strip().lower())
    if body in WORDS:
        return Entry(denies, kind=WORDS[body], port=port)
    try:
        return Entry(denies, network=ipaddress.ip_network(body), port=port)
    except ValueError as error:
        if "/" in body or ":" in body or addresses.read(body) is not None or not HOST.fullmatch(body):
            raise ValueError(
                f"“{text}” is not a rule: write public, private, loopback or link-local, an address such as 10.1.2.3, "
                "a network such as 10.0.0.0/8, or a host such as llm.example, each with an optional port (:8080)"
            ) from error
    return Entry(denies, host=body, port=port)


@dataclass(frozen=True, slots=True)
class Rules:
    """What may be connected to."""

    entries: tuple[Entry, ...]

    @classmethod
    def read(cls, text: str) -> "Rules":
        """Raises ValueError with a sentence for an entry that is no rule."""
        return cls(tuple(_entry(part.strip()) for part in text.split(",") if part.strip()))

    def refused(self, host: str, port: int, address: Address) -> Kind | None:
        """The kind of address for which a connection is refused; None: it is allowed."""
        if any(entry.denies and entry.names(host, port) for entry in self.entries):
            return addresses.kind_of(address)
        for face in addresses.faces(address):
            if not self._allows(host, port, face):
                return addresses.kind_of(face)
        return None

    def _allows(self, host: str, port: int, address: Address) -> bool:
        if any(entry.denies and entry.holds(address, port) for entry in self.entries):
            return False
        if any(not entry.denies and entry.holds(address, port) for entry in self.entries):
            return True
        ordinary = addresses.kind_of(address) in (Kind.PUBLIC, Kind.PRIVATE)
        return ordinary and self.allows_name(host, port)

    def allows_name(self, host: str, port: int) -> bool:
        """Whether an entry names this host, and none denies it."""
        named = [entry.denies for entry in self.entries if entry.names(host, port)]
        return bool(named) and not any(named)

    def allows_unknown(self, host: str, port: int) -> bool:
        """Whether a host whose addresses are not known may be asked for: it is named, or is taken for a public one."""
        if any(entry.denies and entry.names(host, port) for entry in self.entries):
            return False
        public = [entry for entry in self.entries if entry.kind is Kind.PUBLIC and entry.port in (None, port)]
        return self.allows_name(host, port) or (bool(public) and not any(entry.denies for entry in public))


BY_DEFAULT_APART = "public"
APART = Rules.read(BY_DEFAULT_APART)  #: where processes run apart, and nobody said anything
BY_DEFAULT = "public,loopback"
ON_ONE_MACHINE = Rules.read(BY_DEFAULT)  #: where all runs in one process: local models and the simulator
