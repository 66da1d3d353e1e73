"""Cursor's chats: a list of bubbles, each with something that the user said, or a part of what the model said.

A bubble of the model has thoughts, text, or one tool call with its result. The bubbles of one call of the model are put
together: a tool call names the call it is from, and what is said after a tool call is from the next call.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from agentcore.errors import ErrorType, ProviderError
from dashboard.ingest.conventions.content.shapes import mapping, words
from dashboard.ingest.conventions.observations import AskedCall
from dashboard.ingest.logs.timestamps import moment_of
from dashboard.ingest.logs.transcripts.codex import INTERRUPTED
from dashboard.ingest.logs.transcripts.message_sessions import Result, Spoken
from dashboard.ingest.logs.transcripts.session_calls import ModelCallText, Note, usage_of
from dashboard.ingest.logs.values import Json

AGENT = "cursor"
NO_END = (
    "duration_unknown",
    "The log says when this answer began, but not when it ended. The time shown as its end is the one when its last "
    "part began.",
)
_USER, _MODEL = (1, "user"), (2, "ai", "assistant")  #: older releases write words
_ANY_MODEL = "default"  #: the name where Cursor chooses the model
_ABORTED = "USER_ABORTED"
_MOST_HELD = 16 * 2**20  #: characters of one answer, beyond which the rest is another


@dataclass(slots=True)
class _Answer:
    """The bubbles of one call of the model, as far as they were read."""

    name: str
    model: str
    at: int | None = None
    has_end: bool = False
    call: str = ""  #: the id of the call, as its tools name it
    texts: list[str] = field(default_factory=list)
    thoughts: list[str] = field(default_factory=list)
    asked: list[AskedCall] = field(default_factory=list)
    results: list[Result] = field(default_factory=list)
    counts: list[tuple[int, int]] = field(default_factory=list)
    size: int = 0

    def goes_on_in(self, bubble: Json) -> bool:
        tool = mapping(bubble.get("toolFormerData"))
        if self.size > _MOST_HELD or not self.asked:
            return self.size <= _MOST_HELD
        return bool(self.call) and words(tool.get("modelCallId")) == self.call

    def add(self, bubble: Json) -> None:
        text, thought = words(bubble.get("text") or bubble.get("rawText")), _thought(bubble)
        self.texts += [text] if text.strip() else []
        self.thoughts += [thought] if thought else []
        self.size += len(text) + len(thought)
        self._add_tool(mapping(bubble.get("toolFormerData")))
        count = mapping(bubble.get("tokenCount"))
        told = _count(count.get("inputTokens")), _count(count.get("outputTokens"))
        self.counts += [told] if any(told) else []
        ended, begun = _ended(bubble), moment_of(bubble.get("createdAt"))
        self.at, self.has_end = (ended or begun or self.at), ended is not None

    def _add_tool(self, tool: Json) -> None:
        if not tool.get("name") and not tool.get("toolCallId"):
            return
        call_id = words(tool.get("toolCallId"))
        raw = words(tool.get("rawArgs")) or words(tool.get("params"))
        self.call = words(tool.get("modelCallId"))
        self.asked.append(AskedCall(call_id, words(tool.get("name")), raw))
        if (result := _result(call_id, tool)) is not None:
            self.results.append(result)
            self.size += len(result.text)
        self.size += len(raw)

    def spoken(self, notes: tuple[Note, ...] = ()) -> Iterator[Spoken]:
        if not (self.texts or self.thoughts or self.asked):
            return
        text = "\n\n".join(self.texts)
        asked, given = self.counts[0] if len(self.counts) == 1 else (None, None)
        said = ModelCallText(
            name="",
            model=self.model,
            provider="",
            text=text,
            calls=tuple(self.asked),
            reasoning="\n\n".join(self.thoughts),
            usage=usage_of(asked, given or None, None, silent=False),
            notes=notes if self.has_end or self.at is None else (*notes, NO_END),
        )
        yield Spoken(self.name, self.at, answer=said)
        if self.results:
            yield Spoken(results=tuple(self.results))


def messages(bubbles: Iterable[Json], status: str = "") -> Iterator[Spoken]:
    """What a chat's bubbles say, in their order. `status`: of the chat, which says how its last answer ended."""
    answer: _Answer | None = None
    model = ""
    for bubble in bubbles:
        kind, name = bubble.get("type"), words(bubble.get("bubbleId") or bubble.get("id"))
        error = _error(bubble.get("errorDetails"))
        if answer is not None and (kind in _USER or not answer.goes_on_in(bubble)):
            yield from answer.spoken()
            answer = None
        if kind in _USER:
            model = _model(bubble)
            yield Spoken(name, moment_of(bubble.get("createdAt")), _asked_text(bubble))
        elif kind in _MODEL:
            answer = answer or _Answer(name, "")
            answer.model = _model(bubble) or answer.model or model
            answer.add(bubble)
        if error is not None:
            if answer is not None:
                yield from answer.spoken((INTERRUPTED,))
            yield from _failed(error, bubble, name, model)
            answer = None
    if answer is not None:
        yield from answer.spoken((INTERRUPTED,) if status == "aborted" else ())


