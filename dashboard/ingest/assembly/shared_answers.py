"""One call that two traces tell of: where no span is around both, a vendor's own tracing and an instrumentation each
begin a trace.

A call that is all that its trace tells of a model goes to the other trace, where the two have the same response id and
nothing speaks against their being one.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from uuid import UUID

from agentcore.messages import Role
from agentcore.values import replace
from dashboard.ingest.assembly.call_dedup import MOST_TELLING, SLACK, one_of
from dashboard.ingest.conventions.observations import ModelCall, Seen

APART = 5_000_000_000  #: nanoseconds between the beginnings of two accounts of one call


@dataclass(frozen=True, slots=True)
class _Account:
    """A call as a trace tells it. `place`: among what is seen of the trace; `is_alone`: there is nothing else."""

    trace: UUID
    place: int
    is_alone: bool
    call: ModelCall

    @property
    def order(self) -> tuple[bool, int, int, str, UUID]:
        """The one that the others are told of by comes first: it has more around it, or is the outer one."""
        span = self.call.span
        return self.is_alone, span.start, -span.end, span.id, self.trace


def without_doubles(
    traces: Mapping[UUID, Sequence[Seen]], answers: Mapping[tuple[UUID, str], int]
) -> dict[UUID, list[Seen]]:
    """What each trace tells, once each call is told in one of them, in whichever order they stand.

    `answers`: the number of the answer's id, by trace and span."""
    told = {trace: list(seen) for trace, seen in traces.items()}
    for accounts in _by_answer(told, answers):
        for whole, others in _calls_of(accounts):
            elsewhere = tuple(one.trace.hex for one in others)
            call = one_of([whole.call, *(one.call for one in others)])
            told[whole.trace][whole.place] = replace(call, elsewhere=elsewhere)
            for one in others:
                told[one.trace] = []
    return told


def _by_answer(
    told: Mapping[UUID, Sequence[Seen]], answers: Mapping[tuple[UUID, str], int]
) -> Iterator[list[_Account]]:
    """The accounts of each id that stands in two traces. An id that stands in many is one that a server repeats."""
    found: dict[int, list[_Account]] = {}
    for trace, seen in told.items():
        for place, one in enumerate(seen):
            answer = answers.get((trace, one.span.id))
            if answer is not None and isinstance(one, ModelCall):
                found.setdefault(answer, []).append(_Account(trace, place, len(seen) == 1, one))
    yield from (accounts for accounts in found.values() if 1 < len(accounts) <= MOST_TELLING)


def _calls_of(accounts: Sequence[_Account]) -> Iterator[tuple[_Account, list[_Account]]]:
    """Each call that several accounts tell, with the account to keep first. Two of one instrumentation are two calls,
    so it is not known which of them another account tells of."""
    for group in _groups(sorted(accounts, key=lambda one: one.order)):
        scopes = {one.call.span.scope for one in group}
        others = [one for one in group[1:] if one.is_alone]
        if others and len(scopes) == len(group):
            yield group[0], others


def _groups(accounts: Sequence[_Account]) -> Iterable[list[_Account]]:
    """Accounts that fit one another, or a third one."""
    groups = [[one] for one in accounts]
    for one, other in combinations(accounts, 2):
        if _are_one(one.call, other.call) and one.trace != other.trace:
            first, second = (next(group for group in groups if member in group) for member in (one, other))
            if first is not second:
                groups = [group for group in groups if group is not first and group is not second]
                groups.append(sorted([*first, *second], key=lambda one: one.order))
    return groups


def _are_one(one: ModelCall, other: ModelCall) -> bool:
    """Whether nothing speaks against two calls of one response id being the same."""
    a, b = one.span, other.span
    is_at_once = a.start <= b.end + SLACK and b.start <= a.end + SLACK and abs(a.start - b.start) <= APART
    return (
        is_at_once
        and _agree(_program(one), _program(other))
        and _agree(_counted(one), _counted(other))
        and _agree((one.content.text or "").strip(), (other.content.text or "").strip())
        and _agree(_asked(one), _asked(other))
        and _is_one_model(one.model, other.model)
    )


def _agree(one: object, other: object) -> bool:
    """Whether they are equal, where both are told."""
    return not one or not other or one == other


def _program(call: ModelCall) -> str:
    """The name it was given; an SDK that was given none makes one up."""
    service = call.span.service
    return "" if service.startswith("unknown_service") else service


def _counted(call: ModelCall) -> tuple[int, int] | None:
    return None if call.usage is None else (call.usage.input_tokens, call.usage.output_tokens)


def _asked(call: ModelCall) -> str:
    """The last that was asked."""
    asked = [message.text.strip() for message in call.content.input or () if message.role is Role.USER]
    return asked[-1] if asked else ""


def _is_one_model(one: str, other: str) -> bool:
    """One may be told with its provider, or with its version."""
    one, other = (name.rpartition("/")[2] for name in (one, other))
    return one.startswith(other) or other.startswith(one)
