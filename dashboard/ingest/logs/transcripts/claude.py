"""~/.claude/projects/*/*.jsonl: one line for each block of a message, in Anthropic's form."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from dataclasses import replace as dataclass_replace
from sys import getsizeof
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
from dashboard.ingest.logs.transcripts.open_sessions import OpenSessions
from dashboard.ingest.logs.transcripts.session_calls import BASE, ModelCallText, SessionCalls, short
from dashboard.ingest.logs.values import Episode, Found, Json, Skipped

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
    """The main conversation, or that of one of its helpers. `message`: the one whose blocks are still coming;
    `divided`: the name of one that was cut within its blocks."""

    telling: SessionCalls
    message: dict[str, Any] = field(default_factory=dict)
    at: int | None = None
    line: int = 0
    size: int = 0
    divided: str = ""

    @property
    def held(self) -> int:
        return BASE + self.telling.held + self.size

    @property
    def is_within(self) -> bool:
        return bool(self.message) and not self.message.get("stop_reason")

    def cut(self) -> Iterator[Episode]:
        name = short(words(self.message.get("id"))) or self.divided
        yield from self._settle()
        self.divided = name
        yield from self.telling.cut()

    def end(self) -> Iterator[Episode]:
        yield from self._settle()
        yield from self.telling.end()

    def take(self, told: Json, line: int) -> Iterator[Episode]:
        message = mapping(told.get("message"))
        if told["type"] == "assistant":
            yield from self._assistant(told, message, line)
        else:
            yield from self._settle()
            yield from self._user(told, message, line)

    def _assistant(self, told: Json, message: Json, line: int) -> Iterator[Episode]:
        at = moment_of(told.get("timestamp"))
        if told.get("isApiErrorMessage") is True:
            yield from self._settle()
            yield from self.telling.answered(_failed(told, message), at=at, line=line)
            return
        if self.message and self.message.get("id") != message.get("id"):
            yield from self._settle()
        if not self.message:
            self.message, self.line = {**message, "content": []}, line
        # Each line has one block; what is told of the whole message is newest on the last.
        self.message |= {key: value for key, value in message.items() if key != "content" and value is not None}
        content = list(mappings(message.get("content")))
        self.message["content"] += content
        self.size += sum(BASE + sum(map(getsizeof, map(words, block.values()))) for block in content)
        self.at = at

    def _settle(self) -> Iterator[Episode]:
        """The message whose blocks have come."""
        if self.message:
            message, self.message, self.size = self.message, {}, 0
            if message.get("model") != "<synthetic>":
                said = _said(message)
                # What a message used is told of all of it, and was counted with its first part.
                is_rest = self.divided != "" and self.divided == short(said.name)
                said = dataclass_replace(said, usage=None, answer=None) if is_rest else said
                yield from self.telling.answered(said, at=self.at, line=self.line)

    def _user(self, told: Json, message: Json, line: int) -> Iterator[Episode]:
        at, content = moment_of(told.get("timestamp")), message.get("content")
        for block in mappings(content):
            if block.get("type") == "tool_result":
                failed = block.get("is_error") is True
                self.telling.returned(
                    words(block.get("tool_use_id")), text_of(block.get("content")), failed=failed, at=at
                )
        spoken = content if isinstance(content, str) else [b for b in mappings(content) if b.get("type") == "text"]
        text = text_of(spoken)
        if text and told.get("isMeta") is not True:
            yield from self.telling.spoke(text, name=words(told.get("uuid")), at=at, line=line)


@dataclass(slots=True)
class Session:
    """Reads the lines of a file one after another."""

    _lanes: OpenSessions[_Lane] = field(default_factory=OpenSessions)

    def take(self, told: Json, line: int) -> Iterator[Found]:
        if kind_of(told) not in _SPOKEN:
            yield Skipped(line)
            return
        session, side = words(told.get("sessionId")), words(told.get("agentId"))
        side = side or ("sidechain" if told.get("isSidechain") is True else "")
        name = f"{session}/{side}" if side else session
        version = words(told.get("version"))[:40]
        yield from self._lanes.take(
            name, lambda: _Lane(SessionCalls(AGENT, name, version)), lambda lane: lane.take(told, line)
        )

    def end(self) -> Iterator[Episode]:
        yield from self._lanes.end()


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
