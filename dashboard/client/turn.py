"""One turn: watched, waited for, held, stepped, changed, cancelled, and what its recording answers."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Unpack
from urllib.parse import quote

from .replay import Replays
from .values import Attempt, Changes, Draft, Json, Record, Suggestion, read_as
from .why import Step, Why
from .wire import Server, deadline_in, followed, found_again

ENDED = frozenset({"completed", "partial", "aborted", "failed", "cancelled", "interrupted"})


@dataclass(frozen=True, slots=True)
class End:
    """The turn has ended."""

    turn: "Turn"


Message = Record | Draft | End


@dataclass(slots=True)
class Connection:
    """What all values of one turn share: the server, and the last record before the last action (0: none)."""

    server: Server
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
    verdict: str  #: by the recording alone
    #: By other turns and re-runs, too; None: it needs none, no limit would have helped, or the server is older.
    suggestion: Suggestion | None = field(default=None, kw_only=True)
    simulated: bool = field(default=False, kw_only=True)  #: the model is the simulator's; False if the server is older
    json: Json = field(repr=False, compare=False)  #: all that the server told
    _connection: Connection = field(repr=False, compare=False)

    @property
    def ended(self) -> bool:
        return self.status in ENDED

    @property
    def acted(self) -> int:
        """The last record before what was asked of it last; 0 where nothing was."""
        return self._connection.acted

    @property
    def not_done(self) -> Sequence[Json]:
        """What was accepted and came too late: `{action, by, asked_at, why}`, the newest first; only of an answer about
        this one turn, such as `refreshed()` and `wait()` give."""
        return list(self.json.get("not_done", ()))

    def refreshed(self) -> "Turn":
        """The turn as it is now."""
        return self._as(self._connection.server.call("GET", self._path()))

    def watch(self, *, after: int = 0, seconds: float | None = None) -> Iterator[Message]:
        """What has happened after record `after`, then what happens, to the end; it goes on through a server's restart.

        Raises `TimeoutError` after `seconds`, and `Unreachable` when the server is gone for five minutes.
        """
        for kind, shown in followed(self._connection.server, self._path("/events"), after, deadline_in(seconds)):
            if kind == "end":
                yield End(self._as(shown))
                return
            yield read_as(Record, shown) if kind == "record" else read_as(Draft, shown)

    def wait(self, seconds: float | None = None) -> "Turn":
        """The turn when it has ended, or is held after what was asked of it last. Raises `TimeoutError`."""
        deadline = deadline_in(seconds)
        for message in self.watch(after=self._connection.acted, seconds=seconds):
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
        shown = self._connection.server.call("GET", self._path("/records"), query={"after": after})
        return [read_as(Record, record) for record in shown]

    def attempt_list(self) -> list[Attempt]:
        return [read_as(Attempt, attempt) for attempt in self._connection.server.call("GET", self._path("/attempts"))]

    def why(self) -> Why:
        """Why it stopped: the reasons apart, and the tree from its end back to the provider's own word."""
        return Why.read(self._connection.server.call("GET", self._path("/verdict")))

    def roads(self) -> list[Step]:
        """At each step, what else could have happened there."""
        return [Step.read(step) for step in self._connection.server.call("GET", self._path("/roads"))]

    def evaluations(self) -> list[Json]:
        return list(self._connection.server.call("GET", self._path("/evaluations")))

    def _asked(self, part: str, body: Any = None) -> "Turn":
        """Where it was is noted, so that `wait` tells a hold from before from one after; not where it is refused."""
        newer = self.records(after=self._connection.acted)
        shown = self._connection.server.call("POST", self._path(part), body)
        self._connection.acted = newer[-1].seq if newer else self._connection.acted
        return self._as(shown)

    def _path(self, part: str = "") -> str:
        return f"/turns/{quote(self.id, safe='')}{part}"

    def _as(self, shown: Json) -> "Turn":
        return read_as(Turn, shown, json=shown, _connection=self._connection)
