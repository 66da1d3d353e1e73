"""Plays a script: one piece per token, continuing where the last answer ended, up to the budget."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from itertools import chain, islice

from dashboard.simulator.texts import count_tokens, tokens_of

#: What was said so far → what of it is this text's own, and the text that follows, in parts of any size.
Speech = Callable[[str], tuple[str, Iterator[str]]]

_WORD = re.compile(r"\S+")
_TAIL = 200  #: characters in which the words to repeat are looked for
_LAST = 24  #: characters by which the place of a text that says something twice is found
_SHORTEST = 12  #: characters; a shorter repetition could not be told from new text, nor a shorter match from chance


class Ending(StrEnum):
    """Why an answer ends. Each dialect has its own word for it, or none."""

    END = "stop"
    LENGTH = "length"  #: the budget is spent
    CALLS = "tool_calls"
    MALFORMED = "malformed"  #: the model means to call a tool, but what it wrote is no JSON
    FILTERED = "content_filter"
    BLOCKED = "blocked"  #: the question itself is refused
    CONTEXT = "context"  #: the context window is full
    PAUSED = "paused"  #: the provider wants its own content back before it goes on
    REFUSED = "refusal"  #: the model itself refuses, in words that are no answer
    NATIVE = "native"  #: a gateway says that a call was made; only its native word says that it was cut
    OPEN_CALL = "open_call"  #: the budget is spent within a call whose arguments come value by value
    ODD = "solar_flare"  #: a word that no dictionary lists
    MISSING = "missing"  #: the answer ends without saying why


#: After these, what was being said may stop anywhere.
CUTS = frozenset({Ending.LENGTH, Ending.CONTEXT, Ending.FILTERED, Ending.NATIVE, Ending.OPEN_CALL})


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call the model makes; `arguments` is JSON text."""

    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Script:
    """All a model would say if nothing stopped it.

    `withheld`: a whole (not streamed) answer that reaches its ending has no content. `hangs_up`: the connection is
    dropped half way. `cut_after`: tokens at which it is cut, however large the budget. `raw`: the word it says at
    its ending instead of the dialect's own. `spent`: output tokens it reports there, if not those that were said.
    `echo`: text that is sent before the answer and is not counted. `falls_silent`: half way nothing more comes, and
    the connection stays open. `counted`: whether the answer reports its tokens. `closes`: after a stream the
    connection is closed, though keep-alive was promised. `repeats`: asked to go on by a hint, it says its last
    words again. `thinks`: tokens of reasoning before the first word of every answer, which count towards the budget
    and are not shown.
    """

    speech: Speech
    calls: tuple[Call, ...] = ()
    ending: Ending = Ending.END
    withheld: bool = False
    hangs_up: bool = False
    cut_after: int | None = None
    raw: str | None = None
    spent: int | None = None
    echo: str = ""
    falls_silent: bool = False
    counted: bool = True
    closes: bool = False
    repeats: bool = True
    thinks: int = 0


@dataclass(frozen=True, slots=True)
class TextPiece:
    text: str


@dataclass(frozen=True, slots=True)
class RefusalPiece:
    """Words of a refusal, which some dialects keep apart from text."""

    text: str


@dataclass(frozen=True, slots=True)
class CallOpened:
    index: int
    name: str


@dataclass(frozen=True, slots=True)
class CallPiece:
    index: int
    text: str


@dataclass(frozen=True, slots=True)
class Finished:
    """The last piece. `tokens`: how many were said, an opened call being one. `raw`: the word, if not the dialect's.

    `counted`: whether the answer reports its tokens. `thought`: of these, tokens of reasoning.
    """

    reason: Ending
    tokens: int
    raw: str | None = None
    counted: bool = True
    thought: int = 0

    def word(self, words: Mapping[Ending, str | None]) -> str | None:
        """What a dialect with these words says; `None`: nothing."""
        return words[self.reason] if self.raw is None else self.raw


