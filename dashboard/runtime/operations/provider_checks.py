"""Checks of each connection and of each MCP server at an address: key, egress, and whether somebody answers there.

Nothing is asked of a provider: a TCP connection is opened and closed, so a check costs nothing and sends no key. What
it made of the last call is read from the history.
"""

import asyncio
import contextlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from urllib.parse import urlsplit

from dashboard.agents.models import Connection
from dashboard.platform.egress import address_check, keys, proxies
from dashboard.runtime.operations.doctor import Finding, State
from dashboard.runtime.operations.last_calls import FailedCall, failed_last_calls
from dashboard.tools.models import McpServer

_PATIENCE = 3.0  #: seconds for one address
_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Place:
    """Whom calls are sent to. `key`: the variable's name; empty where none is sent."""

    name: str
    url: str
    key: str
    failed: FailedCall | None = None  #: its last call, where that failed


def providers() -> Iterator[Finding]:
    """One line for each place that calls go to."""
    failed = failed_last_calls()
    places = [
        Place(f"connection {one.name}", one.base_url, one.api_key_env, failed.get(one.pk))
        for one in Connection.objects.all()
    ]
    servers = McpServer.objects.filter(transport="http")
    places += [Place(f"MCP server {one.name}", one.url, one.key_env) for one in servers]
    yield from asyncio.run(_examined(places))


async def _examined(places: Iterable[Place]) -> list[Finding]:
    return list(await asyncio.gather(*map(_finding, places)))


async def _finding(place: Place) -> Finding:
    if place.key and keys.key_for(place.key, place.url) is None:
        fix = keys.fault(place.key, place.url) or f"Set {place.key} where Whystop runs, and start it again."
        return Finding(place.name, State.ERROR, f"No key for {place.url}", fix)
    key = f"key in {place.key}" if place.key else "without a key"
    host, port = _host_and_port(place.url)
    try:
        refused = await _refused_or_reached(place.url, host, port)
    except (OSError, TimeoutError, UnicodeError, ValueError) as error:
        # A model server of this machine, or the simulator, may be started only when it is needed.
        state = State.WARNING if proxies.is_near(host) else State.ERROR
        words = f"{host}:{port} does not answer ({str(error) or type(error).__name__})"
        return Finding(place.name, state, words, "Start it, or correct its address.")
    if refused:
        fix = "Allow it in WHYSTOP_EGRESS, or correct the address (docs/explanation/security.md)."
        return Finding(place.name, State.ERROR, f"{host}:{port} may not be called: {refused}", fix)
    words = f"{host}:{port} answers, {key}"
    if failed := place.failed:
        fix = failed.fix.format(key=(place.key and f"the key in {place.key}") or "the connection: it names no key")
        return Finding(place.name, failed.state, f"{words}; {failed.words}", fix)
    return Finding(place.name, State.OK, words)


def _host_and_port(url: str) -> tuple[str, int]:
    parts = urlsplit(url)
    return parts.hostname or "", parts.port or _PORTS.get(parts.scheme, 443)


async def _refused_or_reached(url: str, host: str, port: int) -> str | None:
    """Why it may not be called; None where it is reached, by a proxy where the environment names one."""
    if proxy := proxies.proxy_for(url):
        refused = await address_check.refusal_by_proxy(host, port)
        if refused is None:
            await _open(*_host_and_port(proxy))
        return refused
    async with asyncio.timeout(_PATIENCE):
        found = await address_check.resolved(host, port)
    allowed = [address for address in found if address_check.refusal(host, port, address) is None]
    if not allowed:
        return address_check.refusal(host, port, found[0]) if found else "its name has no address"
    await _open(allowed[0], port)
    return None


async def _open(host: str, port: int) -> None:
    async with asyncio.timeout(_PATIENCE):
        _, writer = await asyncio.open_connection(host, port)
    writer.close()
    with contextlib.suppress(OSError):
        await writer.wait_closed()
