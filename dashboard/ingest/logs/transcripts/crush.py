""".crush/crush.db in a project's folder: Crush's messages, each with its parts and, of an answer, how it ended."""

from collections.abc import Iterator

from agentcore.errors import ErrorType, ProviderError
from dashboard.ingest.conventions.content.shapes import kind_of, mapping, mappings, words
from dashboard.ingest.conventions.observations import AskedCall, StopReasonSighting
from dashboard.ingest.logs.timestamps import moment_of
from dashboard.ingest.logs.transcripts.codex import INTERRUPTED
from dashboard.ingest.logs.transcripts.message_sessions import Result, Spoken
from dashboard.ingest.logs.transcripts.session_calls import ModelCallText
from dashboard.ingest.logs.values import Json

AGENT = "crush"
_ROLES = ("user", "assistant", "tool", "system")
#: What the agent writes in place of the model's word: nothing is known of how the model ended.
_CANCELED, _FAILED, _UNKNOWN = "canceled", "error", "unknown"


def fits(told: Json) -> bool:
    return told.get("role") in _ROLES and isinstance(told.get("parts"), list) and "session_id" in told


def spoken(told: Json) -> Spoken | None:
    parts, name, session = list(mappings(told["parts"])), words(told.get("id")), words(told["session_id"])
    begun = moment_of(told.get("created_at"))
    if told["role"] == "assistant":
        at = moment_of(told.get("finished_at")) or begun
        return Spoken(name, at, answer=_said(told, parts), session=session)
    if told["role"] == "system":
        return None
    return Spoken(name, begun, _text(parts, "text", "text"), tuple(_results(parts)), session=session)


def _said(told: Json, parts: list[Json]) -> ModelCallText:
    finish = next(_data(parts, "finish"), {})
    reason = words(finish.get("reason"))
    is_the_models = reason not in {"", _CANCELED, _FAILED, _UNKNOWN}
    return ModelCallText(
        name="",
        model=words(told.get("model")),
        provider=words(told.get("provider")),
        text=_text(parts, "text", "text"),
        calls=tuple(
            AskedCall(words(one.get("id")), words(one.get("name")), words(one.get("input")))
            for one in _data(parts, "tool_call")
        ),
        reasoning=_text(parts, "reasoning", "thinking"),
        words=(StopReasonSighting("finish.reason", reason),) if is_the_models else (),
        error=_error(finish) if reason == _FAILED else None,
        notes=(INTERRUPTED,) if reason == _CANCELED else (),
    )


def _error(finish: Json) -> ProviderError:
    message = ": ".join(filter(None, (words(finish.get("message")), words(finish.get("details")))))
    return ProviderError(ErrorType.UNKNOWN, "not_told", message[:2_000] or "The call failed.")


def _results(parts: list[Json]) -> Iterator[Result]:
    for one in _data(parts, "tool_result"):
        yield Result(words(one.get("tool_call_id")), words(one.get("content")), one.get("is_error") is True)


def _data(parts: list[Json], kind: str) -> Iterator[Json]:
    return (mapping(part.get("data")) for part in parts if kind_of(part) == kind)


def _text(parts: list[Json], kind: str, name: str) -> str:
    return "".join(words(one.get(name)) for one in _data(parts, kind))
