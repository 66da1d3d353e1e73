"""The ids that providers give their answers, by which the spans of one call in two traces are found."""

import hashlib
import re
from typing import Any

from dashboard.ingest.conventions.attributes import first
from dashboard.ingest.conventions.convention import Kind
from dashboard.ingest.conventions.span_kinds import kind_of
from dashboard.ingest.conventions.spans import Span

_NAMES = ("gen_ai.response.id", "ai.response.id")
_WHOLE = ("output.value", "mlflow.spanOutputs")  #: the provider's own answer, as JSON
_AT_ITS_START = re.compile(r'\s*\{\s*"id"\s*:\s*"([^"\\]{1,200})"')
_LEAST = 16  #: letters and digits; what clients and small servers invent is shorter, such as `chatcmpl-123`
_LEAST_KINDS = 8  #: of different characters
_NO_MARK = re.compile(r"[\W_]+")
_HALF = 1 << 63


def is_issued(response_id: str) -> bool:
    """Whether it is long and mixed enough to be an id that a provider gave to one answer only."""
    marks = _NO_MARK.sub("", response_id)
    return len(marks) >= _LEAST and len(set(marks)) >= _LEAST_KINDS and any(map(str.isdigit, marks))


def answer_number(span: Span) -> int | None:
    """What a call's span is found by: 64 bits of its answer's id, as a signed number. None where no id is told."""
    told = first(span.attributes, _NAMES) or _in_whole(first(span.attributes, _WHOLE))
    if not isinstance(told, str) or not is_issued(told) or not _is_call(span):
        return None
    digest = hashlib.blake2b(told.encode(errors="replace"), digest_size=8, person=b"answer").digest()
    return int.from_bytes(digest, "big") - _HALF


def _is_call(span: Span) -> bool:
    found = kind_of(span)
    return found is not None and found[1] is Kind.CALL


def _in_whole(answer: Any) -> str | None:
    found = _AT_ITS_START.match(answer) if isinstance(answer, str) else None
    return found[1] if found else None