@dataclass(frozen=True, slots=True)
class ConnectionDropped:
    """The last piece of an answer that breaks off."""


@dataclass(frozen=True, slots=True)
class Stalled:
    """The last piece of an answer after which nothing comes, while the connection stays open."""


Token = TextPiece | RefusalPiece | CallOpened | CallPiece
Piece = Token | Finished | ConnectionDropped | Stalled


def fixed(text: str) -> Speech:
    """A speech that always says `text`."""

    def rest(said: str) -> tuple[str, Iterator[str]]:
        place = _place_in(text, said)
        return text[:place], iter((text[place:],))

    return rest


def verbatim(text: str) -> Speech:
    """A speech that says `text` as it is, whatever was said before."""
    return lambda _said: ("", iter((text,)))


def speak(script: Script, said: str, budget: int, *, repeats: bool = True) -> Iterator[Piece]:
    """The pieces of one answer after `said`, at most `budget` tokens, and one last piece that says how it ended.

    `repeats`: its last words are said again, as a model does that was asked to go on by a hint.
    """
    if script.cut_after is not None:
        budget = min(budget, script.cut_after)
    thought = min(script.thinks, budget)
    tokens = chain(_words(script, said, budget - thought, repeats=repeats), _calls(script.calls))
    yield from (TextPiece(token) for token in tokens_of(script.echo))
    if script.hangs_up or script.falls_silent:
        whole = list(islice(tokens, budget))
        yield from whole[: len(whole) // 2]
        yield ConnectionDropped() if script.hangs_up else Stalled()
        return
    number = thought
    for token in tokens:
        if number == budget:
            yield Finished(Ending.LENGTH, number, counted=script.counted, thought=thought)
            return
        number += 1
        yield token
    spent = number if script.spent is None else script.spent
    yield Finished(script.ending, spent, script.raw, script.counted, thought)


def overlap(before: str, budget: int) -> str:
    """The last words of `before`, which a model repeats when it goes on: three to six of them, at least 12 characters.

    Fewer words where those would take more than half of the budget in tokens; nothing where even these would, or where
    `before` is too short.
    """
    tail = before[-_TAIL:]
    starts = [match.start() for match in _WORD.finditer(tail) if match.start() or len(tail) == len(before)]
    leads = [tail[start:] for start in starts]
    long_enough = [lead for lead in leads if len(lead) >= _SHORTEST]
    longest_wanted = len(leads) - 3 - len(before) % 4
    wanted = long_enough[max(0, longest_wanted) :] or long_enough[-1:]
    return next((lead for lead in wanted if 2 * count_tokens(lead) <= budget), "")


def _place_in(text: str, said: str) -> int:
    """The length of the longest beginning of `text` that `said` is, or ends with; else where its last words stand, for
    a repeat may have been kept before them; 0 for a foreign text."""
    if text.startswith(said):
        return len(said)
    ends = range(min(len(text), len(said)), _SHORTEST - 1, -1)
    if begun := next((end for end in ends if said.endswith(text[:end])), 0):
        return begun
    last = said[-_LAST:]
    at = text.rfind(last) if len(last) == _LAST else -1
    return at + _LAST if at >= 0 else 0


def _words(script: Script, said: str, budget: int, *, repeats: bool) -> Iterator[TextPiece | RefusalPiece]:
    kind = RefusalPiece if script.ending is Ending.REFUSED else TextPiece
    before, rest = script.speech(said)
    first = next(rest, "")
    lead = overlap(before, budget) if first and repeats and script.repeats else ""
    return (kind(token) for part in chain((lead + first,), rest) for token in tokens_of(part))


def _calls(calls: tuple[Call, ...]) -> Iterator[Token]:
    for index, call in enumerate(calls):
        yield CallOpened(index, call.name)
        for token in tokens_of(call.arguments):
            yield CallPiece(index, token)
