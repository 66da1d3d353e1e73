"""Which records of a turn are missing: those between two that are there, and those up to the last that its row knows.

A row may have been changed to any number, so that no number is listed: only where each run of missing ones begins and
ends.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from agentcore.replay import Record

NAMED = 3  #: runs of missing records that are named


@dataclass(frozen=True, slots=True)
class MissingRecords:
    """The records that a turn lacks. `first`: number of the first one. `words`: `record 2 of 5 is missing`."""

    first: int
    words: str


def missing_records(records: Sequence[Record], last_seq: int) -> MissingRecords | None:
    """What is missing of these records, in order of their numbers; None where all are there."""
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
