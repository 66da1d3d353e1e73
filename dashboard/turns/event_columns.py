"""The events of a streamed answer, column by column, so that they compress better.

Most events of a stream differ in a few words alone. What stands before and after these words is kept once; then come
how long the words of each event are, the words one after another, and the events that are otherwise, whole. The words
together are the answer's text, so after the record that has it they take next to nothing.
"""

import struct
from collections.abc import Iterator
from itertools import accumulate, compress, pairwise

_HEAD = struct.Struct("!IIII")  #: bytes before and after the words, events, bytes of all words
_BETWEEN = b"\n\n"  #: events
_FEWEST = 16  #: events of which it is worth it
_SAMPLE = 4  #: events before and after the middle of the stream, by which it is known what most have in common
_LEAST = 24  #: bytes of an event on the average; the work goes by events, and providers send none that short
_MOST = 254  #: bytes of words; the length of longer ones would take more than a byte
_WHOLE = 0  #: stands for the length of an event that is otherwise


def by_columns(raw: bytes) -> bytes | None:
    """The bytes in another order; None where few events are alike, or there are more than their bytes warrant."""
    if not _FEWEST <= raw.count(_BETWEEN) + 1 <= len(raw) // _LEAST:
        return None
    before, after = _alike(raw.split(_BETWEEN))
    if not before and not after:
        return None
    # Between the first and the last one, events that are all alike are told apart by one search.
    first, *middle, last = raw.split(after + _BETWEEN + before)
    if not middle or _BETWEEN in b"".join(middle) or max(map(len, middle)) > _MOST:
        parts = [_told_apart(raw, before, after)]
    else:
        plain = bytes([len(word) + 1 for word in middle]), b"".join(middle), list[bytes]()
        parts = [_told_apart(first + after, before, after), plain, _told_apart(before + last, before, after)]
    lengths, said = b"".join(part[0] for part in parts), b"".join(part[1] for part in parts)
    if lengths.count(_WHOLE) > len(lengths) // 4:
        return None
    others = _BETWEEN.join(event for part in parts for event in part[2])
    head = _HEAD.pack(len(before), len(after), len(lengths), len(said))
    return b"".join((head, before, after, lengths, said, others))


def _told_apart(raw: bytes, before: bytes, after: bytes) -> tuple[bytes, bytes, list[bytes]]:
    """The length of the words of each event, the words, and the events that are otherwise."""
    events, around = raw.split(_BETWEEN), len(before) + len(after)
    sizes = range(around, around + _MOST + 1)
    alike = [event.startswith(before) and event.endswith(after) and len(event) in sizes for event in events]
    lengths = bytes([len(event) - around + 1 if like else _WHOLE for event, like in zip(events, alike, strict=True)])
    words = [event[len(before) : len(event) - len(after)] for event in compress(events, alike)]
    return lengths, b"".join(words), [event for event, like in zip(events, alike, strict=True) if not like]


def _alike(events: list[bytes]) -> tuple[bytes, bytes]:
    """What most events begin and end with, up to the quotes around the words: what these may share is theirs."""
    middle = len(events) // 2
    sample = events[middle - _SAMPLE : middle + _SAMPLE]
    before = _up_to_quote(sample)
    return before, _up_to_quote([event[len(before) :][::-1] for event in sample])[::-1]


def _up_to_quote(sample: list[bytes]) -> bytes:
    first, last = min(sample), max(sample)  # what these have in common, all between them have too
    size = next((n for n, (one, other) in enumerate(zip(first, last, strict=False)) if one != other), len(first))
    return first[: first.rfind(b'"', 0, size) + 1]


def in_order(columns: bytes) -> bytes:
    """The bytes again. Raises `struct.error` or `ValueError` where these are no such columns."""
    ends = accumulate(_HEAD.unpack_from(columns), initial=_HEAD.size)
    return _BETWEEN.join(_events(*(columns[begin:end] for begin, end in pairwise((*ends, len(columns))))))


def _events(before: bytes, after: bytes, lengths: bytes, said: bytes, others: bytes) -> Iterator[bytes]:
    whole, at = iter(others.split(_BETWEEN) if _WHOLE in lengths else ()), 0
    if len(said) != sum(lengths) - len(lengths) + lengths.count(_WHOLE) or (others and _WHOLE not in lengths):
        raise ValueError("There are other words than the events say.")
    for length in lengths:
        if length == _WHOLE:
            event = next(whole, None)
            if event is None:
                raise ValueError("An event is missing.")
            yield event
        else:
            yield before + said[at : at + length - 1] + after
            at += length - 1
    if next(whole, None) is not None:
        raise ValueError("There is an event too many.")