def _failed(error: ProviderError, bubble: Json, name: str, model: str) -> Iterator[Spoken]:
    """A request that the user aborted has not failed."""
    if _ABORTED in (error.code or ""):
        return
    said = ModelCallText("", _model(bubble) or model, "", error=error)
    yield Spoken(f"{name} error", _ended(bubble) or moment_of(bubble.get("createdAt")), answer=said)


def _error(told: Any) -> ProviderError | None:
    """Cursor's word for what went wrong; a message, a title, and the server's own error as an object or as text."""
    if not told:
        return None
    details = mapping(_parsed(told)) or {"message": told}
    inner = mapping(_parsed(details.get("error")))
    more = mapping(inner.get("details"))
    code = words(inner.get("error") or details.get("error"))[:100]
    said = (details.get("title") or more.get("title"), details.get("message") or more.get("detail"))
    message = ": ".join(words(one) for one in said if one)
    return ProviderError(
        ErrorType.UNKNOWN, "not_told", (message or code)[:2_000] or "The call failed.", code=code or None
    )


def _parsed(told: Any) -> Any:
    if not isinstance(told, str):
        return told
    try:
        return json.loads(told)
    except (ValueError, RecursionError):
        return None


def _result(call_id: str, tool: Json) -> Result | None:
    """What came of the tool; None where it is still at work."""
    status, is_rejected = words(tool.get("status")), tool.get("userDecision") == "rejected"
    text = words(tool.get("result") or tool.get("error"))
    if status in ("error", "cancelled") or is_rejected:
        return Result(call_id, text or ("rejected" if is_rejected else status), failed=True)
    return Result(call_id, text) if status == "completed" or text else None


def _asked_text(bubble: Json) -> str:
    """Older releases have several places for it."""
    delegate = mapping(bubble.get("delegate"))
    return words(bubble.get("text") or bubble.get("rawText") or delegate.get("a")) or _rich_text(bubble.get("richText"))


def _rich_text(told: Any) -> str:
    """The words in the document of the editor in which the user wrote."""
    found, left = list[str](), [_parsed(told)]
    while left:
        one = left.pop()
        if isinstance(one, dict):
            found += [one["text"]] if isinstance(one.get("text"), str) else []
            left += [value for value in reversed(one.values()) if isinstance(value, dict | list)]
        elif isinstance(one, list):
            left += reversed(one)
    return "".join(found)


def _thought(bubble: Json) -> str:
    thinking = bubble.get("thinking")
    return thinking if isinstance(thinking, str) else words(mapping(thinking).get("text"))


def _model(bubble: Json) -> str:
    name = words(mapping(bubble.get("modelInfo")).get("modelName") or bubble.get("modelType"))
    return "" if name == _ANY_MODEL else name


def _ended(bubble: Json) -> int | None:
    timing = mapping(bubble.get("timingInfo"))
    return moment_of(timing.get("clientEndTime")) or moment_of(timing.get("clientSettleTime"))


def _count(told: Any) -> int:
    return told if isinstance(told, int) and not isinstance(told, bool) and 0 < told < 2**31 else 0
