"""The part of a long transcript around one step; the rest is fetched on request.

A transcript is cut between parts: a block of an answer, or what a passage has beside its answer (tools, questions).
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from dashboard.turns.transcript import Block, Passage, ToolCallView, Transcript

LONG = 60_000  #: characters, or
MANY = 150  #: pieces and calls, from which on only a window is shown
BEFORE, AFTER = 24_000, 8_000  #: characters around the step
PIECE = 150  #: characters that a piece counts for beside its own, for its marks


@dataclass(frozen=True, slots=True)
class PassagePart:
    """A passage as far as it is shown: `blocks` and `calls` may be some of its own."""

    passage: Passage
    blocks: tuple[Block, ...]
    calls: tuple[ToolCallView, ...]
    whole: bool  #: whether its end is shown, and with it what was asked after it


@dataclass(frozen=True, slots=True)
class TranscriptWindow:
    """What is shown of a transcript. `before` and `after` count the parts that are left out."""

    parts: tuple[PassagePart, ...]
    before: int = 0
    after: int = 0

    @property
    def cut(self) -> bool:
        return bool(self.before or self.after)


@dataclass(frozen=True, slots=True)
class _Item:
    """One block of one passage (None: its calls)."""

    passage: Passage
    block: Block | None
    since: int
    size: int


def whole(transcript: Transcript) -> TranscriptWindow:
    """All of it."""
    return TranscriptWindow(tuple(PassagePart(p, p.blocks, tuple(p.calls), True) for p in transcript.passages))


def window_of(transcript: Transcript, now: int) -> TranscriptWindow:
    """What stands around transition `now`; all of it where it is short."""
    items = tuple(_items(transcript.passages))
    pieces = sum(len(p.pieces) + len(p.calls) for p in transcript.passages)
    if sum(item.size for item in items) <= LONG and pieces <= MANY:
        return whole(transcript)
    here = max((index for index, item in enumerate(items) if item.since <= now), default=0)
    first = here - _reach(items[:here][::-1], BEFORE)
    last = here + _reach(items[here + 1 :], AFTER)
    return TranscriptWindow(tuple(_parts(items[first : last + 1])), before=first, after=len(items) - 1 - last)


def _items(passages: Iterable[Passage]) -> Iterator[_Item]:
    for passage in passages:
        for block in passage.blocks:
            yield _Item(passage, block, block.since, block.length + PIECE * len(block.pieces))
        if passage.calls or passage.acts or passage.asked:
            size = sum(len(call.arguments) + len(call.result or "") + PIECE for call in passage.calls)
            done = [*(call.since for call in passage.calls), *(act.since for act in passage.acts)]
            since = min(done, default=passage.asked_since)
            yield _Item(passage, None, since, size + len(passage.asked))


def _reach(items: Iterable[_Item], room: int) -> int:
    """How many of these fit into so many characters."""
    count = 0
    for item in items:
        room -= item.size
        if room < 0:
            break
        count += 1
    return count


def _parts(items: Iterable[_Item]) -> Iterator[PassagePart]:
    by_passage: dict[int, tuple[Passage, list[_Item]]] = {}
    for item in items:
        by_passage.setdefault(item.passage.iteration, (item.passage, []))[1].append(item)
    for passage, shown in by_passage.values():
        blocks = tuple(item.block for item in shown if item.block is not None)
        ended = any(item.block is None for item in shown)
        last = blocks[-1:] == passage.blocks[-1:] and not (passage.calls or passage.acts or passage.asked)
        yield PassagePart(passage, blocks, tuple(passage.calls) if ended else (), ended or last)
