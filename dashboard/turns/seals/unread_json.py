"""Finds what stored JSON texts hold beside the values that are read: a name twice, or blanks between the values.

The chain has the values. A reader takes the last of two values of one name, and passes over blanks, so whoever adds
such changes no value.
"""

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any
from uuid import UUID

from django.db.models import TextField
from django.db.models.functions import Cast

from dashboard.turns.models import Attempt, Record
from dashboard.turns.record_compression import PACKED, lines_of
from dashboard.turns.shared_values import UNREADABLE, exact_text

_TEXTS = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"')  # possessive: else each letter takes a hundred bytes
_BLANK = re.compile(rb"\s")


def is_fully_read(text: bytes) -> bool:
    """Whether a JSON text has each name once and no blanks. Raises `ValueError` where it is none."""
    if exact_text(json.loads(text)) == text:  # as nearly all are written
        return True
    try:
        json.loads(text, object_pairs_hook=_once)
    except LookupError:
        return False
    return not _BLANK.search(_TEXTS.sub(b"", text))


def _once(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise LookupError
    return found


def unread_faults(turn_ids: Sequence[UUID]) -> Iterator[tuple[UUID, str]]:
    """The records and requests of these turns that hold more than is read. What is not JSON the chain finds."""
    rows = Record.objects.filter(turn_id__in=turn_ids).exclude(packed=None).order_by("turn_id", "seq")
    for turn_id, seq, length, content in rows.values_list("turn_id", "seq", "length", "packed").iterator():
        with suppress(*UNREADABLE):
            lines = [line for each, _ in lines_of(content or b"", length) for line in each]
            if wrong := [n for n, line in enumerate(lines) if not is_fully_read(line)]:
                yield turn_id, f"Record {seq + wrong[0] // len(PACKED)} tells more than is read of it."
    attempts = Attempt.objects.filter(turn_id__in=turn_ids).order_by("turn_id", "index")
    told = attempts.values_list("turn_id", "index", Cast("request", TextField()))
    for turn_id, index, request in told.iterator():
        with suppress(*UNREADABLE):
            if not is_fully_read(request.encode()):
                yield turn_id, f"The request of attempt {index} tells more than is read of it."
