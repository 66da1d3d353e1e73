"""An object that holds a request and its answer, under whichever of the usual names."""

from collections.abc import Mapping
from typing import Any

from dashboard.ingest.conventions.attributes import as_count, first
from dashboard.ingest.logs.dialects import dialect_of_answer, dialect_of_request
from dashboard.ingest.logs.exchanges import LoggedCall
from dashboard.ingest.logs.timestamps import first_moment, moment_of, span_of
from dashboard.ingest.logs.values import Json, UnreadableError
from dashboard.platform.strict_json import read_strictly

SOURCE = "JSONL log"
REQUESTS = (
    "request", "req", "request_body", "requestBody", "raw_request", "input", "inputs", "kwargs", "prompt", "query",
    "params",
)  # fmt: skip
ANSWERS = (
    "response", "resp", "response_body", "responseBody", "raw_response", "output", "outputs", "answer", "completion",
    "result", "chunks", "events",
)  # fmt: skip
_BODIES = ("body", "json", "content", "data", "payload", "text")
_STATUSES = ("status_code", "statusCode", "status", "http_status")
_URLS = ("url", "uri", "endpoint", "path", "request_url")
_NAMES = ("id", "request_id", "requestId", "call_id", "trace_id", "uuid", "key", "custom_id")
_AGENTS = ("agent", "agent_name", "app", "service", "application")


def fits(told: Json) -> bool:
    """Whether it holds an answer, or an error beside a request."""
    return _answer(told) is not None or ("error" in told and _request(told) is not None)


def logged(told: Json) -> LoggedCall:
    """Raises `UnreadableError` in words."""
    request, answer = _request(told), _answer(told)
    around_request, around_answer = _around(told, REQUESTS), _around(told, ANSWERS)
    if answer is None and not told.get("error"):
        raise UnreadableError("It contains no answer.")
    begun, ended = span_of(told)
    if begun is None:
        begun = first_moment(around_request, ("timestamp", "time", "created_at"))
    ended = ended if ended is not None else first_moment(around_answer, ("timestamp", "time"))
    begun = begun if begun is not None or ended is not None else created_of(answer)
    return LoggedCall(
        request=request,
        answer=answer,
        source=SOURCE,
        status=_status(around_answer, told),
        headers=headers_of(around_answer.get("headers")),
        url=_word(around_request, _URLS) or _word(told, _URLS),
        begun=begun,
        ended=ended,
        name=_word(told, _NAMES),
        agent=_word(told, _AGENTS)[:200],
        model=_word(told, ("model",)),
        error=_error(told.get("error")),
        is_as_sent=_sent(told) is not None,
    )


def headers_of(told: Any) -> dict[str, str]:
    """Headers by their names in lower case; of several of one name, the first."""
    if not isinstance(told, Mapping):
        return {}
    pairs = ((name, value[0] if isinstance(value, list) and value else value) for name, value in told.items())
    return {str(name).casefold(): value for name, value in pairs if isinstance(value, str)}


def body_of(value: Any) -> Any:
    """What stands in a body: an object, or a text that is one; else the text as it is."""
    if isinstance(value, str) and value.lstrip()[:1] in {"{", "["}:
        try:
            return read_strictly(value)
        except ValueError:
            return value
    return value


def _around(told: Json, names: tuple[str, ...]) -> Json:
    """What stands around a body, where it does not stand alone."""
    found = body_of(first(told, names))
    return found if isinstance(found, dict) else {}


def _request(told: Json) -> Json | None:
    if (sent := _sent(told)) is not None:
        return sent
    found = next(filter(_is_messages, (body_of(told.get(name)) for name in REQUESTS)), None)
    if found is not None:
        return {**_settings(told), "messages": found}
    is_flat = _is_messages(told.get("messages")) or isinstance(told.get("contents"), list)
    return {name: value for name, value in told.items() if name not in ANSWERS} if is_flat else None


def _sent(told: Json) -> Json | None:
    """The body of the request, where the record has it whole."""
    for name in REQUESTS:
        found = body_of(told.get(name))
        inner = body_of(first(found, _BODIES)) if isinstance(found, dict) else None
        for one in (found, inner):
            if isinstance(one, dict) and dialect_of_request(one):
                return one
    return None


def _settings(told: Json) -> dict[str, Any]:
    named = (told.get(name) for name in ("parameters", "settings", "config"))
    parameters: dict[str, Any] = next((one for one in named if isinstance(one, dict)), {})
    model = {"model": told["model"]} if isinstance(told.get("model"), str) else {}
    return {**parameters, **model}


def _is_object(value: Any) -> bool:
    return isinstance(value, dict)


def _is_messages(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(one, dict) and "role" in one for one in value)


def _answer(told: Json) -> Any:
    for name in ANSWERS:
        found = body_of(told.get(name))
        if isinstance(found, dict):
            inner = body_of(first(found, _BODIES))
            answers = (one for one in (found, inner) if _is_answer(one))
            chosen = next(answers, inner if _is_wire(inner) else None)
            if chosen is not None:
                return chosen
            continue
        if _is_answer(found) or _is_wire(found):
            return found
    return None


def _is_answer(value: Any) -> bool:
    if isinstance(value, list):
        return bool(value) and (dialect_of_answer(value[0]) is not None or _is_wire(value[0]))
    return isinstance(value, dict) and (dialect_of_answer(value) is not None or bool(value.get("error")))


def _is_wire(value: Any) -> bool:
    """Whether a text is a stream's body."""
    return isinstance(value, str) and value.lstrip().startswith(("data:", "event:", ":", '{"', "id:"))


def _status(around: Json, told: Json) -> int | None:
    found = (as_count(first(place, _STATUSES)) for place in (around, told))
    return next((status for status in found if status is not None and 100 <= status < 600), None)


def _word(told: Json, names: tuple[str, ...]) -> str:
    return next((told[name] for name in names if isinstance(told.get(name), str)), "")


def created_of(answer: Any) -> int | None:
    """When the answer says that it was made."""
    told = answer[0] if isinstance(answer, list) and answer else answer
    names = ("created", "created_at", "createTime")
    return next((moment_of(told.get(name)) for name in names if told.get(name)), None) if _is_object(told) else None


def _error(told: Any) -> str:
    if isinstance(told, dict):
        told = first(told, ("message", "detail", "error"))
    return told[:2_000] if isinstance(told, str) else ""
