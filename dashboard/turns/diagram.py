"""The state machine as a picture, with the path a turn took through it: who waits for the outside stands at the left,
who decides at the right, beside its partner. Drawn from the transition table (see `lanes`)."""

from collections.abc import Iterator
from dataclasses import dataclass

from agentcore.machine.states import TRANSITIONS, State
from dashboard.turns.lanes import BOX_HEIGHT, BOX_WIDTH, HEIGHT, LEFT, PLACES, WIDTH, lines
from dashboard.turns.stepping import Moment

LONGEST_LINE = 14  #: characters of a name that fit on one line


@dataclass(frozen=True, slots=True)
class Node:
    """One state. `at`: the transitions that entered it; `entries`: the words over it, by what it was entered."""

    state: str
    x: float
    y: float
    lines: tuple[str, ...]
    kind: str  #: waiting, deciding or terminal
    at: tuple[int, ...] = ()
    entries: tuple["Entry", ...] = ()

    @property
    def middle(self) -> float:
        return self.x + BOX_WIDTH / 2

    @property
    def round(self) -> float:
        """Of its corners: who decides is a pill."""
        return BOX_HEIGHT / 2 if self.kind == "deciding" else 8

    @property
    def first_line(self) -> float:
        """The base of the first line of its name."""
        return self.y + BOX_HEIGHT / 2 + (4 if len(self.lines) == 1 else -2.5)


@dataclass(frozen=True, slots=True)
class Entry:
    """`words` stand over a state from step `since` on, before step `until` (0: to the end)."""

    words: str
    since: int
    until: int


@dataclass(frozen=True, slots=True)
class Edge:
    """One pair of states that are joined, in one direction or both. `at`: the transitions that went along it."""

    pair: str
    path: str
    quiet: bool  #: a person's doing (hold, release, cancel): drawn lighter
    at: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Diagram:
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    width: float = WIDTH
    height: float = HEIGHT
    box_width: float = BOX_WIDTH
    box_height: float = BOX_HEIGHT

    @property
    def taken(self) -> tuple[Edge, ...]:
        return tuple(edge for edge in self.edges if edge.at)


def diagram_of(moments: tuple[Moment, ...]) -> Diagram:
    """The machine with the path a turn took through it."""
    nodes = tuple(_node(state, moments) for state in PLACES)
    travelled: dict[frozenset[str], list[int]] = {}
    for moment in moments:
        travelled.setdefault(frozenset((moment.source, moment.target)), []).append(moment.number)
    edges = tuple(
        Edge(f"{one}-{other}", path, quiet, tuple(travelled.get(frozenset((one, other)), ())))
        for one, other, path, quiet in lines()
    )
    return Diagram(nodes, edges)


def _node(state: State, moments: tuple[Moment, ...]) -> Node:
    x, y = PLACES[state]
    entered = [moment for moment in moments if moment.target == state]
    at = tuple(moment.number for moment in entered)
    if state is State.IDLE and moments and moments[0].source == state:
        at = (0,)
    return Node(state.value, x, y, _name_lines(state.value), _kind(state), at, tuple(_entries(entered)))


def _kind(state: State) -> str:
    if not TRANSITIONS[state]:
        return "terminal"
    return "waiting" if PLACES[state][0] == LEFT else "deciding"


def _name_lines(name: str) -> tuple[str, ...]:
    words = name.replace("_", " ")
    if len(words) < LONGEST_LINE + 1:
        return (words,)
    first, rest = words.split(" ", 1)
    return (first, rest)


def _entries(entered: list[Moment]) -> Iterator[Entry]:
    counts: dict[str, int] = {}
    following: list[int] = [*(moment.number for moment in entered[1:]), 0]
    for moment, until in zip(entered, following, strict=False):
        counts[moment.trigger] = counts.get(moment.trigger, 0) + 1
        times = f" ×{counts[moment.trigger]}" if counts[moment.trigger] > 1 else ""
        yield Entry(moment.trigger + times, moment.number, until)
