"""~/.copilot/session-state/*/events.jsonl: one line for each event of GitHub Copilot's command line."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from agentcore.errors import ErrorType, ProviderError
from dashboard.ingest.conventions.content.shapes import kind_of, mapping, mappings, words
from dashboard.ingest.conventions.observations import AskedCall
from dashboard.ingest.logs.timestamps import moment_of
from dashboard.ingest.logs.transcripts.codex import INTERRUPTED
from dashboard.ingest.logs.transcripts.session_calls import ModelCallText, SessionCalls
from dashboard.ingest.logs.values import Episode, Json, Skipped

AGENT = "copilot-cli"
_KIND = re.compile(r"(?:session|user|assistant|tool|subagent|hook|skill|system)\.\w+|abort")


def fits(told: Json) -> bool:
    is_event = isinstance(told.get("data"), dict) and "timestamp" in told and "id" in told
    return is_event and _KIND.fullmatch(kind_of(told)) is not None


@dataclass(slots=True)
class Session:
    """Reads the events one after another. The last answer waits for what follows it, which may be that it was ended."""

    _calls: SessionCalls = field(default_factory=lambda: SessionCalls(AGENT, ""))
    _model: str = ""
    _said: ModelCallText | None = None
    _at: int | None = None
    _line: int = 0
    _thought: str = ""

    def take(self, told: Json, line: int) -> Iterator[Episode | Skipped]:
        data, at = mapping(told.get("data")), moment_of(told.get("timestamp"))
        match kind_of(told):
            case "session.start":
                yield from self.end()
                self._calls = SessionCalls(AGENT, words(data.get("sessionId")), words(data.get("copilotVersion"))[:40])
                self._model = words(data.get("selectedModel"))
            case "session.model_change":
                self._model = words(data.get("newModel"))
            case "user.message":
                yield from self._settle()
                name = words(told.get("id"))
                yield from self._calls.spoke(words(data.get("content")), name=name, at=at, line=line)
            case "assistant.reasoning":
                self._thought += words(data.get("content"))
            case "assistant.message":
                yield from self._settle()
                self._said, self._at, self._line = self._answer(data), at, line
            case "tool.execution_complete":
                yield from self._settle()
                failed = data.get("success") is False
                text = words(mapping(data.get("result")).get("content", mapping(data.get("error")).get("message")))
                self._calls.returned(words(data.get("toolCallId")), text, failed=failed, at=at)
            case "abort":
                yield from self._settle(is_aborted=True)
            case "session.error":
                yield from self._settle()
                message = words(data.get("message"))[:2_000] or "The call failed."
                error = ProviderError(ErrorType.UNKNOWN, words(data.get("errorType"))[:100] or "not_told", message)
                said = ModelCallText(words(told.get("id")), self._model, "", error=error)
                yield from self._calls.answered(said, at=at, line=line)
            case _:
                yield Skipped(line)

    def end(self) -> Iterator[Episode]:
        yield from self._settle()
        yield from self._calls.end()

    def _answer(self, data: Json) -> ModelCallText:
        thought, self._thought = words(data.get("reasoningText")) or self._thought, ""
        model = words(data.get("model")) or self._model
        asked = mappings(data.get("toolRequests"))
        return ModelCallText(
            name=words(data.get("messageId")),
            model=model,
            provider="",
            text=words(data.get("content")),
            calls=tuple(
                AskedCall(words(one.get("toolCallId")), words(one.get("name")), words(one.get("arguments")))
                for one in asked
            ),
            reasoning=thought,
        )

    def _settle(self, *, is_aborted: bool = False) -> Iterator[Episode]:
        if (said := self._said) is not None:
            self._said = None
            said = replace(said, notes=(INTERRUPTED,)) if is_aborted else said
            yield from self._calls.answered(said, at=self._at, line=self._line)
