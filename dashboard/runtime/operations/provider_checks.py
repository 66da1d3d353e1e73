"""Checks of each connection and of each MCP server at an address: key, egress, and whether somebody answers there.

Nothing is asked of a provider: a TCP connection is opened and closed, so a check costs nothing and sends no key. What
it made of the last call is read from the history.
"""

import asyncio
import contextlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import NamedTuple
from urllib.parse import urlsplit
from uuid import UUID

from dashboard.agents.models import Connection
from dashboard.live.turn_loader import connection_of
from dashboard.platform.egress import address_check, keys, proxies
from dashboard.runtime.operations.doctor import Finding, State
from dashboard.tools.models import McpServer
from dashboard.turns.models import Attempt, Turn

_PATIENCE = 3.0  #: seconds for one address
_PORTS = {"http": 80, "https": 443}


class FailedCall(NamedTuple):
    """One that failed at the provider, or on the way there. `fix` has a place for the `{key}`."""

    state: State
    words: str
    fix: str


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Whom calls are sent to. `key`: the variable's name; empty where none is sent."""

    name: str
    url: str
    key: str
    failed: FailedCall | None = None  #: its last call, where that failed


def providers() -> Iterator[Finding]:
    """One line for each place that calls go to."""
    failed = failed_last_calls()
    places = [
        Endpoint(f"connection {one.name}", one.base_url, one.api_key_env, failed.get(one.pk))
        for one in Connection.objects.all()
    ]
    servers = McpServer.objects.filter(transport="http")
    places += [Endpoint(f"MCP server {one.name}", one.url, one.key_env) for one in servers]
    yield from asyncio.run(_examined(places))


async def _examined(places: Iterable[Endpoint]) -> list[Finding]:
    return list(await asyncio.gather(*map(_finding, places)))


async def _finding(place: Endpoint) -> Finding:
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


_SINCE = timedelta(days=1)
_LOOKED_AT = 500  #: of the newest calls, of all connections
_LONGEST = 200  #: letters of a provider's message
_WAIT = "If it happens again, ask the provider."
#: By kind of error (`agentcore.errors.ProviderError`): how bad it is, and what to do. Other kinds are faults of one
#: request, and say nothing about the connection.
_FAILURES: Mapping[str, tuple[State, str]] = {
    "auth": (State.ERROR, "Correct {key}, then start Whystop again."),
    "quota": (State.ERROR, "Add credit or raise the limit at the provider."),
    "rate_limit": (State.WARNING, "Set lower limits of calls in the connection, or ask the provider for higher ones."),
    **dict.fromkeys(("timeout", "connection", "server", "overloaded", "unavailable"), (State.WARNING, _WAIT)),
}


def failed_last_calls() -> Mapping[UUID, FailedCall]:
    """By the connection's id: the newest call within a day, where it failed and no request is to blame."""
    fields = ("turn_id", "index", "started_at", "error", "request_url", "response_headers")
    ended = Attempt.objects.filter(started_at__gte=datetime.now(UTC) - _SINCE, duration_ms__isnull=False)
    newest = [call for call in ended.only(*fields).order_by("-turn_id", "-index")[:_LOOKED_AT] if not call.answered_by]
    turns = Turn.objects.select_related("agent__connection").in_bulk({call.turn_id for call in newest})
    # One call for each caller and address is enough: whom a turn asks is read for each.
    by_caller = {
        (turn.project_id, turn.agent_name, call.request_url): (call, turn)
        for call in sorted(newest, key=lambda call: call.started_at)
        if (turn := turns.get(call.turn_id)) and not turn.out_of_time  # a turn's own time limit blames no provider
    }
    last: dict[UUID, Attempt] = {}
    for call, turn in sorted(by_caller.values(), key=lambda one: one[0].started_at):
        connection = connection_of(turn)
        if connection and call.request_url.startswith(connection.base_url):  # which may have been changed since
            last[connection.pk] = call
    return {pk: failed for pk, call in last.items() if (failed := _failed(call))}


def _failed(call: Attempt) -> FailedCall | None:
    error = call.error or {}
    if error.get("kind") not in _FAILURES:
        return None
    state, fix = _FAILURES[error["kind"]]
    said = str(error.get("message", "")).strip().partition("\n")[0][:_LONGEST].rstrip(".")
    status = f" with {error['status']}" if error.get("status") else ""
    return FailedCall(state, f"its last call, at {call.started_at:%Y-%m-%d %H:%M} UTC, failed{status}: {said}", fix)
