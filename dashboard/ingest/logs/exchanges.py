"""A request with its answer → a call of a model. The provider's own codec decodes the answer."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from agentcore.errors import DecodeError, ProviderError
from agentcore.messages import ChatResponse
from agentcore.providers import get_provider
from agentcore.values import replace as changed
from dashboard.ingest.conventions.content.shapes import words
from dashboard.ingest.conventions.observations import (
    AskedCall,
    Content,
    ModelCall,
    RequestAndResponse,
    StopReasonSighting,
)
from dashboard.ingest.conventions.spans import Span
from dashboard.ingest.logs.credentials import ASKED, SAID, address_of, cleaned, content_type_of, is_shortened
from dashboard.ingest.logs.dialects import dialect_of_address, dialect_of_answer, dialect_of_request, model_of_address
from dashboard.ingest.logs.request_reader import cap_of, content_of
from dashboard.ingest.logs.values import UNKNOWN_MODEL, Episode, Json, UnreadableError, digest_of
from dashboard.platform.strict_json import read_strictly
from dashboard.turns.request_frames import MESSAGE_KEYS

TIME_UNKNOWN = "time_unknown", "The log does not say when the call was made; the time shown is that of the file."
DURATION_UNKNOWN = "duration_unknown", "The log does not say how long the call took."
CREDENTIALS = (
    "credentials_removed",
    "Fields that may contain credentials were removed, such as keys, headers and parts of the address.",
)
_LINES = frozenset({"ollama"})  #: dialects that stream one object a line
_ERROR_STATUS = 400


@dataclass(frozen=True, slots=True)
class LoggedCall:
    """A request with its answer, as a record holds them.

    `answer`: an object, the pieces of a stream, or its body as text or bytes. Times are nanoseconds since 1970.
    """

    request: Json | None
    answer: Any
    source: str  #: the kind of log, for people
    status: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict)  #: of the answer
    url: str = ""
    begun: int | None = None
    ended: int | None = None
    name: str = ""  #: the record's own, which tells it from an equal one
    agent: str = ""
    model: str = ""  #: where the request does not name it
    error: str = ""  #: why there is no answer, in words
    dialect: str = ""  #: where the record names it
    notes: tuple[tuple[str, str], ...] = ()  #: what is not known of it: code, and words for people
    is_composed: bool = False  #: whether the answer was put together, so that its bytes are not the provider's
    is_as_sent: bool = False  #: whether the request is the body that was sent, so that what it lacks was not set


def episode_of(logged: LoggedCall, line: int, file_time: int) -> Episode:
    """The record as an episode. `file_time`: of the file, for a record without a time. Raises `UnreadableError`."""
    logged = _without_credentials(logged)
    raw = _raw(logged)
    asked = json.dumps(logged.request, sort_keys=True).encode()
    key = digest_of(asked, raw, str(logged.status), str(logged.begun), logged.name, logged.error)
    return Episode(key, (_call(logged, raw, key, file_time),), line, is_settled=True)


def _without_credentials(logged: LoggedCall) -> LoggedCall:
    """What every reader's record goes through before anything of it is kept."""
    request = None if logged.request is None else cleaned(logged.request, ASKED)
    answer = cleaned(logged.answer, SAID) if isinstance(logged.answer, dict) else logged.answer
    is_whole = request == logged.request and answer == logged.answer and not is_shortened(logged.url)
    notes = logged.notes if is_whole else (*logged.notes, CREDENTIALS)
    return replace(logged, request=request, answer=answer, notes=notes)


def _call(logged: LoggedCall, raw: bytes, key: str, file_time: int) -> ModelCall:
    request = logged.request or {}
    dialect, cap = _dialect(logged, raw), cap_of(request)
    answer, error = _answered(logged, raw, dialect, cap)
    span = _span(logged, key, file_time)
    return ModelCall(
        span=span,
        provider=dialect,
        model=_model(logged, answer),
        max_tokens=cap,
        uncapped=logged.is_as_sent and cap is None and not get_provider(dialect).demands_cap,
        stream=request.get("stream") is True or raw[:1] not in {b"{", b""},
        response_id=(answer.response_id or "") if answer else "",
        agent=logged.agent,
        usage=answer.usage if answer else None,
        words=() if answer is None else tuple(_words(answer)),
        content=_content(logged.request, answer),
        error=error,
        spans=(span.id,),
        scopes=(logged.source,),
        exchange=RequestAndResponse(
            body=_body(logged.request, dialect),
            raw=raw if not logged.is_composed and (logged.status is not None or error is None) else b"",
            answer=answer,
            status=logged.status,
            content_type=content_type_of(logged.headers.get("content-type", "")),
            timed=logged.begun is not None and logged.ended is not None,
            notes=tuple(_notes(logged)),
        ),
    )


def _raw(logged: LoggedCall) -> bytes:
    """The answer's bytes: as they came where the record has them so, else as the codec reads its objects."""
    answer = logged.answer
    if isinstance(answer, bytes):
        return answer
    if isinstance(answer, str):
        return answer.encode("utf-8", "replace")
    if isinstance(answer, list):
        return b"".join(_pieces(answer))
    return b"" if answer is None else json.dumps(answer, separators=(",", ":")).encode()


