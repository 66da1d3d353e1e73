"""~/.qwen/projects/*/chats/*.jsonl: one line for each message, in Gemini's form, whichever provider answered."""

from collections.abc import Iterator

from agentcore.messages import TokenUsage
from dashboard.ingest.conventions.attributes import as_count
from dashboard.ingest.conventions.content.shapes import kind_of, mapping, mappings, words
from dashboard.ingest.conventions.observations import AskedCall
from dashboard.ingest.logs.timestamps import moment_of
from dashboard.ingest.logs.transcripts.message_sessions import Result, Spoken
from dashboard.ingest.logs.transcripts.session_calls import ModelCallText
from dashboard.ingest.logs.values import Json

AGENT = "qwen-code"
_SPOKEN = frozenset({"user", "assistant", "tool_result"})


def fits(told: Json) -> bool:
    if "sessionId" not in told or "uuid" not in told:
        return False
    parts = mapping(told.get("message")).get("parts")
    return (kind_of(told) in _SPOKEN and isinstance(parts, list)) or (
        kind_of(told) == "system" and not {"subtype", "systemPayload"}.isdisjoint(told) and "content" not in told
    )


def spoken(told: Json) -> Spoken | None:
    """A note that the agent itself wrote in the user's place has a `subtype`, and belongs to the turn under way."""
    if kind_of(told) not in _SPOKEN:
        return None
    name, at, parts = words(told.get("uuid")), moment_of(told.get("timestamp")), _parts(told)
    session = "/".join(filter(None, (words(told.get("sessionId")), words(told.get("agentId")))))
    match kind_of(told):
        case "assistant":
            return Spoken(name, at, answer=_said(told, parts), session=session)
        case "tool_result":
            return Spoken(name, at, results=tuple(_results(told, parts)), session=session)
    return Spoken(name, at, _text(parts, thought=False), session=session)


def _parts(told: Json) -> list[Json]:
    return list(mappings(mapping(told.get("message")).get("parts")))


def _said(told: Json, parts: list[Json]) -> ModelCallText:
    model = words(told.get("model"))
    asked = (mapping(part["functionCall"]) for part in parts if "functionCall" in part)
    return ModelCallText(
        name="",
        model=model,
        provider="",
        text=_text(parts, thought=False),
        calls=tuple(AskedCall(words(one.get("id")), words(one.get("name")), words(one.get("args"))) for one in asked),
        reasoning=_text(parts, thought=True),
        usage=_usage(mapping(told.get("usageMetadata"))),
    )


def _usage(told: Json) -> TokenUsage | None:
    """Providers differ in whether `candidatesTokenCount` has the thoughts in it; the total tells which it is."""
    asked, output = as_count(told.get("promptTokenCount")), as_count(told.get("candidatesTokenCount"))
    if asked is None or output is None:
        return None
    thought = as_count(told.get("thoughtsTokenCount")) or 0
    is_apart = as_count(told.get("totalTokenCount")) == asked + output + thought
    whole = output + thought if is_apart else output
    return TokenUsage(asked, whole, min(thought, whole), as_count(told.get("cachedContentTokenCount")) or 0)


def _results(told: Json, parts: list[Json]) -> Iterator[Result]:
    failed = mapping(told.get("toolCallResult")).get("status") == "error"
    for part in parts:
        if "functionResponse" in part:
            answered = mapping(part["functionResponse"])
            response = mapping(answered.get("response"))
            text = words(response.get("output", response.get("error", response)))
            yield Result(words(answered.get("id")), text, failed or "error" in response)


def _text(parts: list[Json], *, thought: bool) -> str:
    return "".join(words(part.get("text")) for part in parts if (part.get("thought") is True) is thought)
