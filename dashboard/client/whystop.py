"""A server: its turns, runs, predictions and policies."""

import time
from collections.abc import Iterator, Sequence
from typing import Any, Unpack
from urllib.parse import quote

from .turn import Connection, Turn
from .values import Json, Overrides, read_as
from .wire import Server

POLL_SECONDS = 0.5


class Whystop:
    """A server, by its address and an API token. Safe to share between threads: each call has its own connection."""

    def __init__(self, url: str, token: str, *, timeout: float = 30.0) -> None:
        self._server = Server(url, token, timeout)

    def start(
        self,
        agent: str,
        input: str,
        *,
        breakpoints: Sequence[Json] = (),
        documents: Sequence[Json] = (),
        conversation: str | None = None,
        **overrides: Unpack[Overrides],
    ) -> Turn:
        """Start a turn; it runs in the background."""
        more = {
            "overrides": overrides,
            "breakpoints": list(breakpoints),
            "documents": list(documents),
            "conversation": conversation,
        }
        asked = {"agent": agent, "input": input, **{name: value for name, value in more.items() if value}}
        return self._turn(self._server.call("POST", "/turns", asked))

    def turn(self, id: str) -> Turn:
        return self._turn(self._server.call("GET", f"/turns/{quote(id, safe='')}"))

    def turns(self, **filters: Any) -> Iterator[Turn]:
        """The timeline, newest first, page by page as they are asked for; the filters are the API's."""
        yield from map(self._turn, self._server.pages("/turns", filters))

    def runs(self, **filters: Any) -> Iterator[Json]:
        """Runs, the one with the newest turn first; the filters are the timeline's."""
        return self._server.pages("/runs", filters)

    def run(self, id: str) -> Json:
        """One run with its turns, and which of them each goes on from."""
        return dict(self._server.call("GET", f"/runs/{quote(id, safe='')}"))

    def predictions(self, **filters: Any) -> Iterator[Json]:
        """What was predicted for re-runs and what came of it, newest first; the filters are the API's."""
        return self._server.pages("/predictions", filters)

    def track_record(self) -> list[Json]:
        """How many predictions came true, by model and certainty; suggested limits by what they rest on."""
        return list(self._server.call("GET", "/predictions/summary"))

    def projects(self) -> list[Json]:
        """The project that the token works in, with your role there."""
        return list(self._server.call("GET", "/projects"))

    def members(self) -> list[Json]:
        """Who may enter that project, and with which role."""
        return list(self._server.call("GET", "/projects/members"))

    def refusals(self, **filters: Any) -> Iterator[Json]:
        """Spans and log records that exporters were told are refused, by sender and reason; the filters are the
        API's."""
        return self._server.pages("/refusals", filters)

    def agents(self) -> list[Json]:
        return list(self._server.call("GET", "/agents"))

    def backtest(self, policy: Json, *, stands_for: str | None = None, seconds: float = 600, **filters: Any) -> Json:
        """What a policy would have made of stored turns, once all are judged. Raises `TimeoutError` after `seconds`.

        `stands_for`: the name of the policy whose place it takes among the words of each turn; else it stands alone.
        """
        asked = {"policy": policy, "stands_for": stands_for, "filter": filters}
        made = self._server.call("POST", "/backtests", asked)
        found, until = made, time.monotonic() + seconds
        while found.get("status", "queued") in ("queued", "running"):
            if time.monotonic() > until:
                raise TimeoutError(
                    f"The backtest {made['id']} has not finished after {seconds:g} s; it continues to run."
                )
            time.sleep(POLL_SECONDS)
            found = self._server.call("GET", f"/backtests/{made['id']}")
        return {**made, **found}

    def limits_estimate(self, **filters: Any) -> Json:
        """How long answers are, and the smallest total that is enough for an estimated 95 % of further answers like
        these; the filters are the timeline's."""
        return dict(self._server.call("GET", "/limits/estimate", query=filters))

    def policy_version(self, name: str, *, activate: bool = True, **said: Any) -> Json:
        """Make a policy, or its next version: `limits`, `error_policy`, `why`, `backtest` (an id) and so on."""
        return dict(self._server.call("POST", "/policies", {"name": name, "activate": activate, **said}))

    def policy_versions(self, name: str) -> list[Json]:
        return list(self._server.call("GET", f"/policies/{quote(name, safe='')}/versions"))

    def activate(self, name: str, version: int, *, why: str = "", starts_at: str | None = None) -> Json:
        """Have a version count, now or from a moment on; an earlier one rolls back."""
        asked = {"version": version, "why": why, **({"starts_at": starts_at} if starts_at else {})}
        return dict(self._server.call("POST", f"/policies/{quote(name, safe='')}/activations", asked))

    def _turn(self, shown: Json) -> Turn:
        return read_as(Turn, shown, json=shown, _connection=Connection(self._server))
