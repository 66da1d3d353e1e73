"""Which requests are replays, that are answered in processes of their own (`replay_processes`)."""

import re
from collections.abc import MutableMapping
from typing import Any
from urllib.parse import parse_qs

from dashboard.api.middleware import API

STOPS = "whystop.stops"  #: in an ASGI scope: whether the work on the request ends when its client hangs up
MAP = "/backtests/limits/map"
_REPLAY = re.compile(
    rf"/turns/[^/]+/(?:replay(?:/[a-z-]+)?|limit(?:/find)?)/?|{MAP}/?|/compare/?|/api/v1/turns/[^/]+/replay"
)
EVALUATED = frozenset({"evaluate", "continuations", "max_tokens"})  #: in the address of a map or of one cell
WAITS = "waits"  #: in the address of a limit: whether what it waits for has changed, which a page asks every second
_VERIFY = re.compile(r"/replay/verify/?$")
_RERUN = re.compile(rb"rerun|\\")  #: in a body of the API; an escape may stand for any letter


def is_replay(path: str, query: bytes = b"") -> bool:
    """Whether requests of this address follow a whole history step by step, or many times over.

    The page of the map does not: it asks for its map by a request of its own, which names what is to be evaluated. Nor
    does who asks whether a re-run has ended.
    """
    if _REPLAY.fullmatch(path) is None:
        return False
    asked = parse_qs(query.decode("latin-1"), True).keys()
    return WAITS not in asked and (not path.startswith(MAP) or not EVALUATED.isdisjoint(asked))


def only_reads(scope: MutableMapping[str, Any], body: bytes) -> bool:
    """Whether nothing is lost with a request that is stopped; one with a key would be taken for one under way."""
    if any(name == b"idempotency-key" for name, _ in scope["headers"]):
        return False
    path: str = scope["path"]
    reads = _RERUN.search(body) is None if path.startswith(API) else _VERIFY.search(path) is not None
    return reads or scope["method"] in {"GET", "HEAD"}
