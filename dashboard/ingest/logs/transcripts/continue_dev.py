"""~/.continue/sessions/<id>.json of Continue: a document with the history of a session, whose messages have no time."""

from collections.abc import Iterator

from agentcore.messages import TokenUsage
from dashboard.ingest.conventions.attributes import as_count
from dashboard.ingest.conventions.content.shapes import mapping, mappings, words
from dashboard.ingest.conventions.observations import AskedCall
from dashboard.ingest.logs.request_reader import text_of
from dashboard.ingest.logs.transcripts.message_sessions import Document, Result, Spoken, WholeSession
from dashboard.ingest.logs.transcripts.session_calls import ModelCallText, usage_of
from dashboard.ingest.logs.values import Json

AGENT = "continue"
_FAILED = ("errored", "canceled")


def fits(told: Json) -> bool:
    return isinstance(told.get("history"), list) and "sessionId" in told and "workspaceDirectory" in told


def session_of(told: Json) -> WholeSession:
    return WholeSession(Document(words(told.get("sessionId"))), _messages(told))


def _messages(told: Json) -> Iterator[Spoken]:
    """A tool's result stands with the call, and in newer releases in a message of its own, which says the same."""
    thought, returned = "", set[str]()
    for item in mappings(told["history"]):
        message = mapping(item.get("message"))
        text = text_of(message.get("content"))
        match message.get("role"):
            case "user":
                yield Spoken(text=text)
            case "thinking":  # stands before the answer that it belongs to
                thought += text
            case "assistant":
                yield Spoken(answer=_said(item, message, text, thought))
                thought = ""
                results = tuple(_results(item))
                returned |= {result.call_id for result in results}
                yield Spoken(results=results)
            case "tool" if (call_id := words(message.get("toolCallId"))) not in returned:
                yield Spoken(results=(Result(call_id, text),))


def _said(item: Json, message: Json, text: str, thought: str) -> ModelCallText:
    logged: Json = next(reversed(list(mappings(item.get("promptLogs")))), {})
    asked = tuple(map(_asked, mappings(message.get("toolCalls")))) or tuple(
        _asked(mapping(state.get("toolCall"))) for state in mappings(item.get("toolCallStates"))
    )
    return ModelCallText(
        name="",
        model=words(logged.get("modelTitle")),
        provider=words(logged.get("modelProvider")),
        text=text,
        calls=asked,
        reasoning=thought or words(mapping(item.get("reasoning")).get("text")),
        usage=_usage(mapping(message.get("usage")), silent=not (text or asked)),
    )


def _usage(told: Json, *, silent: bool) -> TokenUsage | None:
    details = mapping(told.get("promptTokensDetails"))
    asked, output = as_count(told.get("promptTokens")), as_count(told.get("completionTokens"))
    return usage_of(asked, output, as_count(details.get("cachedTokens")), silent=silent)


def _asked(call: Json) -> AskedCall:
    function = mapping(call.get("function"))
    return AskedCall(words(call.get("id")), words(function.get("name")), words(function.get("arguments")))


def _results(item: Json) -> Iterator[Result]:
    for state in mappings(item.get("toolCallStates")):
        if (output := state.get("output")) is not None or state.get("status") in _FAILED:
            text = "\n".join(words(part.get("content")) for part in mappings(output))
            yield Result(words(state.get("toolCallId")), text, state.get("status") in _FAILED)
