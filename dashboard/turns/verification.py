"""Verifies an ended turn against its recording, once, and remembers the result.

In the memory of the process: criteria of one's own are code, and code changes with a restart.
"""

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any
from uuid import UUID

import structlog
from django.core.cache import cache

from agentcore import VERSION
from agentcore.errors import CoreError
from agentcore.events import Started
from agentcore.replay import Divergence, Recording, Verification, verify
from agentcore.replay import Record as CoreRecord
from dashboard.agents.criteria import criteria_faults
from dashboard.platform.fields import as_stored
from dashboard.turns.derived_rows import StoredTurn, derived_faults
from dashboard.turns.evidence import Fault, StoredAnswer, faults_of, other_beginning, otherwise, unproven
from dashboard.turns.history import rebuilt_columns, recording_of
from dashboard.turns.models import Piece, Record, Turn
from dashboard.turns.record_reader import stamps_of
from dashboard.turns.request_evidence import CLOCKS_DIFFER, RecordStamp, call_faults, calls_of, requests_unproven
from dashboard.turns.sent_caps import cap_agrees, sent_cap
from dashboard.turns.shared_values import UNREADABLE

log = structlog.get_logger(__name__)

KEPT_SECONDS = 24 * 3600
NAMED = 3  #: runs of missing records that are named
#: Columns of a turn's row that its records give again, whatever version wrote them.
ROW = (
    "status", "state", "stop_reason", "model_stop_reason", "raw_stop_reason", "terminal_reason", "error_code",
    "error_message", "output_text", "input_tokens", "output_tokens", "attempts", "continuations", "tool_repairs",
    "envelope_retries", "model", "max_tokens", "started_at", "finished_at", "duration_ms", "held_ms", "envelope",
    "last_seq",
)  # fmt: skip
#: What else the records give, in the words of the version that wrote them.
SAID = ("resource", "verdict", "notice", "lint", "cut_sign", "error_type", "tokens_estimated")
#: Of a turn that was given up, whose row says how it ended because its records do not.
GIVEN_UP = frozenset(
    {"status", "stop_reason", "terminal_reason", "error_code", "error_message", "finished_at", "notice", "verdict"}
)
ENDED_STATES = frozenset({"complete", "abort"})
CHANGED = "The history cannot be read any more: it was changed or damaged"
NO_BYTES = "The provider's bytes of {which} are not stored, so that the recorded answer cannot be compared with them."


@dataclass(frozen=True, slots=True)
class TurnProof:
    """Whether a turn verifies. `unproven`: what of a turn that does could not be compared, in words; empty: nothing."""

    verified: bool
    unproven: str = ""


@dataclass(frozen=True, slots=True)
class MissingRecords:
    """The records that a turn lacks. `first`: number of the first one. `words`: `record 2 of 5 is missing`."""

    first: int
    words: str


def proof_of(turn: Turn, recording: Recording) -> TurnProof:
    """The answer for a history as long as this one, by this version of the core."""
    known: TurnProof | None = cache.get(_key(turn))
    if known is None:
        known = _proof(turn, recording)
        cache.set(_key(turn), known, KEPT_SECONDS)
    return known


def _proof(turn: Turn, recording: Recording) -> TurnProof:
    lacking = missing_records(recording.records, turn.last_seq)
    found = _examined(turn, recording, lacking, StoredTurn(turn))
    unproven = " ".join(found.missing) if found.verified else ""
    return TurnProof(found.verified, unproven)


def is_verified(turn: Turn, recording: Recording) -> bool:
    """Whether it verifies, as far as it can be compared."""
    return proof_of(turn, recording).verified


def verification_of(turn: Turn) -> Verification:
    """The same, read anew. Where a criterion of the turn's policy cannot be asked any more, or the history cannot be
    read, nothing can be compared, and the divergence says so."""
    try:
        recording = recording_of(turn)
        faults = criteria_faults(recording.policy)
        return _incomparable(" ".join(faults)) if faults else examined(turn, recording)
    except (CoreError, *UNREADABLE) as error:
        log.warning("history_unreadable", turn=str(turn.id), error=f"{type(error).__name__}: {error}"[:500])
        return _incomparable(CHANGED)


def _incomparable(words: str) -> Verification:
    return Verification(False, 0, Divergence(1, None, {"error": words}))


def examined(turn: Turn, recording: Recording, stored: StoredTurn | None = None) -> Verification:
    """Judge the events again; compare the answers with the provider's bytes, and the row with its history.

    `stored`: what the caller has read of the turn already.
    """
    return _examined(turn, recording, missing_records(recording.records, turn.last_seq), stored or StoredTurn(turn))


def _examined(turn: Turn, recording: Recording, lacking: MissingRecords | None, stored: StoredTurn) -> Verification:
    found = _judged_before(lacking, recording) if lacking else verify(recording)
    if not found.verified:
        return found
    attempts, raws, body_of = stored.attempts, raws_of(turn.id), stored.body_of
    written = [RecordStamp(row.at, row.core_version) for row in stored.records]
    calls, ours = calls_of(recording, written), [seq for seq, row in enumerate(written, 1) if row.is_ours]
    faults = (
        _row_faults(turn, recording, stored.records),
        call_faults(calls, attempts, body_of),
        faults_of(recording.records, attempts, raws, ours),
        derived_faults(turn, recording, stored),
    )
    for fault in chain(*faults):
        return diverging(found, fault)
    answers = no_bytes(unproven(recording.records, attempts, raws))
    requests = requests_unproven(calls, attempts, body_of)
    read = otherwise(recording.records, attempts, raws, ours)
    return replace(found, missing=(*found.missing, *answers, *requests, *read))


