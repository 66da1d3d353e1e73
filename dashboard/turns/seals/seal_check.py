"""Verifies every seal, chain and turn, and names each fault."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import islice
from uuid import UUID

from django.db import InterfaceError, OperationalError
from django.utils import timezone

from agentcore.version import VERSION
from dashboard.platform.ids import made_at
from dashboard.turns.history import sha256_of
from dashboard.turns.models import UNFINISHED, Turn
from dashboard.turns.seals import keys
from dashboard.turns.seals.audit_seals import AuditChecked, audit_check
from dashboard.turns.seals.chains import head_of, parts_of
from dashboard.turns.seals.models import Chain, Seal
from dashboard.turns.seals.parts import ADDED, BYTES, LINK, SINCE, Part, unpacked
from dashboard.turns.seals.row_parts import is_cut_by_removal
from dashboard.turns.seals.services import CLOCKS_APART
from dashboard.turns.seals.signed_lists import is_ours, members_of
from dashboard.turns.seals.tombstones import Erased, removed_on_purpose
from dashboard.turns.stored_turn import StoredTurn, stored_turns
from dashboard.turns.verification import examined

BATCH = 100
LATE = timedelta(minutes=15)  #: that the last words of a turn may take to be stored


@dataclass(slots=True)
class Checked:
    """What was looked at. `faults`: what is wrong, by turn (or `seal 3`), each in a sentence. `changed`: turns of an
    earlier version of the core, which this version judges otherwise; nobody changed them."""

    turns: int = 0
    seals: int = 0
    sealed: int = 0
    erased: int = 0
    unchained: int = 0
    audit: AuditChecked = field(default_factory=AuditChecked)
    faults: list[tuple[str, str]] = field(default_factory=list)
    changed: list[tuple[str, str]] = field(default_factory=list)


@dataclass(slots=True)
class Sealed:
    """What the seals say: the head of each turn, in which seal it is, and when each was made, and was complete."""

    heads: dict[UUID, bytes] = field(default_factory=dict)
    numbers: dict[UUID, int] = field(default_factory=dict)
    made: dict[int, datetime] = field(default_factory=dict)
    complete: dict[int, datetime] = field(default_factory=dict)


def check_all(
    *,
    expected: str = "",
    replay: bool = True,
    begun: Checked | None = None,
    after: UUID | None = None,
    on_batch: Callable[[Checked, UUID], None] = lambda _checked, _last: None,
) -> Checked:
    """Check everything. `expected`: a seal's digest that was noted elsewhere; `replay`: judge each history again.

    `begun` and `after`: what an earlier check had found of turns, up to this one. `on_batch` is given what is found so
    far, and the last turn of it, after each batch of turns.
    """
    checked = begun or Checked()
    erased, bared, forged = removed_on_purpose()
    sealed = _seals(checked, expected, erased)
    checked.faults += [("tombstone", words) for words in forged]
    checked.erased = len(erased)
    _let_go_of_erased(sealed, erased)
    for ids in batches(_ids(after), BATCH):
        _turns(ids, checked, sealed, bared, replay)
        on_batch(checked, ids[-1])
    _gone(checked, sealed)
    checked.audit = audit_check(timezone.now())
    checked.faults += checked.audit.faults
    return checked


def _seals(checked: Checked, expected: str, erased: Erased) -> Sealed:
    sealed, own, digest, number = Sealed(), keys.own_keys(), "", 0
    digests = set()
    for seal in Seal.objects.order_by("number").iterator():
        name, number = f"seal {seal.number}", number + 1
        if seal.number != number:
            checked.faults.append((name, f"Seal {number} is missing before it."))
            number = seal.number
        elif seal.previous != digest:
            checked.faults.append((name, "It does not continue the seal before it: one of the two was changed."))
        if not is_ours(seal, own):
            checked.faults.append((name, "Its signature is not this installation's, or what it seals was changed."))
        digest = seal.digest
        digests.add(digest)
        checked.faults += _read(seal, sealed, erased)
    checked.seals, checked.sealed = number, len(sealed.heads)
    checked.faults += _ends(number, digest, digests, expected)
    return sealed


def _read(seal: Seal, sealed: Sealed, erased: Erased) -> Iterator[tuple[str, str]]:
    """Add what a seal says. A turn that an earlier one holds stays bound by that, unless it was erased in between."""
    sealed.made[seal.number] = seal.made_at
    if seal.complete_at is not None:
        sealed.complete[seal.number] = seal.complete_at
    for turn_id, head in members_of(seal):
        before = sealed.numbers.get(turn_id)
        if before is None or _is_erased(erased.get(turn_id, ()), sealed.made[before], seal.made_at):
            sealed.heads[turn_id], sealed.numbers[turn_id] = head, seal.number
        else:
            yield str(turn_id), f"Seal {seal.number} holds it again, but it was not erased after seal {before}."


def _is_erased(moments: Iterable[datetime], since: datetime, until: datetime) -> bool:
    """Whether a turn was erased between two seals. Earlier releases dated a seal to the start of its sweep, in which a
    turn could still be erased and chained anew."""
    return any(since <= at <= until + CLOCKS_APART for at in moments)


def _ends(number: int, digest: str, digests: set[str], expected: str) -> Iterator[tuple[str, str]]:
    """The last seals may have been cut off."""
    remembered = keys.remembered_head()
    if remembered is not None and remembered[1] not in digests:
        yield f"seal {remembered[0]}", "It was removed or changed: the data folder remembers it with another digest."
    for lost, told in keys.lost_heads():
        if told not in digests:
            yield f"seal {lost}", f"It was made here and is gone: {keys.LOST_FILE} in the data folder has its digest."
    if expected and expected not in digests:
        yield f"seal {number}", f"No seal has the digest {expected}; the last one has {digest or 'none'}."


def _let_go_of_erased(sealed: Sealed, erased: Erased) -> None:
    """The seals from before a turn was erased bind it no more. One that is here again was written anew
    (`dashboard.ingest`, an import): seals from after the erasure do bind it."""
    ended = {turn_id: sealed.numbers[turn_id] for turn_id in erased.keys() & sealed.heads.keys()}
    ended = {turn_id: number for turn_id, number in ended.items() if sealed.made[number] <= max(erased[turn_id])}
    anew = _chained_anew(ended, sealed, erased)
    for turn_id in ended.keys() - anew:
        del sealed.heads[turn_id]


def _chained_anew(ended: Mapping[UUID, int], sealed: Sealed, erased: Erased) -> set[UUID]:
    """Those that were erased in the sweep of their seal, which holds what was written after that: an erasure after the
    seal would have removed the chain it holds."""
    unsure = [
        turn_id for turn_id, number in ended.items() if max(erased[turn_id]) <= sealed.made[number] + CLOCKS_APART
    ]
    chains = Chain.objects.filter(turn_id__in=unsure).values_list("turn_id", "seal")
    return {turn_id for turn_id, number in chains if number == ended[turn_id]}


def turn_faults(turn: Turn) -> list[str]:
    """What of one turn is not as it was chained and sealed, without a look at any other turn or at all seals."""
    chain, sealed = Chain.objects.filter(turn_id=turn.id).first(), Sealed()
    if chain is not None and chain.seal is not None:
        seals = Seal.objects.filter(number=chain.seal)
    else:  # whoever makes a chain again, or removes it, leaves the seal that holds the turn
        later = Seal.objects.filter(made_at__gte=_earliest(turn))
        seals = later.extra(where=["position(%s IN members) > 0"], params=[turn.id.bytes])
    erased, bared, _ = removed_on_purpose(turn.id)
    again = []
    for seal in seals.order_by("number"):
        if not is_ours(seal, keys.own_keys()):
            return [f"Seal {seal.number}, which holds it, was changed."]
        again += [words for place, words in _read(seal, sealed, erased) if place == str(turn.id)]
    _let_go_of_erased(sealed, erased)
    now = parts_of([turn])[turn.id]
    return [*again, *_chain_faults(turn, chain, now, sealed, bared), *_compared_faults(turn, bared, StoredTurn(turn))]


def _earliest(turn: Turn) -> datetime:
    """Before this no seal can hold the turn. Its row says what the owner of the database lets it say; its id tells when
    it was made, and is what a seal holds. One that does not tell may be in any seal."""
    made = made_at(turn.id)
    return min(turn.created_at, made) if made else datetime.min.replace(tzinfo=UTC)


def _ids(after: UUID | None) -> Iterator[UUID]:
    turns = Turn.objects.order_by("id")
    found = turns if after is None else turns.filter(id__gt=after)
    return found.values_list("id", flat=True).iterator()


def _turns(ids: Sequence[UUID], checked: Checked, sealed: Sealed, bared: frozenset[UUID], replay: bool) -> None:
    turns = list(Turn.objects.filter(id__in=ids).select_related("origin", "ingested").order_by("id"))
    chains, parts, known = Chain.objects.in_bulk(ids), _parts(turns), stored_turns(turns)
    for turn in turns:
        checked.turns += 1
        chain = chains.get(turn.id)
        if chain is None and turn.id not in sealed.heads:
            checked.unchained += turn.status not in UNFINISHED
        changed: list[str] = []
        try:
            now = parts[turn.id] if turn.id in parts else parts_of([turn])[turn.id]
            faults = [*_chain_faults(turn, chain, now, sealed, bared)]
            if not faults and turn.status not in UNFINISHED:
                stored = known.pop(turn.id)  # what it reads goes with the turn
                faults += _other_faults(turn, sealed, bared, stored)
                changed += _replay_faults(turn, stored) if replay else ()
        except (OperationalError, InterfaceError):
            raise
        except Exception as error:  # whoever changes rows may leave what cannot be read any more
            faults = [f"It cannot be read any more: it was changed or damaged ({type(error).__name__})."]
        otherwise = checked.faults if turn.core_version == VERSION else checked.changed
        otherwise += [(str(turn.id), words) for words in changed]
        checked.faults += [(str(turn.id), words) for words in faults]


def _parts(turns: list[Turn]) -> dict[UUID, list[Part]]:
    """The parts of these turns; nothing where one of them cannot be read, so that each is read by itself."""
    try:
        return parts_of(turns)
    except (OperationalError, InterfaceError):
        raise
    except Exception:
        return {}


def _chain_faults(
    turn: Turn, chain: Chain | None, now: list[Part], sealed: Sealed, bared: frozenset[UUID]
) -> Iterator[str]:
    head = sealed.heads.get(turn.id)
    if chain is None:
        if head is not None:
            yield "Its chain was removed."
        return
    then = unpacked(bytes(chain.parts))
    if head_of(turn.id, then) != bytes(chain.head):
        yield "Its chain was changed."
    elif head is not None and bytes(chain.head) != head:
        yield f"It was changed after seal {sealed.numbers[turn.id]}, and its chain was made again."
    elif head is None and chain.seal is not None:
        yield f"Its chain says seal {chain.seal}, which does not hold it."
    if words := differing(then, now, bytes_removed=turn.id in bared):
        yield words


def differing(then: list[Part], now: list[Part], *, bytes_removed: bool = False) -> str:
    """What of a turn is not as it was chained, in words; empty where all is."""
    before, after = {(p.kind, p.number): p for p in then}, {(p.kind, p.number): p for p in now}
    for mark, kinds in SINCE:
        if (mark, 0) not in before:  # an earlier release chained less
            after = {key: part for key, part in after.items() if part.kind not in kinds}
    changed = [part.name for key, part in before.items() if key in after and after[key].digest != part.digest]
    removed = [
        part.name for key, part in before.items() if key not in after and not _may_go(part, bytes_removed=bytes_removed)
    ]
    added = [part.name for key, part in after.items() if key not in before and part.kind not in ADDED]
    words = {"changed": changed, "removed": removed, "added": added}
    return "; ".join(f"{word}: {', '.join(names)}" for word, names in words.items() if names)


def _may_go(part: Part, *, bytes_removed: bool) -> bool:
    return (bytes_removed and part.kind in BYTES) or (part.kind == LINK and is_cut_by_removal(part))


def _other_faults(turn: Turn, sealed: Sealed, bared: frozenset[UUID], stored: StoredTurn) -> Iterator[str]:
    number = sealed.numbers.get(turn.id, max(sealed.complete, default=0) + 1)
    earlier = [at for n, at in sealed.complete.items() if n < number]
    origin, ingested = getattr(turn, "origin", None), getattr(turn, "ingested", None)
    came = origin.imported_at if origin is not None else turn.finished_at
    came = ingested.ingested_at if ingested is not None else came
    if earlier and came is not None and came + LATE < max(earlier):
        yield f"It was added out of order: it ended before seal {number - 1} was made, which does not hold it."
    yield from _compared_faults(turn, bared, stored)


def _replay_faults(turn: Turn, stored: StoredTurn) -> Iterator[str]:
    origin = getattr(turn, "origin", None)
    found = examined(turn, stored.recording, stored)
    if not found.verified and not (origin is not None and origin.speaks_against):
        error = (found.divergence.replayed or {}).get("error", "") if found.divergence else ""
        yield f"It does not replay: {error or 'its events give another history'}."


def _compared_faults(turn: Turn, bared: frozenset[UUID], stored: StoredTurn) -> Iterator[str]:
    """What is not chained as it is stored, compared with what is."""
    if (turn.raw_removed_at is not None) != (turn.id in bared):
        yield "Its row and the signed notes differ on whether the provider's bytes were removed."
    for attempt in stored.attempts:
        if sha256_of(stored.body_of(attempt)) != attempt.request_sha256:
            yield f"The request of attempt {attempt.index} is not the one that was sent."


def _gone(checked: Checked, sealed: Sealed) -> None:
    for ids in batches(sorted(sealed.heads), 1000):
        here = set(Turn.objects.filter(id__in=ids).values_list("id", flat=True))
        for turn_id in ids:
            if turn_id not in here:
                words = f"It was removed: seal {sealed.numbers[turn_id]} holds it, but no erasure is recorded here."
                checked.faults.append((str(turn_id), words))


def batches(ids: Iterable[UUID], size: int) -> Iterator[list[UUID]]:
    """So many at a time."""
    left = iter(ids)
    while batch := list(islice(left, size)):
        yield batch
