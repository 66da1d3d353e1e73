"""~/.claude/projects/*/*.jsonl: one line for each block of a message, in Anthropic's form."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from agentcore.errors import DecodeError, ErrorType, ProviderError
from agentcore.messages import ChatResponse
from agentcore.providers import get_provider
from agentcore.values import replace
from dashboard.ingest.conventions.attributes import as_count
from dashboard.ingest.conventions.content.shapes import kind_of, mapping, mappings, words
from dashboard.ingest.conventions.observations import AskedCall, StopReasonSighting
from dashboard.ingest.logs.request_reader import text_of
from dashboard.ingest.logs.timestamps import moment_of
from dashboard.ingest.logs.transcripts.session_calls import MOST_OPEN, ModelCallText, SessionCalls
from dashboard.ingest.logs.values import Episode, Json, Skipped

AGENT = "claude-code"
_SPOKEN = frozenset({"user", "assistant"})
_OTHERS = frozenset({"system", "summary", "attachment", "progress", "queue-operation", "file-history-snapshot"})
_STATUS = re.compile(r"API Error:? \(?([1-5][0-9]{2})\b")


def fits(told: Json) -> bool:
    """Whether the line is one of a session's."""
    kind = kind_of(told)
    if kind in _SPOKEN:
        return isinstance(told.get("message"), dict) and ("sessionId" in told or "parentUuid" in told)
    return kind in _OTHERS and ("sessionId" in told or "leafUuid" in told or "messageId" in told)


@dataclass(slots=True)
class _Lane:
    """The main conversation, or that of one of its helpers. `message`: the one whose blocks are still coming."""

    telling: SessionCalls
    message: dict[str, Any] = field(default_factory=dict)
    begun: int | None = None
    at: int | None = None
    line: int = 0


@dataclass(slots=True)
class Session:
    """Reads the lines of a file one after another."""

    _lanes: dict[tuple[str, str], _Lane] = field(default_factory=dict)
    _open: dict[int, _Lane] = field(default_factory=dict)  #: by identity, those that may go on, the latest last

    def take(self, told: Json, line: int) -> Iterator[Episode | Skipped]:
        if kind_of(told) not in _SPOKEN:
            yield Skipped(line)
            return
        lane = self._lane(told)
        self._open.pop(id(lane), None)
        self._open[id(lane)] = lane
        if len(self._open) > MOST_OPEN:
            yield from self._ended(self._open.pop(next(iter(self._open))))
        message = mapping(told.get("message"))
        if told["type"] == "assistant":
            yield from self._assistant(lane, told, message, line)
        else:
            yield from self._settle(lane)
            yield from self._user(lane, told, message, line)

    def end(self) -> Iterator[Episode]:
        for lane in self._open.values():
            yield from self._ended(lane)

    def _ended(self, lane: _Lane) -> Iterator[Episode]:
        yield from self._settle(lane)
        yield from lane.telling.end()

    def _lane(self, told: Json) -> _Lane:
        side = words(told.get("agentId")) or ("sidechain" if told.get("isSidechain") is True else "")
        key = words(told.get("sessionId")), side
        if key not in self._lanes:
            session = f"{key[0]}/{side}" if side else key[0]
            self._lanes[key] = _Lane(SessionCalls(AGENT, session, words(told.get("version"))[:40]))
        return self._lanes[key]

    def _assistant(self, lane: _Lane, told: Json, message: Json, line: int) -> Iterator[Episode]:
        at = moment_of(told.get("timestamp"))
        if told.get("isApiErrorMessage") is True:
            yield from self._settle(lane)
            yield from lane.telling.answered(_failed(told, message), at=at, line=line)
            return
        if lane.message and lane.message.get("id") != message.get("id"):
            yield from self._settle(lane)
        if not lane.message:
            lane.message, lane.line = {**message, "content": []}, line
        # Each line has one block; what is told of the whole message is newest on the last.
        lane.message |= {key: value for key, value in message.items() if key != "content" and value is not None}
        lane.message["content"] += list(mappings(message.get("content")))
        lane.at = at

    def _settle(self, lane: _Lane) -> Iterator[Episode]:
        """The message whose blocks have come."""
        if lane.message:
            message, lane.message = lane.message, {}
            if message.get("model") != "<synthetic>":
                yield from lane.telling.answered(_said(message), at=lane.at, line=lane.line)

    def _user(self, lane: _Lane, told: Json, message: Json, line: int) -> Iterator[Episode | Skipped]:
        at, content = moment_of(told.get("timestamp")), message.get("content")
        for block in mappings(content):
            if block.get("type") == "tool_result":
                failed = block.get("is_error") is True
                lane.telling.returned(
                    words(block.get("tool_use_id")), text_of(block.get("content")), failed=failed, at=at
                )
        spoken = content if isinstance(content, str) else [b for b in mappings(content) if b.get("type") == "text"]
        text = text_of(spoken)
        if text and told.get("isMeta") is not True:
            yield from lane.telling.spoke(text, name=words(told.get("uuid")), at=at, line=line)


def _said(message: Json) -> ModelCallText:
    content = list(mappings(message.get("content")))
    calls = (block for block in content if block.get("type") == "tool_use")
    reason = message.get("stop_reason")
    answer = _decoded(message, content)
    return ModelCallText(
        name=words(message.get("id")),
        model=words(message.get("model")),
        provider="anthropic",
        text="".join(words(block.get("text")) for block in content if block.get("type") == "text"),
        calls=tuple(AskedCall(words(c.get("id")), words(c.get("name")), words(c.get("input"))) for c in calls),
        reasoning="".join(words(block.get("thinking")) for block in content if block.get("type") == "thinking"),
        usage=answer.usage if answer is not None else None,
        words=(StopReasonSighting("message.stop_reason", reason),) if isinstance(reason, str) and reason else (),
        answer=answer,
    )


def _decoded(message: Json, content: list[Mapping[str, Any]]) -> ChatResponse | None:
    payload = {**message, "type": "message", "role": "assistant", "content": content}
    try:
        return get_provider("anthropic").decode_response(payload)
    except DecodeError:
        return None


def _failed(told: Json, message: Json) -> ModelCallText:
    """An error that the agent wrote in the model's place."""
    text = text_of(message.get("content"))[:2_000] or "The call failed."
    found = _STATUS.search(text)
    status = as_count(told.get("apiErrorStatus")) or (int(found.group(1)) if found else None)
    if status is not None and 400 <= status < 600:
        error = replace(get_provider("anthropic").decode_error(status, {}, b""), message=text)
    else:
        error = ProviderError(ErrorType.UNKNOWN, "not_told", text)
    return ModelCallText(words(told.get("uuid")), "", "anthropic", error=error)