def _judged_before(lacking: MissingRecords, recording: Recording) -> Verification:
    """The verification of a history that lacks records: of those before the first that is missing, where it ends.
    What is judged without one would differ at some later record, which says nothing of the one that is missing."""
    there = tuple(record for record in recording.records if record.seq < lacking.first)
    found = verify(replace(recording, records=there))
    told = Divergence(lacking.first, None, {"error": lacking.words})
    return replace(found, verified=False, divergence=told) if found.verified else found


def diverging(found: Verification, fault: Fault) -> Verification:
    """The verification of a history that replays, and yet does not agree with what else is stored."""
    divergence = Divergence(fault.seq, None, {"error": fault.words.rstrip(".")})
    return Verification(False, max(0, fault.seq - 1), divergence, found.missing)


def no_bytes(attempts: list[int]) -> tuple[str, ...]:
    """What cannot be compared, in words."""
    if not attempts:
        return ()
    plural = "s" if len(attempts) > 1 else ""
    return (NO_BYTES.format(which=f"attempt{plural} {', '.join(map(str, attempts))}"),)


def raws_of(turn_id: UUID) -> dict[int, StoredAnswer]:
    """What was kept of the answers as they came, by attempt."""
    raws, texts = defaultdict[int, list[bytes]](list), defaultdict[int, list[str]](list)
    rows = Piece.objects.filter(turn_id=turn_id).order_by("n").values_list("attempt", "raw", "text")
    for attempt, raw, text in rows:
        raws[attempt].append(bytes(raw))
        texts[attempt].append(text)
    return {attempt: StoredAnswer(b"".join(parts), "".join(texts[attempt])) for attempt, parts in raws.items()}


def _row_faults(turn: Turn, recording: Recording, rows: Sequence[Record]) -> Iterator[Fault]:
    origin = getattr(turn, "origin", None)  # of an imported turn (`keeping.Origin`)
    if origin is not None and origin.speaks_against:
        yield Fault(1, origin.speaks_against)
    if not recording.records:
        return
    rebuilt, last = rebuilt_columns(turn, rows), len(recording.records)
    skipped = frozenset() if rebuilt["state"] in ENDED_STATES else GIVEN_UP
    compared = (*ROW, *SAID) if turn.core_version == VERSION else ROW
    unknown = frozenset() if turn.held_ms else {"held_ms"}  # a process of an older release stores none
    told = rebuilt.keys() - skipped - unknown
    wrong = [name for name in compared if name in told and getattr(turn, name) != as_stored(rebuilt[name])]
    if wrong == ["max_tokens"] and _is_reckoned(turn, recording):
        wrong = []
    if wrong:
        yield Fault(last, f"The turn's row differs from its history: {', '.join(wrong)}")
    first = recording.records[0].event
    if isinstance(first, Started):
        yield from _beginning_faults(turn, first, rows[0].event if rows else {})
    began = rebuilt["started_at"]
    if began is not None and turn.created_at > began + CLOCKS_DIFFER:
        yield Fault(1, "The turn's row says that it was created after its first record")


def _is_reckoned(turn: Turn, recording: Recording) -> bool:
    """Whether the row has what Whystop calculated with where no cap was sent, as earlier releases stored it."""
    first = recording.records[0].event
    setup = first.setup if isinstance(first, Started) else recording.base_snapshot.setup
    return setup is not None and sent_cap(setup) is None and cap_agrees(turn.max_tokens, setup)


def _beginning_faults(turn: Turn, first: Started, began: Mapping[str, Any]) -> Iterator[Fault]:
    if any(turn.setup.get(name) not in (None, began.get(name)) for name in ("setup", "messages")):
        yield Fault(1, "The turn's setup differs from its first record")
    if other := other_beginning(turn.provider, turn.input_text, first.setup, first.messages):
        yield Fault(1, f"The turn's {other} differs from its first record")


def cores(turn: Turn) -> str:
    """Which core judged a history and which one verifies it, in a sentence; empty where they are the same."""
    judged = sorted({version for _, version in stamps_of(turn.id)} - {VERSION})
    return f"Evaluated by core version {', '.join(judged)}, verified by {VERSION}." if judged else ""


def forget(turn: Turn) -> None:
    """Judge it again next time."""
    cache.delete(_key(turn))


def _key(turn: Turn) -> str:
    """A row that was changed has another."""
    row = hashlib.sha256(
        repr([getattr(turn, name) for name in (*ROW, *SAID)]).encode(errors="surrogatepass")
    ).hexdigest()[:24]
    return f"verified:{turn.id}:{turn.last_seq}:{row}:{VERSION}"


def missing_records(records: Sequence[CoreRecord], last_seq: int) -> MissingRecords | None:
    """Which of these records are missing: those between two that are there, and those up to the last that the turn's
    row knows. None where all are there. A row may have been changed to any number, so none of them is listed: only
    where each run of missing ones begins and ends."""
    last = max(last_seq, records[-1].seq if records else 0)
    runs = list(_runs((record.seq for record in records), last))
    return MissingRecords(runs[0][0], _words(runs, last)) if runs else None


def _runs(seqs: Iterable[int], last: int) -> Iterator[tuple[int, int]]:
    """The first and the last number of each run that is missing."""
    expected = 1
    for seq in (*seqs, last + 1):
        if expected < seq:
            yield expected, seq - 1
        expected = max(expected, seq + 1)


def _words(runs: Sequence[tuple[int, int]], last: int) -> str:
    several = len(runs) > 1 or runs[0][0] < runs[0][1]
    named = ", ".join(f"{one:,}" if one == end else f"{one:,} to {end:,}" for one, end in runs[:NAMED])
    more = " …" if len(runs) > NAMED else ""
    return f"record{'s' if several else ''} {named}{more} of {last:,} {'are' if several else 'is'} missing"