def _pieces(answer: list[Any]) -> Iterator[bytes]:
    """The pieces of a stream, framed as their dialect frames them."""
    in_lines = next(map(dialect_of_answer, answer), None) in _LINES
    for piece in answer:
        if isinstance(piece, str):
            yield piece.encode("utf-8", "replace")
        elif isinstance(piece, dict):
            text = json.dumps(piece, separators=(",", ":")).encode()
            event = b"event: %b\n" % piece["type"].encode("utf-8", "replace") if _has_type(piece) else b""
            yield text + b"\n" if in_lines else b"%bdata: %b\n\n" % (event, text)


def _has_type(piece: Json) -> bool:
    kind = piece.get("type")
    return isinstance(kind, str) and kind.isprintable()


def _dialect(logged: LoggedCall, raw: bytes) -> str:
    found = (
        dialect_of_address(logged.url) or dialect_of_answer(sample_of(raw)) or logged.dialect
        or dialect_of_request(logged.request)
    )  # fmt: skip
    if not found:
        raise UnreadableError("The record is not a request with its answer in a supported format.")
    return found


def sample_of(raw: bytes) -> Any:
    """The first object in it: of a whole body, of lines, or of events."""
    head = raw.lstrip(b"\xef\xbb\xbf \r\n\t")
    if head[:1] in {b"{", b"["}:
        found = _read(head)
        found = _read(head.partition(b"\n")[0]) if found is None else found
        return next(iter(found), None) if isinstance(found, list) else found
    for line in head[:1_000_000].split(b"\n"):
        if line.startswith(b"data:") and isinstance(found := _read(line[5:]), dict):
            return found
    return None


def _read(raw: bytes) -> Any:
    try:
        return read_strictly(raw)
    except ValueError:
        return None


def _in_words(logged: LoggedCall) -> bytes:
    """The error that a log tells in words alone, as a body."""
    return json.dumps({"error": {"message": logged.error}}).encode()


def _answered(
    logged: LoggedCall, raw: bytes, dialect: str, cap: int | None
) -> tuple[ChatResponse | None, ProviderError | None]:
    provider = get_provider(dialect)
    if logged.status is not None and not 200 <= logged.status < 300:
        said = raw if raw.strip() or not logged.error else _in_words(logged)
        return None, provider.decode_error(logged.status, logged.headers, said)
    if _is_error(raw):
        return None, changed(provider.decode_error(logged.status or _ERROR_STATUS, {}, raw), status=logged.status)
    if not raw.strip():
        if not logged.error:
            raise UnreadableError("It contains no answer.")
        error = provider.decode_error(_ERROR_STATUS, {}, _in_words(logged))
        return None, changed(error, status=None)
    decoder = provider.stream_decoder(max_tokens=cap)
    try:
        decoder.feed(raw)
        return decoder.close(), None
    except DecodeError as error:
        why = error.fault[:300]
        raise UnreadableError(f"The answer is not in the {dialect} dialect: {why}") from error


def _is_error(raw: bytes) -> bool:
    if not raw.lstrip().startswith(b"{"):
        return False
    told = _read(raw)
    return isinstance(told, dict) and bool(told.get("error")) and dialect_of_answer(told) is None


def _words(answer: ChatResponse) -> Iterator[StopReasonSighting]:
    for sighting in answer.reason_trail:
        if sighting.raw is not None:
            yield StopReasonSighting(sighting.source, sighting.raw)
    if answer.raw_stop_reason is not None and not answer.reason_trail:
        yield StopReasonSighting("answer", answer.raw_stop_reason)


def _content(request: Json | None, answer: ChatResponse | None) -> Content:
    asked = Content() if request is None else content_of(request)
    if answer is None:
        return asked
    calls = (*answer.tool_calls, *answer.broken_tool_calls)
    return replace(
        asked,
        text=answer.text,
        calls=tuple(AskedCall(call.id, call.name, call.raw) for call in calls),
        reasoning=answer.reasoning_content,
        refusal=answer.refusal,
    )


def _model(logged: LoggedCall, answer: ChatResponse | None) -> str:
    named = words((logged.request or {}).get("model"))
    found = named or logged.model or model_of_address(logged.url) or (answer.model if answer else "") or UNKNOWN_MODEL
    return found[:512]


def _body(request: Json | None, dialect: str) -> Json | None:
    """The request, where it is one of this dialect; else one is put together of what could be read."""
    if request is None or dialect_of_request(request) not in {dialect, "openai"}:
        return None
    listed = [request[key] for key in MESSAGE_KEYS if key in request]
    is_whole = len(listed) == 1 and isinstance(listed[0], list) and all(isinstance(one, dict) for one in listed[0])
    return request if is_whole and listed[0] else None


def _span(logged: LoggedCall, key: str, file_time: int) -> Span:
    begun = logged.begun if logged.begun is not None else logged.ended
    start = file_time if begun is None else begun
    end = max(start, logged.ended or start)
    return Span(
        key, key[:16], "", logged.source, start, end, logged.source, attributes={"url.full": address_of(logged.url)}
    )


def _notes(logged: LoggedCall) -> Iterator[tuple[str, str]]:
    yield from logged.notes
    if logged.begun is None and logged.ended is None:
        yield TIME_UNKNOWN
    if logged.begun is None or logged.ended is None:
        yield DURATION_UNKNOWN
