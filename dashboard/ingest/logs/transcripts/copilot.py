"""~/.copilot/session-state/*/events.jsonl: one line for each event of GitHub Copilot's command line."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from sys import getsizeof

from agentcore.errors import ErrorType, ProviderError
from agentcore.messages import TokenUsage
from dashboard.ingest.conventions.attributes import as_count
from dashboard.ingest.conventions.content.shapes import kind_of, mapping, mappings, words
from dashboard.ingest.conventions.observations import AskedCall
from dashboard.ingest.logs.timestamps import moment_of
from dashboard.ingest.logs.transcripts.codex import INTERRUPTED
from dashboard.ingest.logs.transcripts.open_sessions import OpenSessions
from dashboard.ingest.logs.transcripts.session_calls import BASE, ModelCallText, SessionCalls, size_of
from dashboard.ingest.logs.values import Episode, Found, Json, Skipped

AGENT = "copilot-cli"
_KIND = re.compile(r"(?:session|user|assistant|tool|subagent|hook|skill|system)\.\w+|abort")

#: How the sources of messages begin that no user wrote: a skill's text, and what another agent was told.
_NOBODYS = ("skill-", "agent-")
NO_INPUT = (
    "input_tokens_unknown",
    "The log counts only the output tokens of this call. Its input counts as 0.",
)


def fits(told: Json) -> bool:
    is_event = isinstance(told.get("data"), dict) and "timestamp" in told and "id" in told
    return is_event and _KIND.fullmatch(kind_of(told)) is not None


@dataclass(slots=True)
class _Lane:
    """The main agent, or one that it started. The last answer waits for what follows it, which may be that it was
    ended. `model`: of its answers, where they do not name one."""

    calls: SessionCalls
    model: str = ""
    said: ModelCallText | None = None
    at: int | None = None
    line: int = 0
    thought: str = ""

    @property
    def held(self) -> int:
        waiting = 0 if self.said is None else size_of(self.said)
        return BASE + self.calls.held + waiting + getsizeof(self.thought)

    @property
    def is_within(self) -> bool:
        return bool(self.thought)

    def cut(self) -> Iterator[Episode]:
        self.thought = ""
        yield from self.settle()
        yield from self.calls.cut()

    def end(self) -> Iterator[Episode]:
        yield from self.settle()
        yield from self.calls.end()

    def settle(self, *, is_aborted: bool = False) -> Iterator[Episode]:
        if (said := self.said) is not None:
            self.said = None
            said = replace(said, notes=(*said.notes, INTERRUPTED)) if is_aborted else said
            yield from self.calls.answered(said, at=self.at, line=self.line)

    def take(self, told: Json, line: int) -> Iterator[Found]:
        data, at = mapping(told.get("data")), moment_of(told.get("timestamp"))
        match kind_of(told):
            case "user.message" if not words(data.get("source")).startswith(_NOBODYS):
                yield from self.settle()
                name = words(told.get("id"))
                yield from self.calls.spoke(words(data.get("content")), name=name, at=at, line=line)
            case "assistant.reasoning":
                self.thought += words(data.get("content"))
            case "assistant.message":
                yield from self.settle()
                self.said, self.at, self.line = self._answer(data), at, line
            case "tool.execution_complete":
                yield from self.settle()
                failed = data.get("success") is False
                text = words(mapping(data.get("result")).get("content", mapping(data.get("error")).get("message")))
                self.calls.returned(words(data.get("toolCallId")), text, failed=failed, at=at)
            case "abort":
                yield from self.settle(is_aborted=True)
            case "session.error" if self._is_of_a_call(data):
                yield from self.settle()
                message = words(data.get("message"))[:2_000] or "The call failed."
                error = ProviderError(ErrorType.UNKNOWN, words(data.get("errorType"))[:100] or "not_told", message)
                said = ModelCallText(words(told.get("id")), self.model, "", error=error)
                yield from self.calls.answered(said, at=at, line=line)
            case _:
                yield Skipped(line)

    def _is_of_a_call(self, data: Json) -> bool:
        """Whether the model was called: the provider answered, or what it was to be told waits."""
        is_answered = not {"statusCode", "providerCallId"}.isdisjoint(data)
        return is_answered or (self.said is None and self.calls.is_awaited)

    def _answer(self, data: Json) -> ModelCallText:
        thought, self.thought = words(data.get("reasoningText")) or self.thought, ""
        asked, output = mappings(data.get("toolRequests")), as_count(data.get("outputTokens"))
        return ModelCallText(
            name=words(data.get("messageId")),
            model=words(data.get("model")) or self.model,
            provider="",
            text=words(data.get("content")),
            calls=tuple(
                AskedCall(words(one.get("toolCallId")), words(one.get("name")), words(one.get("arguments")))
                for one in asked
            ),
            reasoning=thought,
            usage=TokenUsage(output_tokens=output) if output else None,
            notes=(NO_INPUT,) if output else (),
        )


@dataclass(slots=True)
class Session:
    """Reads the events one after another."""

    _session: str = ""
    _version: str = ""
    _model: str = ""  #: of the main agent
    _lanes: OpenSessions[_Lane] = field(default_factory=OpenSessions)

    def take(self, told: Json, line: int) -> Iterator[Found]:
        data, agent = mapping(told.get("data")), _agent(told)
        match kind_of(told):
            case "session.start":
                yield from self.end()
                self._lanes = OpenSessions()
                self._session, self._version = words(data.get("sessionId")), words(data.get("copilotVersion"))[:40]
                self._model = words(data.get("selectedModel"))
            case "session.model_change":
                self._model = self._model if agent else words(data.get("newModel"))
            case _:
                yield from self._lanes.take(
                    agent, lambda: self._begun(agent), lambda lane: self._taken(lane, agent, told, line)
                )

    def end(self) -> Iterator[Episode]:
        yield from self._lanes.end()

    def _begun(self, agent: str) -> _Lane:
        name = f"{self._session}/{agent}" if agent else self._session
        return _Lane(SessionCalls(AGENT, name, self._version))

    def _taken(self, lane: _Lane, agent: str, told: Json, line: int) -> Iterator[Found]:
        lane.model = lane.model if agent else self._model
        yield from lane.take(told, line)


def _agent(told: Json) -> str:
    """Which of the agents that the main one started the event is of; empty: the main one."""
    return words(told.get("agentId")) or words(mapping(told.get("data")).get("parentToolCallId"))
