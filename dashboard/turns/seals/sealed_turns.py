"""What the seals say: which turns they hold, with which head, and what is wrong with the seals themselves."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from dashboard.turns.seals import keys
from dashboard.turns.seals.models import Chain, Seal
from dashboard.turns.seals.services import CLOCKS_APART
from dashboard.turns.seals.signed_lists import is_ours, members_of
from dashboard.turns.seals.tombstones import Erased

Faults = Iterator[tuple[str, str]]  #: what is wrong, by the seal or the turn, each in a sentence


@dataclass(slots=True)
class Sealed:
    """Filled seal by seal. `erased`: when turns were erased on purpose; a seal binds no turn that was erased since."""

    erased: Erased = field(default_factory=dict)
    heads: dict[UUID, bytes] = field(default_factory=dict)  #: of each turn
    numbers: dict[UUID, int] = field(default_factory=dict)  #: in which seal it is
    made: dict[int, datetime] = field(default_factory=dict)  #: when each seal was made,
    complete: dict[int, datetime] = field(default_factory=dict)  #: and was complete
    digests: dict[int, str] = field(default_factory=dict)
    last: int = 0  #: the number of the last seal that was read

    def read_on(self) -> Faults:
        """Read the seals that were not read yet, and let go of what they hold of erased turns."""
        own = keys.own_keys()
        unread = Seal.objects.filter(number__gt=self.last) if self.made else Seal.objects.all()
        for seal in unread.order_by("number").iterator():
            yield from self._misplaced(seal)
            if not is_ours(seal, own):
                yield f"seal {seal.number}", "Its signature is not this installation's, or what it seals was changed."
            yield from self.take(seal)
        self.let_go_of_erased()

    def _misplaced(self, seal: Seal) -> Faults:
        name, number = f"seal {seal.number}", self.last + 1
        if seal.number != number:
            yield name, f"Seal {number} is missing before it."
        elif seal.previous != self.digests.get(number - 1, ""):
            yield name, "It does not continue the seal before it: one of the two was changed."

    def take(self, seal: Seal) -> Faults:
        """Add what a seal says. A turn that an earlier one holds stays bound by that, unless it was erased since."""
        self.last = seal.number
        self.made[seal.number], self.digests[seal.number] = seal.made_at, seal.digest
        if seal.complete_at is not None:
            self.complete[seal.number] = seal.complete_at
        for turn_id, head in members_of(seal):
            before = self.numbers.get(turn_id)
            if before is None or _is_erased(self.erased.get(turn_id, ()), self.made[before], seal.made_at):
                self.heads[turn_id], self.numbers[turn_id] = head, seal.number
            else:
                yield str(turn_id), f"Seal {seal.number} contains it again, but it was not erased after seal {before}."

    def let_go_of_erased(self) -> None:
        """The seals from before a turn was erased bind it no more. One that is here again was written anew
        (`dashboard.ingest`, an import): seals from after the erasure do bind it."""
        ended = {turn_id: self.numbers[turn_id] for turn_id in self.erased.keys() & self.heads.keys()}
        ended = {turn_id: number for turn_id, number in ended.items() if self.made[number] <= max(self.erased[turn_id])}
        for turn_id in ended.keys() - self._chained_anew(ended):
            del self.heads[turn_id]

    def _chained_anew(self, ended: Mapping[UUID, int]) -> set[UUID]:
        """Those that were erased in the sweep of their seal, which holds what was written after that: an erasure after
        the seal would have removed the chain it holds."""
        unsure = [
            turn_id
            for turn_id, number in ended.items()
            if max(self.erased[turn_id]) <= self.made[number] + CLOCKS_APART
        ]
        chains = Chain.objects.filter(turn_id__in=unsure).values_list("turn_id", "seal")
        return {turn_id for turn_id, number in chains if number == ended[turn_id]}

    def cut_off(self, expected: str) -> Faults:
        """What the data folder remembers of seals, and whoever noted the digest `expected`, and is here no more."""
        digests, digest = frozenset(self.digests.values()), self.digests.get(self.last, "")
        remembered = keys.remembered_head()
        if remembered is not None and remembered[1] not in digests:
            words = "It was removed or changed: the data folder remembers it with another digest."
            yield f"seal {remembered[0]}", words
        for lost, told in keys.lost_heads():
            if told not in digests:
                words = f"It was created here and is missing: {keys.LOST_FILE} in the data folder has its digest."
                yield f"seal {lost}", words
        if expected and expected not in digests:
            yield f"seal {self.last}", f"No seal has the digest {expected}; the last one has {digest or 'none'}."


def _is_erased(moments: Iterable[datetime], since: datetime, until: datetime) -> bool:
    """Whether a turn was erased between two seals. Earlier releases dated a seal to the start of its sweep, in which a
    turn could still be erased and chained anew."""
    return any(since <= at <= until + CLOCKS_APART for at in moments)
