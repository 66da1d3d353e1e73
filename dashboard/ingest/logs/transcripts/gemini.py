"""~/.gemini/tmp/*/chats/session-*.json: a list of messages; tools' results stand in the message that called them."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from agentcore.errors import ErrorType, ProviderError
from agentcore.messages import TokenUsage
from dashboard.ingest.conventions.attributes import as_count
from dashboard.ingest.conventions.content.shapes import kind_of, mapping, mappings, words
from dashboard.ingest.conventions.observations import AskedCall
from dashboard.ingest.logs.request_reader import text_of
from dashboard.ingest.logs.timestamps import moment_of
from dashboard.ingest.logs.transcripts.session_calls import ModelCallText, SessionCalls
from dashboard.ingest.logs.values import Episode, Json, Skipped

AGENT = "gemini-cli"
_SPOKEN = frozenset({"user", "gemini", "error"})
_KINDS = _SPOKEN | {"info", "warning"}


def fits(told: Json) -> bool:
    if "projectHash" in told and "sessionId" in told:
        return True
    is_message = kind_of(told) in _KINDS and "content" in told and "timestamp" in told
    return (is_message and "id" in told) or set(told) == {"$set"}


def is_session(told: Json) -> bool:
    """Whether it is a whole session, and not one of its lines."""
    return "projectHash" in told and isinstance(told.get("messages"), list)


@dataclass(slots=True)
class Session:
    """Reads the messages one after another. A message may be written again while it grows: the last time counts."""

    _telling: SessionCalls | None = None
    _message: Json = field(default_factory=dict)
    _line: int = 0

    def take(self, told: Json, line: int) -> Iterator[Episode | Skipped]:
        if kind_of(told) not in _SPOKEN:
            yield Skipped(line)
            return
        if self._message and self._message.get("id") != told.get("id"):
            yield from self._settle()
        self._message, self._line = told, line

    def end(self) -> Iterator[Episode]:
        yield from self._settle()
        if self._telling is not None:
            yield from self._telling.end()

    def _settle(self) -> Iterator[Episode]:
        told, self._message = self._message, {}
        if not told:
            return
        name, at = words(told.get("id")), moment_of(told.get("timestamp"))
        # The session's own name stands in none of its messages; that of its first is as good.
        self._telling = telling = self._telling or SessionCalls(AGENT, name)
        if told["type"] == "user":
            yield from telling.spoke(text_of(told.get("content")), name=name, at=at, line=self._line)
        elif told["type"] == "error":
            error = ProviderError(ErrorType.UNKNOWN, "not_told", text_of(told.get("content"))[:2_000] or "It failed.")
            yield from telling.answered(ModelCallText(name, "", "gemini", error=error), at=at, line=self._line)
        else:
            yield from telling.answered(_said(told, name), at=at, line=self._line)
            for call in mappings(told.get("toolCalls")):
                ended, failed = moment_of(call.get("timestamp")), call.get("status") == "error"
                telling.returned(words(call.get("id")), _result(call), failed=failed, at=ended)


def _said(told: Json, name: str) -> ModelCallText:
    calls = mappings(told.get("toolCalls"))
    thoughts = mappings(told.get("thoughts"))
    return ModelCallText(
        name=name,
        model=words(told.get("model")),
        provider="gemini",
        text=text_of(told.get("content")),
        calls=tuple(AskedCall(words(c.get("id")), words(c.get("name")), words(c.get("args"))) for c in calls),
        reasoning="\n".join(words(thought.get("description")) for thought in thoughts),
        usage=_usage(mapping(told.get("tokens"))),
    )


def _usage(told: Json) -> TokenUsage | None:
    output = as_count(told.get("output"))
    if output is None:
        return None
    thought = as_count(told.get("thoughts")) or 0
    cached = as_count(told.get("cached")) or 0
    return TokenUsage(as_count(told.get("input")) or 0, output + thought, thought, cached)


def _result(call: Json) -> str:
    """A list of parts, of which the one that matters answers the call."""
    for part in mappings(call.get("result")):
        response = mapping(mapping(part.get("functionResponse")).get("response"))
        if response:
            return words(response.get("output", response.get("error", response)))
    return words(call.get("resultDisplay"))
