"""The pieces of a stream that MLflow keeps as events. Of OpenAI's it writes an answer that always ends with `stop` and
has no tool calls, whatever was streamed, and of the Responses API one without its end; so the pieces count."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from agentcore.messages import TokenUsage
from dashboard.ingest.conventions.attributes import read_json
from dashboard.ingest.conventions.content import provider_json
from dashboard.ingest.conventions.content.shapes import asked_call, kind_of, mapping, mappings, words
from dashboard.ingest.conventions.observations import NOTHING, AskedCall, Content, StopReasonSighting
from dashboard.ingest.conventions.spans import SpanEvent

NAME, VALUE = "mlflow.chunk.item.", "mlflow.chunk.value"
#: The last events of the Responses API's streams, which hold the whole answer.
_LAST = frozenset({"response.completed", "response.incomplete", "response.failed"})


def read(events: Iterable[SpanEvent]) -> Content:
    """The stop reason and, where no piece is missing, the tool calls; of several answers, the first one's. The text is
    that of the answer."""
    pieces = {event.name: mapping(read_json(event.attributes.get(VALUE))) for event in events if _is_piece(event)}
    if not pieces:
        return NOTHING
    if whole := _whole(pieces.values()):
        return provider_json.read_answer(whole, VALUE)
    told = (choice for piece in pieces.values() for choice in mappings(piece.get("choices")))
    choices = [choice for choice in told if choice.get("index") in (None, 0)]
    reasons = [choice["finish_reason"] for choice in choices if isinstance(choice.get("finish_reason"), str)]
    is_whole = all(pieces.get(f"{NAME}{place}") for place in range(len(pieces)))
    calls = tuple(_calls(choices)) if is_whole and choices else ()
    return Content(calls=calls or None, words=tuple(StopReasonSighting(VALUE, reason) for reason in reasons[-1:]))


def usage(events: Iterable[SpanEvent]) -> TokenUsage | None:
    """The counts of the whole answer, where the last piece holds it; MLflow writes none of a stream's."""
    whole = _whole(mapping(read_json(event.attributes.get(VALUE))) for event in events if _is_piece(event))
    return provider_json.usage_in(whole)


def _whole(pieces: Iterable[Mapping[str, Any]]) -> Mapping[str, Any]:
    return next((mapping(piece.get("response")) for piece in pieces if kind_of(piece) in _LAST), {})


def _is_piece(event: SpanEvent) -> bool:
    return event.name.startswith(NAME)


def _calls(choices: Iterable[Mapping[str, Any]]) -> Iterator[AskedCall]:
    """Each call's pieces together: the first tells its id and its name, all of them its arguments."""
    pieces: dict[Any, list[Mapping[str, Any]]] = {}
    for choice in choices:
        for call in mappings(mapping(choice.get("delta")).get("tool_calls")):
            pieces.setdefault(words(call.get("index")), []).append(call)
    for told in pieces.values():
        functions = [mapping(call.get("function")) for call in told]
        arguments = "".join(words(function.get("arguments")) for function in functions)
        yield asked_call(_first(told, "id"), _first(functions, "name"), arguments)


def _first(told: Iterable[Mapping[str, Any]], name: str) -> Any:
    return next((one[name] for one in told if one.get(name)), "")
