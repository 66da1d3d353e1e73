"""A turn and its re-runs are one family, of which one length counts: a prompt that was run again ten times says no more
of an agent than any other."""

from collections.abc import Callable, Sequence
from typing import TypeVar
from uuid import UUID

from dashboard.policies.backtests.survival import Length

T = TypeVar("T")


def one_per_family(turns: Sequence[tuple[UUID, UUID | None, T]], length_of: Callable[[T], Length]) -> list[T]:
    """Of each family the first turn that ended by itself, else the longest of those that were cut; the oldest family
    first.

    `turns`: their ids, those of the turns that they run again, and what is known of them; the newest first.
    """
    chosen, first_of = dict[UUID, T](), dict[UUID, UUID]()
    for turn_id, parent_id, found in reversed(turns):
        first = first_of[turn_id] = first_of.get(parent_id, parent_id) if parent_id else turn_id
        if first not in chosen or _is_better(length_of(found), length_of(chosen[first])):
            chosen[first] = found
    return list(chosen.values())


def _is_better(length: Length, known: Length) -> bool:
    return not known.ended and (length.ended or length.tokens > known.tokens)
