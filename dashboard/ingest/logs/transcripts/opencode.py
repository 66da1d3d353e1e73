"""What `opencode export` writes: messages with their parts; an answer of several steps has one call for each."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from agentcore.errors import ErrorType, ProviderError
from agentcore.messages import TokenUsage
from dashboard.ingest.conventions.attributes import as_count
from dashboard.ingest.conventions.content.shapes import kind_of, mapping, mappings, words
from dashboard.ingest.conventions.observations import AskedCall, StopReasonSighting
from dashboard.ingest.logs.timestamps import moment_of
from dashboard.ingest.logs.transcripts.session_calls import ModelCallText, SessionCalls
from dashboard.ingest.logs.values import Episode, Json, Skipped

AGENT = "opencode"
_ABORTED = "MessageAbortedError"

Parts = list[Mapping[str, Any]]


def fits(told: Json) -> bool:
    info = told.get("info")
    return isinstance(info, dict) and isinstance(told.get("parts"), list) and "role" in info


@dataclass(slots=True)
class Session:
    """Reads the messages one after another."""

    _telling: SessionCalls | None = None

    def take(self, told: Json, line: int) -> Iterator[Episode | Skipped]:
        info, parts = mapping(told.get("info")), list(mappings(told.get("parts")))
        self._telling = telling = self._telling or SessionCalls(AGENT, words(info.get("sessionID")))
        times = mapping(info.get("time"))
        begun, name = moment_of(times.get("created")), words(info.get("id"))
        if info.get("role") == "user":
            yield from telling.spoke(_texts(parts, "text"), name=name, at=begun, line=line)
            return
        steps = list(_steps(parts))
        for place, step in enumerate(steps):
            is_last = place == len(steps) - 1
            said = _said(info, step, f"{name} {place}", is_last=is_last)
            ended = moment_of(times.get("completed")) if is_last else _latest(step)
            yield from telling.answered(said, at=ended, begun=begun if not place else None, line=line)
            for part in _tools(step):
                state = mapping(part.get("state"))
                result, at = (
                    words(state.get("output", state.get("error"))),
                    moment_of(mapping(state.get("time")).get("end")),
                )
                telling.returned(words(part.get("callID")), result, failed=state.get("status") == "error", at=at)

    def end(self) -> Iterator[Episode]:
        if self._telling is not None:
            yield from self._telling.end()


def _steps(parts: Parts) -> Iterator[Parts]:
    """The parts of each call, of which the last tells how it ended."""
    step: Parts = []
    for part in parts:
        step.append(part)
        if part.get("type") == "step-finish":
            yield step
            step = []
    if any(kind_of(part) in {"text", "tool", "reasoning"} for part in step) or not parts:
        yield step


def _tools(step: Parts) -> Parts:
    return [part for part in step if part.get("type") == "tool"]


def _said(info: Json, step: Parts, name: str, *, is_last: bool) -> ModelCallText:
    finish = next((part for part in step if part.get("type") == "step-finish"), {})
    reason = words(finish.get("reason")) or (words(info.get("finish")) if is_last else "")
    tokens = mapping(finish.get("tokens")) or (mapping(info.get("tokens")) if is_last else {})
    asked = (
        AskedCall(words(part.get("callID")), words(part.get("tool")), words(mapping(part.get("state")).get("input")))
        for part in _tools(step)
    )
    return ModelCallText(
        name=name,
        model=words(info.get("modelID")),
        provider=words(info.get("providerID")),
        text=_texts(step, "text"),
        calls=tuple(asked),
        reasoning=_texts(step, "reasoning"),
        usage=_usage(tokens),
        words=(StopReasonSighting("finish", reason),) if reason else (),
        error=_error(mapping(info.get("error"))) if is_last else None,
    )


def _texts(parts: Parts, kind: str) -> str:
    return "".join(words(part.get("text")) for part in parts if part.get("type") == kind)


def _usage(told: Json) -> TokenUsage | None:
    """Its input does not count what was read from the cache or written there, its output no reasoning."""
    output, cache = as_count(told.get("output")), mapping(told.get("cache"))
    if output is None:
        return None
    thought, cached = as_count(told.get("reasoning")) or 0, as_count(cache.get("read")) or 0
    whole = (as_count(told.get("input")) or 0) + cached + (as_count(cache.get("write")) or 0)
    return TokenUsage(whole, output + thought, thought, cached)


def _error(told: Json) -> ProviderError | None:
    if not told:
        return None
    name, data = words(told.get("name")), mapping(told.get("data"))
    kind = "aborted" if name == _ABORTED else "not_told"
    status = as_count(data.get("statusCode"))
    message = words(data.get("message"))[:2_000] or name or "The call failed."
    return ProviderError(ErrorType.UNKNOWN, kind, message, status=status if status and 100 <= status < 600 else None)


def _latest(step: Parts) -> int | None:
    ends = (moment_of(mapping(part.get("time")).get("end")) for part in step)
    return max(filter(None, ends), default=None)
