"""…/User/workspaceStorage/*/chatSessions/*.json of Visual Studio Code: a document with the requests of a chat.

Copilot's agent keeps each of its calls as a round of its result, with the tools that it asked for; other participants
keep only what was shown."""

from collections.abc import Iterator

from agentcore.errors import ErrorType, ProviderError
from dashboard.ingest.conventions.content.shapes import mapping, mappings, words
from dashboard.ingest.conventions.observations import AskedCall
from dashboard.ingest.logs.timestamps import moment_of, span_of
from dashboard.ingest.logs.transcripts.codex import INTERRUPTED
from dashboard.ingest.logs.transcripts.message_sessions import Document, Result, Spoken, WholeSession
from dashboard.ingest.logs.transcripts.session_calls import ModelCallText
from dashboard.ingest.logs.values import Json

AGENT = "vscode-chat"
_CANCELED = 2  #: of `modelState.value`


def fits(told: Json) -> bool:
    return isinstance(told.get("requests"), list) and "responderUsername" in told


def session_of(told: Json) -> WholeSession:
    began = moment_of(told.get("creationDate")) or 0
    return WholeSession(Document(words(told.get("sessionId")), began), _messages(told))


def _messages(told: Json) -> Iterator[Spoken]:
    for request in mappings(told["requests"]):
        at, name = moment_of(request.get("timestamp")), words(request.get("requestId"))
        asked = request.get("message")
        yield Spoken(name, at, asked if isinstance(asked, str) else words(mapping(asked).get("text")))
        yield from _answers(request, name)


def _answers(request: Json, name: str) -> Iterator[Spoken]:
    result = mapping(request.get("result"))
    metadata = mapping(result.get("metadata"))
    results, model = mapping(metadata.get("toolCallResults")), words(request.get("modelId"))
    rounds, shown = list(mappings(metadata.get("toolCallRounds"))), _shown(request)
    ended = _ended(request)
    for place, told in enumerate(rounds):
        said = _said(told, model)
        if place == len(rounds) - 1 and not said.calls:
            said = _noted(said, request)
        yield Spoken(f"{name} {place}", ended if place == len(rounds) - 1 else None, answer=said)
        yield Spoken(results=tuple(_result(call.id, results) for call in said.calls if call.id in results))
    failure = mapping(result.get("errorDetails"))
    if failure:
        message = words(failure.get("message"))[:2_000] or "The call failed."
        error = ProviderError(ErrorType.UNKNOWN, words(failure.get("code"))[:100] or "not_told", message)
        yield Spoken(f"{name} error", ended, answer=ModelCallText("", model, "", error=error))
    elif not rounds and shown:
        yield Spoken(f"{name} 0", ended, answer=_noted(ModelCallText("", model, "", text=shown), request))


def _said(told: Json, model: str) -> ModelCallText:
    thought = mapping(told.get("thinking")).get("text")
    return ModelCallText(
        name="",
        model=model,
        provider="",
        text=words(told.get("response")),
        calls=tuple(
            AskedCall(words(call.get("id")), words(call.get("name")), words(call.get("arguments")))
            for call in mappings(told.get("toolCalls"))
        ),
        reasoning="".join(map(words, thought)) if isinstance(thought, list) else words(thought),
    )


def _noted(said: ModelCallText, request: Json) -> ModelCallText:
    is_canceled = request.get("isCanceled") is True or mapping(request.get("modelState")).get("value") == _CANCELED
    notes = (INTERRUPTED,) if is_canceled else ()
    return ModelCallText("", said.model, "", said.text, said.calls, said.reasoning, notes=notes)


def _ended(request: Json) -> int | None:
    """When the answer was whole, which newer releases tell; else as long after the request as it took."""
    if (at := moment_of(mapping(request.get("modelState")).get("completedAt"))) is not None:
        return at
    result = mapping(request.get("result"))
    times = {"timestamp": request.get("timestamp"), "elapsed_ms": mapping(result.get("timings")).get("totalElapsed")}
    return span_of(times)[1]


def _result(call_id: str, results: Json) -> Result:
    content = mapping(results[call_id]).get("content")
    parts = (part.get("value") for part in mappings(content))
    return Result(call_id, "\n".join(words(value) for value in parts))


def _shown(request: Json) -> str:
    """The parts of an answer that are text: an older part is a text or an object with one, a newer one has a kind."""
    response = request.get("response")
    return "".join(
        words(part.get("value")) for part in mappings(response) if part.get("kind") in (None, "markdownContent")
    )
