"""~/.pi/agent/sessions/**/*.jsonl: one line for each message, with its stop reason and usage."""

from collections.abc import Iterator
from dataclasses import dataclass

from agentcore.errors import ErrorType, ProviderError
from agentcore.messages import TokenUsage
from dashboard.ingest.conventions.attributes import as_count
from dashboard.ingest.conventions.content.shapes import kind_of, mapping, mappings, words
from dashboard.ingest.conventions.observations import AskedCall, StopReasonSighting
from dashboard.ingest.logs.request_reader import text_of
from dashboard.ingest.logs.timestamps import moment_of
from dashboard.ingest.logs.transcripts.session_calls import ModelCallText, SessionCalls
from dashboard.ingest.logs.values import Episode, Json, Skipped

AGENT = "pi"
_OTHERS = frozenset({"session", "model_change", "thinking_level_change", "compaction", "branch_summary", "custom"})
#: Its words for what any provider says, as providers write them.
_WORDS = {"toolUse": "tool_use"}
#: The APIs it speaks, and their dialects.
_DIALECTS = {
    "anthropic-messages": "anthropic",
    "openai-responses": "openai_responses",
    "openai-codex-responses": "openai_responses",
    "azure-openai-responses": "openai_responses",
    "google-generative-ai": "gemini",
    "google-vertex": "gemini",
    "bedrock-converse-stream": "bedrock",
}


def fits(told: Json) -> bool:
    if told.get("type") == "message":
        return isinstance(told.get("message"), dict) and "parentId" in told
    return kind_of(told) in _OTHERS and "id" in told and "timestamp" in told


@dataclass(slots=True)
class Session:
    """Reads the lines of a file one after another."""

    _telling: SessionCalls | None = None

    def take(self, told: Json, line: int) -> Iterator[Episode | Skipped]:
        if told["type"] == "session":
            yield from self.end()
            self._telling = SessionCalls(AGENT, words(told.get("id")), words(told.get("version")))
        if told["type"] != "message":
            yield Skipped(line)
            return
        self._telling = self._telling or SessionCalls(AGENT, "")
        message, at, name = mapping(told.get("message")), moment_of(told.get("timestamp")), words(told.get("id"))
        match message.get("role"):
            case "user":
                yield from self._telling.spoke(text_of(message.get("content")), name=name, at=at, line=line)
            case "toolResult":
                call_id, failed = words(message.get("toolCallId")), message.get("isError") is True
                self._telling.returned(call_id, text_of(message.get("content")), failed=failed, at=at)
            case "assistant":
                # The message's own time is that of the request, the line's that of the end.
                begun = moment_of(message.get("timestamp"))
                yield from self._telling.answered(_said(message, name), at=at, begun=begun, line=line)
            case _:
                yield Skipped(line)

    def end(self) -> Iterator[Episode]:
        if self._telling is not None:
            yield from self._telling.end()


def _said(message: Json, name: str) -> ModelCallText:
    content, reason = list(mappings(message.get("content"))), words(message.get("stopReason"))
    calls = (part for part in content if part.get("type") == "toolCall")
    return ModelCallText(
        name=name,
        model=words(message.get("model")),
        provider=_DIALECTS.get(words(message.get("api")), "") or words(message.get("provider")),
        text="".join(words(part.get("text")) for part in content if part.get("type") == "text"),
        calls=tuple(AskedCall(words(c.get("id")), words(c.get("name")), words(c.get("arguments"))) for c in calls),
        reasoning="".join(words(part.get("thinking")) for part in content if part.get("type") == "thinking"),
        usage=_usage(mapping(message.get("usage"))),
        words=(StopReasonSighting("stopReason", _WORDS.get(reason, reason)),) if reason else (),
        error=_error(reason, words(message.get("errorMessage"))),
    )


def _usage(told: Json) -> TokenUsage | None:
    """Its input counts neither what was read from the cache nor what was written there."""
    output = as_count(told.get("output"))
    if output is None:
        return None
    cached = as_count(told.get("cacheRead")) or 0
    whole = (as_count(told.get("input")) or 0) + cached + (as_count(told.get("cacheWrite")) or 0)
    return TokenUsage(whole, output, cached_tokens=cached)


def _error(reason: str, message: str) -> ProviderError | None:
    if reason == "aborted":
        return ProviderError(ErrorType.UNKNOWN, "aborted", message or "The user stopped the call.", retryable=False)
    return ProviderError(ErrorType.UNKNOWN, "not_told", message or "The call failed.") if reason == "error" else None
