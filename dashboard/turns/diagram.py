"""The state machine as a picture, with the path a turn took through it: who waits for the outside stands at the left,
who decides at the right, beside its partner. Drawn from the transition table.

Also holds the layout of the state diagram: positions of the states and routes of the lines.

Places are a table; what is joined comes from `TRANSITIONS`, one line per pair of states. Lines to the same target share
a lane, like trains into a station. Lengths are SVG units.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from agentcore.states import CALLS, TRANSITIONS, State
from dashboard.turns.moments import Moment

BOX_WIDTH, BOX_HEIGHT, PITCH = 112, 30, 45
TOP, MARGIN_LEFT, GUTTER, MARGIN_RIGHT = 8, 40, 74, 36  # at the left, for the longest word over a state
LEFT = MARGIN_LEFT
RIGHT = LEFT + BOX_WIDTH + GUTTER
WIDTH = RIGHT + BOX_WIDTH + MARGIN_RIGHT
CURVE = 5.0
DOWN = BOX_WIDTH - 14  #: where in a box a line comes in from the box above it

#: Top to bottom; who waits for the outside, who decides.
ROWS: tuple[tuple[State | None, State | None], ...] = (
    (State.IDLE, None),
    (State.REQUEST, State.EVALUATE_STOP),
    (State.REQUEST_CONTINUATION, State.CONTINUE_PENDING),
    (State.REQUEST_TOOL_REPAIR, State.REPAIR_PENDING),
    (State.REQUEST_ENVELOPE_RETRY, State.EVALUATE_ENVELOPE),
    (State.EXECUTE_TOOLS, State.EVALUATE_CONTINUATION),
    (State.BACKOFF, State.EVALUATE_ERROR),
    (State.HELD, State.ABORT_PARTIAL),
    (State.ABORT, State.COMPLETE),
)
HEIGHT = TOP + PITCH * (len(ROWS) - 1) + BOX_HEIGHT + 8

PLACES: Mapping[State, tuple[int, int]] = {
    state: (x, TOP + PITCH * row)
    for row, pair in enumerate(ROWS)
    for x, state in zip((LEFT, RIGHT), pair, strict=True)
    if state is not None
}

#: Lanes between the columns, by target; at the far left and the far right.
BETWEEN: Mapping[State, float] = {
    target: LEFT + BOX_WIDTH + 12 + 10 * index
    for index, target in enumerate(
        (State.EVALUATE_ERROR, State.EVALUATE_STOP, State.REQUEST, State.EXECUTE_TOOLS, State.ABORT, State.HELD)
    )
}
AT_LEFT: Mapping[State, float] = {**dict.fromkeys(CALLS, LEFT - 11.0), State.ABORT: LEFT - 20.0}
AT_RIGHT: Mapping[State, float] = {State.ABORT_PARTIAL: WIDTH - 17.0, State.COMPLETE: WIDTH - 8.0}
AT_RIGHT_ELSE = WIDTH - 26.0

#: How far from a side's middle a line begins or ends, by its lane: lines of one side stand apart.
PORTS: Mapping[State, float] = {
    State.EVALUATE_STOP: -6.0,
    State.EVALUATE_ERROR: 6.0,
    State.REQUEST: 11.0,
    State.EXECUTE_TOOLS: 6.0,
    State.ABORT: 12.0,
    State.HELD: -12.0,
    State.ABORT_PARTIAL: 6.0,
    State.COMPLETE: 12.0,
}
PORT_ELSE = -8.0


@cache
def lines() -> tuple[tuple[str, str, str, bool], ...]:
    """Each pair of joined states once, with its line."""
    pairs: dict[frozenset[State], tuple[State, State]] = {}
    for source, targets in TRANSITIONS.items():
        for target in targets.values():
            pairs.setdefault(frozenset((source, target)), (source, target))
    # What is held may be released: the line is the same both ways and is drawn towards the hold.
    ordered = [(b, a) if a is State.HELD and b is not State.ABORT and b is not a else (a, b) for a, b in pairs.values()]
    return tuple((a.value, b.value, _path(a, b), _is_quiet(a, b)) for a, b in ordered)


def _is_quiet(source: State, target: State) -> bool:
    by_cancel = target is State.ABORT and PLACES[source][0] == LEFT
    return source is target or State.HELD in (source, target) or by_cancel


def _path(source: State, target: State) -> str:
    (x1, y1), (x2, y2) = PLACES[source], PLACES[target]
    if source is target:
        return _loop(x1, y1 + BOX_HEIGHT / 2)
    if x1 == x2 and abs(y1 - y2) == PITCH:
        return _straight_down(x1 + DOWN, y1 + BOX_HEIGHT, y2)
    if y1 == y2:
        return _across(source, target)
    lane = _lane(source, target)
    height = BOX_HEIGHT / 2 + PORTS.get(target, PORT_ELSE)
    start, end = (_box_side(x1, lane), y1 + height), (_box_side(x2, lane), y2 + height)
    return _along_lane(start, lane, end, arrow=target is not State.HELD)


def _box_side(x: float, lane: float) -> float:
    """The side of a box at `x` that looks to the lane."""
    return x if lane < x + BOX_WIDTH / 2 else x + BOX_WIDTH


def _lane(source: State, target: State) -> float:
    x1, x2 = PLACES[source][0], PLACES[target][0]
    if x1 != x2:
        return BETWEEN[target]
    return AT_LEFT[target] if x1 == LEFT else AT_RIGHT.get(target, AT_RIGHT_ELSE)


def _across(source: State, target: State) -> str:
    y = PLACES[source][1] + BOX_HEIGHT / 2
    x1, x2 = PLACES[source][0], PLACES[target][0]
    right = x2 > x1
    end = x2 if right else x2 + BOX_WIDTH
    start = x1 + BOX_WIDTH if right else x1
    return f"M{start} {y}H{end}{_head(1 if right else -1) if target is not State.HELD else ''}"


def _straight_down(x: float, y1: float, y2: float) -> str:
    return f"M{x} {y1}V{y2}m-3 -4l3 4 3-4"


def _loop(x: float, y: float) -> str:
    return f"M{x} {y - 5}c-10 -3 -10 13 0 10{_head(1)}"


def _head(direction: int) -> str:
    """An arrow's head at the end of a horizontal line."""
    back = -4 * direction
    return f"m{back} -3l{-back} 3 {back} 3"


def _along_lane(start: tuple[float, float], lane: float, end: tuple[float, float], *, arrow: bool) -> str:
    (x1, y1), (x2, y2) = start, end
    curve = min(CURVE, abs(y2 - y1) / 2)
    down = curve if y2 > y1 else -curve
    out = curve if lane > x1 else -curve
    back = curve if x2 > lane else -curve
    head = _head(1 if x2 > lane else -1) if arrow else ""
    return f"M{x1} {y1}H{lane - out:g}q{out:g} 0 {out:g} {down:g}V{y2 - down:g}q0 {down:g} {back:g} {down:g}H{x2}{head}"


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
