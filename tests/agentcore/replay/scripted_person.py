"""The operator of the second examiner's turns: acts at holds, and while calls or tools are under way."""

from dataclasses import dataclass, field
from typing import Any

from agentcore import Message, Recording, Role, Snapshot
from agentcore.events import CancelRequested, ChangedCall, Event, OperatorActed, OperatorAction
from agentcore.replay.record_spans import fold
from tests.agentcore.replay.scripted_habits import Habits
from tests.agentcore.replay.scripted_provider import number_of

_HOLDS_FOR = 2.0  #: seconds
_AT_HOLDS = ({"max_continuations": 6}, {"max_total_completion_tokens": 90}, {}, {})
_IN_FLIGHT = ({"max_seconds": 60.0}, {"max_continuations": 6}, {"max_seconds": 4.0}, {"max_total_output_chars": 200})

#: The iteration, the state that waits, the one it is held before, and which call of the iteration it is.
Place = tuple[object, ...]


@dataclass
class Person:
    """Whoever operates one turn. `like`: a recording, at whose waits alone anything is done but to release."""

    habits: Habits
    like: Recording | None = None
    _first: dict[int, int] = field(default_factory=dict)
    _acted: set[Place] = field(default_factory=set)
    _known: set[Place] | None = None

    def __post_init__(self) -> None:
        if self.like is None:
            return
        person = Person(self.habits)
        spans = [(person.place(one.before), one.record.event) for one in fold(self.like)]
        self._known = {place for place, event in spans if isinstance(event, OperatorActed | CancelRequested)}

    def place(self, snapshot: Snapshot) -> Place:
        attempts, iteration = snapshot.spent.attempts, snapshot.iteration
        nth = attempts - self._first.setdefault(iteration, attempts)
        return iteration, snapshot.state, snapshot.held_state, nth

    def acts_at(self, snapshot: Snapshot) -> bool:
        return self._known is None or self.place(snapshot) in self._known

    def at_a_hold(self, snapshot: Snapshot) -> Event:
        """The same whenever it comes to this hold; of one who reads, whenever the same text stands there."""
        at = snapshot.at + _HOLDS_FOR
        if not self.acts_at(snapshot):
            return OperatorActed(at, "ada", OperatorAction.RELEASE)
        drawn = self._drawn(snapshot)
        written = self._written(snapshot, drawn)
        if snapshot.approving:
            refuses = drawn % 2 and not written
            action = OperatorAction.REFUSE if refuses else OperatorAction.RELEASE
            return OperatorActed(at, "ada", action, **written)
        if drawn % 5 == 0:
            return CancelRequested(at, "ada")
        limits = _AT_HOLDS[drawn % len(_AT_HOLDS)]
        return OperatorActed(at, "ada", OperatorAction.RELEASE, limits=limits, **written)

    def in_flight(self, snapshot: Snapshot) -> Event | None:
        """What is done while this call, or these tools, are under way; None: nothing, or nothing more."""
        after, place, drawn = self.habits.acts_after, self.place(snapshot), self._drawn(snapshot)
        if after is None or place in self._acted or not self.acts_at(snapshot) or drawn % 3 == 0:
            return None
        return OperatorActed(snapshot.at + after, "ada", limits=_IN_FLIGHT[drawn % len(_IN_FLIGHT)])

    def acted(self, snapshot: Snapshot) -> None:
        self._acted.add(self.place(snapshot))

    def elapsed(self, snapshot: Snapshot) -> float:
        """Seconds for which what is under way has been so, when the person acted meanwhile."""
        return (self.habits.acts_after or 0.0) if self.place(snapshot) in self._acted else 0.0

    def _drawn(self, snapshot: Snapshot) -> int:
        return number_of(self.habits.seed, *self.place(snapshot), *(self._read(snapshot) if self.habits.reads else ()))

    def _read(self, snapshot: Snapshot) -> tuple[str, ...]:
        said = snapshot.response.text if snapshot.response else ""
        return (*(message.text for message in snapshot.messages), snapshot.answer.text, said)

    def _written(self, snapshot: Snapshot, drawn: int) -> dict[str, Any]:
        """Another conversation, or other arguments for a call."""
        if not self.habits.writes or drawn % 3 == 0:
            return {}
        calls = snapshot.response.tool_calls if snapshot.response else ()
        if calls and snapshot.approving:
            return {"tool_call": ChangedCall(calls[0].id, {"q": f"mended {len(calls[0].raw)}"})}
        said = Message(Role.ASSISTANT, snapshot.answer.text or "nothing")
        return {"messages": (*snapshot.messages, said, Message(Role.USER, "and more"))}
