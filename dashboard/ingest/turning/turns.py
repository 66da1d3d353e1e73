"""The calls of a trace, put into turns: those of one loop, or of one span, that go on from one another."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from agentcore.messages import ChatResponse
from dashboard.ingest.conventions.seen import Loop, ModelCall
from dashboard.ingest.turning.answers import answer_of
from dashboard.ingest.turning.joining import Joint, joint_of
from dashboard.ingest.turning.places import Places


@dataclass(frozen=True, slots=True)
class Step:
    """A call of a turn with its answer, and how it goes on from the one before it; None for the first."""

    call: ModelCall
    answer: ChatResponse
    joint: Joint | None


@dataclass(frozen=True, slots=True)
class Joined:
    """The calls of one turn, and the loop that they are of."""

    steps: tuple[Step, ...]
    loop: Loop | None


def joined(calls: Iterable[ModelCall], places: Places) -> Iterator[Joined]:
    """The turns, by when they began."""
    by_place: dict[str, tuple[Loop | None, list[Step]]] = {}
    for call in calls:
        loop = places.loop_of(call.span.id)
        place = loop.span.id if loop else call.span.parent or call.span.id
        by_place.setdefault(place, (loop, []))[1].append(Step(call, answer_of(call), None))
    found = [turn for loop, steps in by_place.values() for turn in _turns_in(steps, loop)]
    yield from sorted(found, key=lambda turn: (turn.steps[0].call.span.start, turn.steps[0].call.span.id))


def _turns_in(steps: Sequence[Step], loop: Loop | None) -> Iterator[Joined]:
    """A turn whose last answer asks for tools, of which the trace shows no results, is handed out as the gateway does
    it: each of its calls is a turn, and who asked runs the tools."""
    at = 0
    while at < len(steps):
        end = at + 1
        turn = [steps[at]]
        while end < len(steps):
            joint = joint_of(turn[-1].call, turn[-1].answer, steps[end].call, in_loop=loop is not None)
            if joint is None:
                break
            turn.append(Step(steps[end].call, steps[end].answer, joint))
            end += 1
        parts = _handed_out(turn) if turn[-1].answer.tool_calls and len(turn) > 1 else [turn]
        yield from (Joined(tuple(part), loop) for part in parts)
        at = end


def _handed_out(turn: Sequence[Step]) -> list[list[Step]]:
    parts: list[list[Step]] = []
    for step in turn:
        if not parts or step.joint is Joint.TOOLS:
            parts.append([Step(step.call, step.answer, None)])
        else:
            parts[-1].append(step)
    return parts
