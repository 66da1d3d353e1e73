"""Whether a client is a program on this machine, by its connection and its headers."""

from collections.abc import Iterable, Mapping
from typing import Any

from django.http import HttpRequest

from dashboard.platform.trusted_proxies import address_of

#: Headers by which a proxy says that it is one, beside all that begin with `x-forwarded`.
_FORWARDING = frozenset({"forwarded", "via", "x-real-ip", "x-client-ip", "cf-connecting-ip", "true-client-ip"})


def is_local(request: HttpRequest) -> bool:
    """Whether the client is a program on this machine that no proxy stands before."""
    version = getattr(request, "scope", {}).get("http_version", "1.1")
    host = request.headers.get("Host") or request.META.get("SERVER_NAME", "")
    return _near(request.META.get("REMOTE_ADDR", ""), host, request.headers, version)


def is_near(scope: Mapping[str, Any]) -> bool:
    """As `is_local`, of an ASGI scope."""
    headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
    peer = (scope.get("client") or ("", 0))[0]
    return _near(peer, headers.get("host", ""), headers, scope.get("http_version", "1.1"))


def _near(peer: str, host: str, names: Iterable[str], version: str) -> bool:
    """A loopback address, asked for by a name of this machine, and no sign of a proxy; nginx without settings of its
    own sends HTTP/1.0 and no other sign, browsers never do."""
    address = address_of(peer)
    if address is None or not address.is_loopback or version == "1.0" or any(map(forwards, names)):
        return False
    named = address_of(host)
    return host.partition(":")[0].lower() == "localhost" or (named is not None and named.is_loopback)


def forwards(name: str) -> bool:
    """Whether a header of this name says that a proxy sent it."""
    name = name.lower()
    return name.startswith("x-forwarded") or name in _FORWARDING
