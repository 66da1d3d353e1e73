"""A request independent of its dialect: conversation, limits, and the headers that steer a simulated model."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from hashlib import sha256

from dashboard.simulator import errors
from dashboard.simulator.texts import count_tokens

SLOWEST_MS = 10_000.0

#: A user message of these words asks to go on; it is no new question.
_HINT = re.compile(
    r"truncated by token limit|continue (from )?exactly|left off|was interrupted|not valid json|tool call payload",
    re.IGNORECASE,
)
_LONGEST_HINT = 600  #: characters


class Speaker(StrEnum):
    GUIDE = "guide"  #: the system prompt, or a developer
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


@dataclass(frozen=True, slots=True)
class RequestMessage:
    """One message. `calls`: the names and arguments of its tool calls. `paused`: it holds what a pause left behind."""

    speaker: Speaker
    text: str
    calls: tuple[str, ...] = ()
    paused: bool = False


@dataclass(frozen=True, slots=True)
class Incoming:
    """A request as it arrived. `place`: what its address names, the model among them; header names are lower case."""

    body: bytes
    headers: Mapping[str, str]
    place: Mapping[str, str] = field(default_factory=dict)
    query: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RequestFields:
    """What a dialect reads of a request. `flat`: a stream is to come as one array instead of events.

    `parallel`: more than one call may be made at once. `legacy`: tools came as `functions`, so a call goes back as one.
    """

    model: str
    lines: Sequence[RequestMessage]
    budget: int
    stream: bool = False
    include_usage: bool = True
    tools: tuple[str, ...] = ()
    wants_json: bool = False
    parallel: bool = True
    flat: bool = False
    legacy: bool = False


@dataclass(frozen=True, slots=True)
class CheckedRequest:
    """One request, checked.

    `lines`: the whole conversation. `said`: what the assistant has said of the answer asked for, empty at its start.
    `results`: what the tools called since the last user message returned. `guidance`: the system's words and a hint at
    the end. `resumed`: what a pause left behind was sent back. `prefilled`: it ends with the assistant's own words,
    which are written on without a repeat. `attempt`: 1-based, `None` if the caller does not count.
    `delay_ms`: the pace the caller wishes, per token. `digest`: hex digits that depend on the body only.
    """

    model: str
    budget: int
    stream: bool
    include_usage: bool
    tools: tuple[str, ...]
    wants_json: bool
    parallel: bool
    flat: bool
    legacy: bool
    lines: Sequence[RequestMessage]
    said: str
    results: tuple[str, ...]
    guidance: str
    resumed: bool
    prefilled: bool
    prompt_tokens: int
    attempt: int | None
    delay_ms: float | None
    digest: str


def ask(told: RequestFields, incoming: Incoming) -> CheckedRequest:
    """Raises `RequestError` for a header that makes no sense."""
    since = _since_last_question(told.lines)
    guidance = "\n".join(
        line.text for line in told.lines if line.speaker is Speaker.GUIDE or _is_hint(told.lines, line)
    )
    return CheckedRequest(
        model=told.model,
        budget=told.budget,
        stream=told.stream,
        include_usage=told.include_usage,
        tools=told.tools,
        wants_json=told.wants_json or "json" in guidance.lower(),
        parallel=told.parallel,
        flat=told.flat,
        legacy=told.legacy,
        lines=told.lines,
        said=_said(since),
        results=tuple(line.text for line in since if line.speaker is Speaker.TOOL),
        guidance=guidance,
        resumed=any(line.paused for line in since),
        prefilled=bool(told.lines) and told.lines[-1].speaker is Speaker.ASSISTANT,
        prompt_tokens=sum(count_tokens(text) for line in told.lines for text in (line.text, *line.calls)),
        attempt=_attempt(incoming.headers),
        delay_ms=_delay(incoming.headers),
        digest=sha256(incoming.body).hexdigest(),
    )


def _since_last_question(lines: Sequence[RequestMessage]) -> Sequence[RequestMessage]:
    questions = (
        index
        for index in reversed(range(len(lines)))
        if lines[index].speaker is Speaker.USER and not _is_hint(lines, lines[index])
    )
    return lines[next(questions, -1) + 1 :]


def _is_hint(lines: Sequence[RequestMessage], line: RequestMessage) -> bool:
    """Whether a user's last words ask to go on."""
    last = len(lines) > 1 and line is lines[-1] and line.speaker is Speaker.USER
    return last and len(line.text) <= _LONGEST_HINT and _HINT.search(line.text) is not None


def _said(since: Sequence[RequestMessage]) -> str:
    """The text of the assistant's message the conversation ends with, hints left out. A message that calls is over."""
    spoken = [line for line in since if line.speaker in (Speaker.ASSISTANT, Speaker.TOOL)]
    if not spoken or spoken[-1].speaker is Speaker.TOOL or spoken[-1].calls:
        return ""
    return spoken[-1].text


def _attempt(headers: Mapping[str, str]) -> int | None:
    ours, stainless = headers.get("x-whystop-attempt", ""), headers.get("x-stainless-retry-count", "")
    if ours.isdecimal():
        return int(ours[:9])
    return int(stainless[:9]) + 1 if stainless.isdecimal() else None


def _delay(headers: Mapping[str, str]) -> float | None:
    value = headers.get("x-sim-delay-ms")
    if value is None:
        return None
    try:
        delay = float(value)
    except ValueError:
        delay = -1.0
    if not 0 <= delay <= SLOWEST_MS:
        raise errors.bad_delay(value, SLOWEST_MS)
    return delay
