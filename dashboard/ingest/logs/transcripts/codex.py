"""~/.codex/sessions/**/rollout-*.jsonl: one line for each item of a response, in the form of OpenAI's Responses."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from agentcore.errors import DecodeError, ErrorType, ProviderError
from agentcore.messages import ChatResponse, TokenUsage
from agentcore.providers import get_provider
from agentcore.values import replace
from dashboard.ingest.conventions.attributes import as_count
from dashboard.ingest.conventions.content.shapes import kind_of, mapping, mappings, words
from dashboard.ingest.conventions.observations import AskedCall
from dashboard.ingest.logs.request_reader import text_of
from dashboard.ingest.logs.timestamps import moment_of
from dashboard.ingest.logs.transcripts.session_calls import ModelCallText, Note, SessionCalls
from dashboard.ingest.logs.values import Episode, Json, Skipped

AGENT = "codex"
DERIVED = (
    "reason_derived",
    "The transcript keeps no stop reason. The agent counts tokens only after the provider has completed an answer.",
)
INTERRUPTED = "interrupted", "The turn was interrupted before this answer was complete."
_KINDS = frozenset({"session_meta", "response_item", "event_msg", "turn_context", "compacted"})
_CALLS = frozenset({"function_call", "custom_tool_call"})
_ITEMS = frozenset({"reasoning", "message", "web_search_call", "local_shell_call"}) | _CALLS


def fits(told: Json) -> bool:
    return kind_of(told) in _KINDS and isinstance(told.get("payload"), dict)


@dataclass(slots=True)
class Session:
    """Reads the lines of a file one after another. `_items`: of the answer that is under way."""

    _telling: SessionCalls | None = None
    _model: str = ""
    _items: list[Mapping[str, Any]] = field(default_factory=list)
    _at: int | None = None
    _line: int = 0
    _count: int = 0

    def take(self, told: Json, line: int) -> Iterator[Episode | Skipped]:
        payload, at = mapping(told.get("payload")), moment_of(told.get("timestamp"))
        match kind_of(told), kind_of(payload):
            case "session_meta", _:
                yield from self.end()
                session = words(payload.get("id") or payload.get("session_id"))
                self._telling = SessionCalls(AGENT, session, words(payload.get("cli_version"))[:40])
            case "turn_context", _:
                self._model = words(payload.get("model")) or self._model
            case "response_item", kind:
                yield from self._item(payload, str(kind), at, line)
            case "event_msg", "token_count":
                yield from self._counted(mapping(payload.get("info")), at)
            case "event_msg", "turn_aborted":
                yield from self._settle((INTERRUPTED,))
            case "event_msg", "error":
                yield from self._settle(())
                yield from self._failed(words(payload.get("message"))[:2_000], at, line)
            case _:
                yield Skipped(line)

    def end(self) -> Iterator[Episode]:
        yield from self._settle(())
        if self._telling is not None:
            yield from self._telling.end()

    @property
    def telling(self) -> SessionCalls:
        """Of a file without its first line there is no name of the session."""
        self._telling = self._telling or SessionCalls(AGENT, "")
        return self._telling

    def _item(self, item: Json, kind: str, at: int | None, line: int) -> Iterator[Episode]:
        if kind.endswith("_output"):
            yield from self._settle(())
            self.telling.returned(words(item.get("call_id")), _output(item.get("output")), at=at)
        elif kind == "message" and item.get("role") != "assistant":
            yield from self._settle(())
            if item.get("role") == "user":
                yield from self.telling.spoke(text_of(item.get("content")), name=f"{line} {at}", at=at, line=line)
        elif kind in _ITEMS:
            self._line = self._line if self._items else line
            self._items.append(item)
            self._at = at

    def _counted(self, info: Json, at: int | None) -> Iterator[Episode]:
        last = mapping(info.get("last_token_usage"))
        output = as_count(last.get("output_tokens"))
        if not self._items or output is None:
            return
        usage = TokenUsage(
            as_count(last.get("input_tokens")) or 0,
            output,
            as_count(last.get("reasoning_output_tokens")) or 0,
            as_count(last.get("cached_input_tokens")) or 0,
        )
        self._at = at
        yield from self._settle((DERIVED,), usage)

    def _settle(self, notes: tuple[Note, ...], usage: TokenUsage | None = None) -> Iterator[Episode]:
        """The answer whose items have come; it is known to be complete where its tokens were counted."""
        if not self._items:
            return
        items, self._items = self._items, []
        self._count += 1
        said = _said(items, f"call {self._count}", self._model, usage, notes)
        yield from self.telling.answered(said, at=self._at, line=self._line)

    def _failed(self, message: str, at: int | None, line: int) -> Iterator[Episode]:
        error = ProviderError(ErrorType.UNKNOWN, "not_told", message or "The call failed.")
        said = ModelCallText(f"error {line}", self._model, "openai_responses", error=error)
        yield from self.telling.answered(said, at=at, line=line)


def _said(
    items: list[Mapping[str, Any]], name: str, model: str, usage: TokenUsage | None, notes: tuple[Note, ...]
) -> ModelCallText:
    calls = (item for item in items if kind_of(item) in _CALLS)
    asked = (
        AskedCall(words(one.get("call_id")), words(one.get("name")), words(one.get("arguments", one.get("input"))))
        for one in calls
    )
    thoughts = (item.get("summary") for item in items if item.get("type") == "reasoning")
    return ModelCallText(
        name=name,
        model=model,
        provider="openai_responses",
        text="\n".join(text_of(item.get("content")) for item in items if item.get("type") == "message"),
        calls=tuple(asked),
        reasoning="\n".join(filter(None, map(text_of, thoughts))),
        usage=usage,
        answer=None if usage is None else _completed(items, model, usage),
        notes=notes,
    )


def _completed(items: list[Mapping[str, Any]], model: str, usage: TokenUsage) -> ChatResponse | None:
    """The answer as the codec reads one that is complete. The provider's word is not in the transcript."""
    payload = {"object": "response", "status": "completed", "model": model, "output": items}
    try:
        answer: ChatResponse = get_provider("openai_responses").decode_response(payload)
    except DecodeError:
        return None
    return replace(answer, usage=usage, raw_stop_reason=None, reason_trail=())


def _output(told: Any) -> str:
    """What a tool returned: a text, a list of parts, or an object with its content."""
    if isinstance(told, dict):
        return text_of(told.get("content")) or words(told)
    return text_of(list(mappings(told))) if isinstance(told, list) else words(told)
