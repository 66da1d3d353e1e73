"""The proxy of the environment for an address: `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY`, in small letters too.

Nothing else of the environment is read, least of all `~/.netrc`.
"""

from functools import lru_cache
from urllib.parse import urlsplit
from urllib.request import getproxies_environment, proxy_bypass_environment  # type: ignore[attr-defined]

from dashboard.platform.egress import addresses
from dashboard.platform.egress.rules import host_of

SCHEMES = ("http", "https")


class UnusableProxy(ValueError):
    """The environment names a proxy that this client cannot use."""


def proxy_for(url: str) -> str | None:
    """The address of the proxy; None where a call goes out directly, as it does to this machine."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    if is_near(host):
        return None
    known = getproxies_environment()
    named = known.get(parts.scheme)
    if not named or proxy_bypass_environment(host, known):
        return None
    proxy = named if "://" in named else f"http://{named}"
    if urlsplit(proxy).scheme not in SCHEMES:
        raise UnusableProxy(f"{parts.scheme.upper()}_PROXY must be an http:// or https:// address")
    return proxy


@lru_cache(maxsize=256)
def is_near(host: str) -> bool:
    """Whether a host is this machine by its name or address; a proxy could not reach what listens there."""
    host = host_of(host)
    if host == "localhost" or host.endswith(".localhost"):
        return True
    address = addresses.read(host)
    return address is not None and all(face.is_loopback for face in addresses.faces(address))
