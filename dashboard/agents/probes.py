"""Whether a server really continues a last assistant message: what it is asked, and what its answers show. Pure.

The model gets a list that can go on in one way only, twice: once cut inside a word, once between two words. The list
is much longer than the cap on the answer, so a server that sends it again differs from a model that says it again.
A server that only chats on may guess the rest of a word, but begins the other answer without the blank.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from agentcore.messages import ChatRequest, ChatResponse, Continuation, Message, Role
from agentcore.prefill import SETTINGS, goes_on_exactly
from agentcore.providers import PROVIDERS
from agentcore.reasons import NormalizedStopReason

CAP = 12  #: tokens of each answer
_LEAST = 6  #: characters that a continuation must have to be told
_SHORT = 3  #: characters of the rest by which one is suspected
_LONGEST_NEW = 20 * CAP  #: characters that so few tokens may have
_QUOTED = 60  #: characters of an answer that a person is shown
_DAYS = "Monday, Tuesday, Wednesday, Thursday, Friday, Saturday, Sunday, "
_MONTHS = "January, February, March, April, May, June, July, August, September, October, November, December, "
_MARKS = re.compile(r"[\s\d.)#>*•\"'“`_-]*")  #: what a list, a quotation or markup begins with
#: How a new answer begins. The rest of a list that is half written begins with none of these.
_OPENING = re.compile(
    r"(sure|certainly|of course|ok(ay)?|alright|absolutely|understood|got it|great|no problem|yes|sorry|here|let|it"
    r"|you(r)?|we|the|this|these|there|to|as|i|i['’]\w+|continuing|days of|months of)\b",
    re.IGNORECASE,
)
#: Dialects whose servers may want to be told in a field of the request.
_WITH_FLAGS = frozenset({"openai", "llama"})


class Finding(StrEnum):
    """The finding of one probe, or of all together."""

    CONTINUES = "continues"
    ECHOES = "echoes"  #: it continues, and sends the text again first
    IGNORES = "ignores"  #: it begins a new answer
    REFUSES = "refuses"
    UNKNOWN = "unknown"


CAN = frozenset({Finding.CONTINUES, Finding.ECHOES})


@dataclass(frozen=True, slots=True)
class Case:
    """One question. `said`: what the assistant is to have said of the answer; `rest`: how it must go on.

    `again`: how an answer begins that says the last word again.
    """

    question: str
    said: str
    rest: str
    again: str


CASES = (
    Case(
        "Write the days of the week in order, again and again, separated by commas.",
        _DAYS * 4 + "Monday, Tuesday, Wednes",
        "day, Thursday",
        "Wednesday",
    ),
    Case(
        "Write the months of the year in order, again and again, separated by commas.",
        _MONTHS * 3 + "January, February,",
        " March, April",
        "February",
    ),
)


@dataclass(frozen=True, slots=True)
class Probe:
    """What a test of a connection found. `way`: the setting by which it continues. `why`: what it saw, in words."""

    finding: Finding
    way: str
    why: str
    model: str
    provider: str
    address: str

    @classmethod
    def of(cls, stored: Mapping[str, Any]) -> "Probe":
        return cls(**{**stored, "finding": Finding(stored["finding"])})

    def stored(self) -> dict[str, str]:
        return asdict(self)


def ways_of(provider: str, model: str) -> tuple[str, ...]:
    """The settings that are worth a try; none where the dialect or the vendor refuses them all."""
    if not PROVIDERS[provider].can_prefill or not goes_on_exactly(provider, model, {"prefill": True}):
        return ()
    return ("prefill", "continue_final_message", "prefix") if provider in _WITH_FLAGS else SETTINGS[:1]


def request_of(case: Case, model: str, settings: Mapping[str, Any], way: str | None) -> ChatRequest:
    """The question with the answer so far to be continued in this way; `None`: the question alone."""
    asked = ChatRequest(model, (Message(Role.USER, case.question),), CAP, extra=dict(settings))
    if way is None:
        return asked
    goes_on = Continuation(case.said, "")
    return ChatRequest(model, asked.messages, CAP, continuation=goes_on, extra={**settings, way: True})


def judged(case: Case, answer: ChatResponse) -> Finding:
    """The finding of one answer."""
    text = answer.text
    if _fits(case, text):
        return Finding.CONTINUES
    if text.startswith(case.said):
        echoes = _fits(case, text[len(case.said) :]) and _kept_to_cap(answer)
        return Finding.ECHOES if echoes else Finding.UNKNOWN
    return Finding.IGNORES if _begins_anew(case, text) else Finding.UNKNOWN


def _begins_anew(case: Case, text: str) -> bool:
    """Whether it is a new answer: the list from its beginning or from another item, or words that introduce one."""
    if text.startswith(case.rest[:_SHORT]):
        return False  # it goes on, however it then ends
    begun = text.lstrip()
    if begun.startswith((case.said[:_LEAST], case.again)):
        return True
    if case.rest[0].isspace() and text[:1].isspace():
        return False  # it may have left out an item
    begun = begun[_marks(begun) :]
    items = tuple(case.said.split(", "))
    return bool(begun.startswith(items) or _OPENING.match(begun) or case.said[:_LEAST] in begun)


def _marks(text: str) -> int:
    found = _MARKS.match(text)
    return found.end() if found else 0


def _fits(case: Case, text: str) -> bool:
    """Whether it is the rest, or as much of it as a dozen short tokens have."""
    return len(text) <= _LONGEST_NEW and (
        text.startswith(case.rest) or (len(text) >= _LEAST and case.rest.startswith(text))
    )


def _kept_to_cap(answer: ChatResponse) -> bool:
    """Whether so few tokens were written that the list before them was not."""
    if answer.usage is not None:
        return 0 < answer.usage.output_tokens <= CAP
    return answer.stop_reason is NormalizedStopReason.MAX_TOKENS


def both(findings: Iterable[Finding]) -> Finding:
    """The findings of all cases, combined."""
    found = set(findings)
    return found.pop() if len(found) == 1 else Finding.UNKNOWN


def quoted(answer: ChatResponse) -> str:
    """The beginning of an answer, for a sentence."""
    text = answer.text if len(answer.text) <= _QUOTED else answer.text[:_QUOTED] + "…"
    return f"it answered “{text}”" if text else f"it answered nothing within {CAP} tokens"
