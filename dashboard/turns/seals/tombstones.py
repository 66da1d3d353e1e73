"""What tells an erasure from a theft: a signed note, written in the transaction that removes."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from uuid import UUID

from django.utils import timezone

from dashboard.turns.seals import keys
from dashboard.turns.seals.models import Chain, Seal, Tombstone
from dashboard.turns.seals.parts import canonical


def turns_erased(turn_ids: Sequence[UUID], *, by: str) -> None:
    """Note that these turns were erased; their chains go with them.

    The chains go first: a seal that is being made holds them until it is made, so that the note is later than each seal
    which holds one of these turns; also where the clock of who seals is ahead of this one.
    """
    chains = Chain.objects.filter(turn_id__in=turn_ids)
    list(chains.order_by("turn_id").select_for_update().values_list("turn_id"))  # in the order in which a seal does
    chains.delete()
    sealed = Seal.objects.order_by("-number").values_list("made_at", flat=True)[:1]
    _note(Tombstone.Kind.ERASED, turn_ids, by, max([timezone.now(), *sealed]))


def raw_removed(turn_ids: Sequence[UUID], *, by: str, at: datetime) -> None:
    """Note that the provider's bytes of these turns were removed; all else of them stays."""
    _note(Tombstone.Kind.RAW, turn_ids, by, at)


#: When turns were erased, by their ids: one that was written anew may be erased again.
Erased = Mapping[UUID, Sequence[datetime]]


def removed_on_purpose(turn_id: UUID | None = None) -> tuple[Erased, frozenset[UUID], list[str]]:
    """When turns were erased, those whose bytes were removed, and the notes that nobody of ours signed; with `turn_id`,
    by the notes of this turn alone."""
    notes = Tombstone.objects.all() if turn_id is None else Tombstone.objects.filter(turn_ids__contains=[turn_id])
    own, erased, bared, forged = keys.own_keys(), defaultdict[UUID, list[datetime]](list), set[UUID](), []
    seen = set[str]()
    for note in notes.order_by("id").iterator():
        signed = note.public_key in own and keys.is_signed(_body(note), by=note.public_key, signature=note.signature)
        if signed and note.kind == Tombstone.Kind.ERASED:
            for erased_id in note.turn_ids:
                erased[erased_id].append(note.at)
        elif signed:
            bared.update(note.turn_ids)
        else:
            forged.append(f"The note {note.id} that {len(note.turn_ids):,} turns were {note.kind} is not signed by us.")
        if note.signature in seen:
            forged.append(f"The note {note.id} is stored twice.")
        seen.add(note.signature)
    return erased, frozenset(bared), forged


def _note(kind: str, turn_ids: Sequence[UUID], by: str, at: datetime) -> None:
    if not turn_ids:
        return
    note = Tombstone(kind=kind, by=by, at=at, turn_ids=list(turn_ids), public_key=keys.public_key())
    note.signature = keys.sign(_body(note))
    note.save(force_insert=True)


def _body(note: Tombstone) -> bytes:
    ids: Iterator[str] = (str(turn_id) for turn_id in note.turn_ids)
    said = {"kind": str(note.kind), "by": note.by, "at": note.at, "turns": list(ids), "key": note.public_key}
    return b"whystop.tombstone.1\n" + canonical(said)
