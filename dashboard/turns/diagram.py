"""The state machine as a picture, with the path a turn took through it: who waits for the outside stands at the left,
who decides at the right, beside its partner. Drawn from the transition table (see `diagram_layout`)."""

from dataclasses import dataclass

from agentcore.machine.states import TRANSITIONS, State
from dashboard.turns.diagram_layout import BOX_HEIGHT, BOX_WIDTH, DOWN, HEIGHT, LEFT, PLACES, WIDTH, lines
from dashboard.turns.moments import Moment

LONGEST_LINE = 14  #: characters of a name that fit on one line


@dataclass(frozen=True, slots=True)
class Node:
    """One state. `at`: the transitions that entered it; `label`: the word over it, by what it was entered last."""

    state: str
    x: float
    y: float
    lines: tuple[str, ...]
    kind: str  #: waiting, deciding or terminal
    at: tuple[int, ...] = ()
    label: str = ""
    when: str = "future"  #: past, now or future, as every part of a picture that a step touches

    @property
    def middle(self) -> float:
        return self.x + BOX_WIDTH / 2

    @property
    def before_arrow(self) -> float:
        """Where the word over it ends: beside the line that comes down, for a long word would lie on it."""
        return self.x + DOWN - 6

    @property
    def round(self) -> float:
        """Of its corners: who decides is a pill."""
        return BOX_HEIGHT / 2 if self.kind == "deciding" else 8

    @property
    def first_line(self) -> float:
        """The base of the first line of its name."""
        return self.y + BOX_HEIGHT / 2 + (4 if len(self.lines) == 1 else -2.5)

    @property
    def entered(self) -> str:
        """How often, in words."""
        count = sum(1 for number in self.at if number)
        return "once" if count == 1 else f"{count} times" if count else "at the start"

    @property
    def first(self) -> int:
        """The step its link leads to without scripts; 0 where it was never entered."""
        return next((number for number in self.at if number), 1) if self.at else 0


@dataclass(frozen=True, slots=True)
class Edge:
    """One pair of states that are joined, in one direction or both. `at`: the transitions that went along it."""

    pair: str
    path: str
    quiet: bool  #: a person's doing (hold, release, cancel): drawn lighter
    at: tuple[int, ...] = ()
    when: str = "future"


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


def diagram_of(moments: tuple[Moment, ...], now: int | None = None) -> Diagram:
    """The machine with the path a turn took through it, as it stood at transition `now` (None: the last)."""
    here = len(moments) if now is None else now
    entered: dict[str, list[Moment]] = {}
    travelled: dict[frozenset[str], list[int]] = {}
    for moment in moments:
        entered.setdefault(moment.target, []).append(moment)
        travelled.setdefault(frozenset((moment.source, moment.target)), []).append(moment.number)
    begun = moments[0].source if moments else ""
    nodes = tuple(_node(state, entered.get(state.value, []), here, begun) for state in PLACES)
    edges = tuple(_edge(line, tuple(travelled.get(frozenset(line[:2]), ())), here) for line in lines())
    return Diagram(nodes, edges)


def _edge(line: tuple[str, str, str, bool], at: tuple[int, ...], now: int) -> Edge:
    one, other, path, quiet = line
    return Edge("-".join(sorted((one, other))), path, quiet, at, _when(at, now))


def _node(state: State, entered: list[Moment], now: int, begun: str) -> Node:
    x, y = PLACES[state]
    at = (*((0,) if state.value == begun else ()), *(moment.number for moment in entered))
    label = _label([moment.trigger for moment in entered if moment.number <= now])
    return Node(state.value, x, y, _name_lines(state.value), _kind(state), at, label, _when(at, now))


def _when(at: tuple[int, ...], now: int) -> str:
    if now in at:
        return "now"
    return "past" if at and at[0] < now else "future"


def _label(triggers: list[str]) -> str:
    """By what a state was entered last, and how often by that; a release says by its place where it leads."""
    if not triggers:
        return ""
    last = triggers[-1]
    count = triggers.count(last)
    word = "release" if last.startswith("release_") else last
    return f"{word} ×{count}" if count > 1 else word


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
