"""A client for programs: start a turn, watch it, hold it, step it, change it, wait for it.

    from dashboard.client import Whystop

    turn = Whystop("http://127.0.0.1:8321", token).start("sim-essay", "Why do agents stop?", max_tokens=60)
    for message in turn.watch():
        print(message)
    print(turn.wait().verdict)

This and the four files beside it (`client_replay`, `client_values`, `client_why`, `client_wire`) need the standard
library alone and may be copied into any project. Limits, breakpoints and the like are written as the API's bodies are
(`/api/v1/docs`). What can go wrong:

    WhystopError
    ├── Unreachable          nobody answers there, or somebody else
    └── Refused              the server says no; `str()` is its sentence, `.status` and `.problem` tell more
        ├── Unauthorized     401, 403: the token
        ├── NotFound         404
        └── Conflict         409: the turn is not where this makes sense
"""

if __name__ == "__main__":
    # Before the rest is loaded: it listens for Ctrl-C.
    from dashboard.whystop import main

    main()

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Unpack
from urllib.parse import quote

# Relative, so that they can be copied.
from .client_replay import Assumption, Replays, WhatIf
from .client_values import Attempt, Changes, Draft, Json, Overrides, Record, read_as
from .client_why import Road, Step, Why, WhyNode
from .client_wire import (
    Conflict,
    NotFound,
    Refused,
    Server,
    Unauthorized,
    Unreachable,
    WhystopError,
    deadline_in,
    followed,
    found_again,
)

__all__ = [
    "Assumption",
    "Attempt",
    "Changes",
    "Conflict",
    "Draft",
    "End",
    "Message",
    "NotFound",
    "Overrides",
    "Record",
    "Refused",
    "Road",
    "Step",
    "Turn",
    "Unauthorized",
    "Unreachable",
    "WhatIf",
    "Why",
    "WhyNode",
    "Whystop",
    "WhystopError",
]

ASK_AGAIN = 0.5  #: seconds
ENDED = frozenset({"completed", "partial", "aborted", "failed", "cancelled", "interrupted"})


@dataclass(frozen=True, slots=True)
class End:
    """The turn has ended."""

    turn: "Turn"


Message = Record | Draft | End


@dataclass(slots=True)
class _Hand:
    """What all values of one turn share: the server, and the last record before what was asked last."""

    server: "Server"
    acted: int = 0


@dataclass(frozen=True, slots=True)
class Turn(Replays):
    """A turn as it was when it was asked for; what is done to it answers with it as it is then."""

    id: str
    agent: str
    provider: str
    model: str
    status: str
    stop_reason: str | None
    model_stop_reason: str | None
    raw_stop_reason: str | None
    terminal_reason: str | None
    error_code: str | None
    output_text: str
    notice: str
    input_tokens: int
    output_tokens: int
    tokens_estimated: bool  #: a provider did not count some of these tokens
    attempts: int
    continuations: int
    tool_repairs: int
    envelope_retries: int
    started_at: str | None
    finished_at: str | None
    duration_ms: int | None
    policy_version: int | None
    parent_id: str | None
    forked_at: int | None
    run_id: str
    envelope: Any
    lint: Sequence[str]
    verdict: str
    json: Json = field(repr=False, compare=False)  #: all that the server told
    _hand: _Hand = field(repr=False, compare=False)

    @property
    def ended(self) -> bool:
        return self.status in ENDED

    @property
    def acted(self) -> int:
        """The last record before what was asked of it last; 0 where nothing was."""
        return self._hand.acted

    @property
    def not_done(self) -> Sequence[Json]:
        """What was accepted and came too late: `{action, by, asked_at, why}`, the newest first; only of an answer about
        this one turn, such as `refreshed()` and `wait()` give."""
        return list(self.json.get("not_done", ()))

    def refreshed(self) -> "Turn":
        """The turn as it is now."""
        return self._as(self._hand.server.call("GET", self._path()))

    def watch(self, *, after: int = 0, seconds: float | None = None) -> Iterator[Message]:
        """What has happened after record `after`, then what happens, to the end; it goes on through a server's restart.

        Raises `TimeoutError` after `seconds`, and `Unreachable` when the server is gone for five minutes.
        """
        for kind, shown in followed(self._hand.server, self._path("/events"), after, deadline_in(seconds)):
            if kind == "end":
                yield End(self._as(shown))
                return
            yield read_as(Record, shown) if kind == "record" else read_as(Draft, shown)

    def wait(self, seconds: float | None = None) -> "Turn":
        """The turn when it has ended, or is held after what was asked of it last. Raises `TimeoutError`."""
        deadline = deadline_in(seconds)
        for message in self.watch(after=self._hand.acted, seconds=seconds):
            if isinstance(message, End):
                return message.turn
            if isinstance(message, Record) and message.command["type"] == "hold":
                now = found_again(self.refreshed, deadline)
                if now.ended or now.status == "held":
                    return now
        return self.refreshed()

    def hold(self, **changes: Unpack[Changes]) -> "Turn":
        """Hold it at its next decision."""
        return self.act("hold", **changes)

    def step(self, **changes: Unpack[Changes]) -> "Turn":
        """Let a held turn take one decision."""
        return self.act("step", **changes)

    def release(self, **changes: Unpack[Changes]) -> "Turn":
        """Let a held turn go on."""
        return self.act("release", **changes)

    def act(self, action: str = "release", **changes: Unpack[Changes]) -> "Turn":
        """Any action of the API's control with any change. Raises `Conflict` where it makes no sense."""
        return self._asked("/control", {"action": action, **changes})

    def cancel(self) -> "Turn":
        """End it; what had arrived is kept."""
        return self._asked("/cancel")

    def records(self, *, after: int = 0) -> list[Record]:
        shown = self._hand.server.call("GET", self._path("/records"), query={"after": after})
        return [read_as(Record, record) for record in shown]

    def attempt_list(self) -> list[Attempt]:
        return [read_as(Attempt, attempt) for attempt in self._hand.server.call("GET", self._path("/attempts"))]

    def why(self) -> Why:
        """Why it stopped: the reasons apart, and the tree from its end back to the provider's own word."""
        return Why.read(self._hand.server.call("GET", self._path("/verdict")))

    def roads(self) -> list[Step]:
        """At each step, what else could have happened there."""
        return [Step.read(step) for step in self._hand.server.call("GET", self._path("/roads"))]

    def evaluations(self) -> list[Json]:
        return list(self._hand.server.call("GET", self._path("/evaluations")))

    def _asked(self, part: str, body: Any = None) -> "Turn":
        """Where it was is noted, so that `wait` tells a hold from before from one after; not where it is refused."""
        newer = self.records(after=self._hand.acted)
        shown = self._hand.server.call("POST", self._path(part), body)
        self._hand.acted = newer[-1].seq if newer else self._hand.acted
        return self._as(shown)

    def _path(self, part: str = "") -> str:
        return f"/turns/{quote(self.id, safe='')}{part}"

    def _as(self, shown: Json) -> "Turn":
        return read_as(Turn, shown, json=shown, _hand=self._hand)


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
        """How many predictions came true, by model and certainty."""
        return list(self._server.call("GET", "/predictions/summary"))

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
            time.sleep(ASK_AGAIN)
            found = self._server.call("GET", f"/backtests/{made['id']}")
        return {**made, **found}

    def limits_estimate(self, **filters: Any) -> Json:
        """How long answers are, and the smallest total in which 95 % are whole; the filters are the timeline's."""
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
        return read_as(Turn, shown, json=shown, _hand=_Hand(self._server))
