"""Terms: what the search index knows of a turn beside its words. The database writes them (`whystop_search`, migration
0003), this reads: a filter becomes a text query, so that words and everything else are intersected inside one index.

Terms narrow; whoever searches by them checks what they are too coarse for (a range's ends, a moment).
"""

from collections.abc import Iterable, Mapping
from uuid import UUID

from dashboard.turns.filters import RANGES, TimelineFilters
from dashboard.turns.provider_words import terms

MARK = "\x01"  #: begins a term; no word of a text holds it
MOST_CHARACTERS = 200  #: of a value; a longer one is cut, here and there
FACETS = ("stop_reason", "model_stop_reason", "status", "model", "agent", "error_type", "tag")
#: Of an id, which begins with 48 bits of milliseconds: how many hex digits make a term, and the milliseconds it spans.
SPANS: Mapping[int, int] = {8: 16**4, 7: 16**5, 6: 16**6, 5: 16**7}
MOST_SPANS = 16  #: alternatives of one query
SIZES = 16  #: of numbers, each four times the one before; the last has no end


def text_query(filters: TimelineFilters) -> str:
    """What the filters ask beside words and times, as Postgres reads a tsquery; empty where that is nothing.

    A range in which no number lies is asked as its lower end: the caller checks ranges.
    """
    parts = [_any_of(name, getattr(filters, name)) for name in FACETS if getattr(filters, name)]
    parts += [_any(terms(filters.provider))] if filters.provider else []
    parts += [_any_of("has", [value]) for value in filters.has]
    parts += [_any_of(column, _sizes(*filters.range_of(column))) for column in RANGES if _bounded(filters, column)]
    parts += [f"!{_any_of('tag', filters.not_tag)}"] if filters.not_tag else []
    return " & ".join(parts)


def span_query(low: UUID, high: UUID) -> str:
    """That an id lies between these two (both included), as nearly as terms can tell; empty where they cannot."""
    first, last = _milliseconds(low), _milliseconds(high)
    for digits, width in SPANS.items():
        if last // width - first // width < MOST_SPANS:
            return _any_of("at", (f"{n:0{digits}x}" for n in range(first // width, last // width + 1)))
    return ""


def _bounded(filters: TimelineFilters, column: str) -> bool:
    return filters.range_of(column) != (None, None)


def _sizes(low: int | None, high: int | None) -> Iterable[str]:
    least, most = _size(low or 0), SIZES if high is None else _size(high)
    return map(str, range(least, max(least, most) + 1))


def _size(number: int) -> int:
    return min(SIZES, (number.bit_length() + 1) // 2)


def _any_of(name: str, values: Iterable[str]) -> str:
    return _any((name, value) for value in values)


def _any(values: Iterable[tuple[str, str]]) -> str:
    return f"({' | '.join(_quoted(f'{MARK}{name}:{value[:MOST_CHARACTERS]}') for name, value in values)})"


def _quoted(term: str) -> str:
    escaped = term.replace("\\", "\\\\").replace("'", "''")
    return f"'{escaped}'"


def _milliseconds(id: UUID) -> int:
    return id.int >> 80
