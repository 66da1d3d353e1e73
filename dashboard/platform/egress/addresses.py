"""What kind of address one is. An IPv6 address may carry an IPv4 address, which is judged too."""

import ipaddress
import socket
from enum import StrEnum

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

#: Where clouds serve the credentials of the machine itself.
METADATA = frozenset(
    ipaddress.ip_address(text)
    for text in (
        "169.254.169.254",  # AWS, Azure, Google, Oracle, DigitalOcean and others
        "169.254.170.2",  # AWS ECS
        "169.254.170.23",  # AWS EKS
        "fd00:ec2::254",  # AWS
        "fd00:ec2::23",  # AWS EKS
        "fd20:ce::254",  # Google
        "100.100.100.200",  # Alibaba
        "168.63.129.16",  # Azure; a public address
        "192.0.0.192",  # Oracle
    )
)
METADATA_NAMES = frozenset({"metadata", "metadata.google.internal", "metadata.goog", "instance-data"})
_ALLOTTED = ipaddress.IPv6Network("2000::/3")  # all that the internet uses of IPv6
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
_LOCAL_NAT64 = ipaddress.IPv6Network("64:ff9b:1::/48")
_COMPATIBLE = ipaddress.IPv6Network("::/96")
_THIS_NETWORK = ipaddress.IPv4Network("0.0.0.0/8")  # Linux takes 0.0.0.0 for the machine itself
_ISATAP = (0x0000_5EFE, 0x0200_5EFE)
_LOWEST_EMBEDDED = 2  #: `::` and `::1` are no IPv4 addresses


class Kind(StrEnum):
    """In the words of the setting, and of messages."""

    PUBLIC = "public"
    PRIVATE = "private"
    LOOPBACK = "loopback"
    LINK_LOCAL = "link-local"
    METADATA = "metadata"
    RESERVED = "reserved"


def read(text: str) -> Address | None:
    """An address as it is written, also in the old forms (`127.1`, `2130706433`, `0x7f000001`); None for a name."""
    bare = text.partition("%")[0].strip("[]")
    try:
        return ipaddress.ip_address(bare)
    except ValueError:
        pass
    try:
        return ipaddress.IPv4Address(socket.inet_aton(bare)) if bare.isascii() and bare[-1:].isalnum() else None
    except OSError:
        return None


def kind_of(address: Address) -> Kind:
    """The kind of one address, whatever it carries."""
    if address in METADATA:
        return Kind.METADATA
    if address.is_loopback:
        return Kind.LOOPBACK
    if address.is_link_local:
        return Kind.LINK_LOCAL
    if address.is_multicast or address.is_unspecified or address in _THIS_NETWORK:
        return Kind.RESERVED
    if address.version == 4 and address.is_reserved:
        return Kind.RESERVED
    allotted = address.version == 4 or address in _ALLOTTED
    return Kind.PUBLIC if allotted and address.is_global else Kind.PRIVATE


def faces(address: Address) -> tuple[Address, ...]:
    """All the addresses that a packet to this one may arrive at. Each of them must be allowed."""
    if isinstance(address, ipaddress.IPv4Address):
        return (address,)
    if address.ipv4_mapped is not None:
        return (address.ipv4_mapped,)
    last = ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF)
    if address in _NAT64:
        return (last,)
    carried = [address.sixtofour, *(address.teredo or ())]
    if address in _LOCAL_NAT64 or (address in _COMPATIBLE and int(address) >= _LOWEST_EMBEDDED) or _is_isatap(address):
        carried.append(last)
    return (address, *(found for found in carried if found is not None))


def _is_isatap(address: ipaddress.IPv6Address) -> bool:
    return (int(address) >> 32) & 0xFFFF_FFFF in _ISATAP
