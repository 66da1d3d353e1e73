"""HTTP archives (HAR), and cassettes of VCR and its kin: requests and answers as they went over the wire."""

import base64
import binascii
import gzip
import zlib
from collections.abc import Mapping
from typing import Any

from dashboard.ingest.conventions.attributes import as_count, first
from dashboard.ingest.conventions.content.shapes import mapping, mappings
from dashboard.ingest.logs.dialects import dialect_of_address, dialect_of_answer, dialect_of_request
from dashboard.ingest.logs.exchanges import LoggedCall, sample_of
from dashboard.ingest.logs.formats.pairs import body_of
from dashboard.ingest.logs.timestamps import moment_of
from dashboard.ingest.logs.values import Json, UnreadableError

ARCHIVE, CASSETTE = "HTTP archive", "cassette"
MOST_BODY = 16 * 2**20  #: bytes that a packed body may unpack to
TOO_LARGE = f"A packed body in it unpacks to more than {MOST_BODY // 2**20} MiB."
NO_ANSWER = "The request was not answered."
_TEXTS = ("string", "base64_string", "text", "body")


def is_entry(told: Json) -> bool:
    """Whether it is an entry of an archive."""
    return (
        "startedDateTime" in told and isinstance(told.get("request"), dict) and isinstance(told.get("response"), dict)
    )


def is_interaction(told: Json) -> bool:
    """Whether it is an interaction of a cassette."""
    request, response = mapping(told.get("request")), mapping(told.get("response"))
    return ("uri" in request or "url" in request) and "method" in request and "body" in response


def of_entry(told: Json) -> LoggedCall | None:
    """None where it is no call of a model."""
    request, response = mapping(told.get("request")), mapping(told.get("response"))
    content, headers = mapping(response.get("content")), _headers(response.get("headers"))
    begun, lasted = moment_of(told.get("startedDateTime")), told.get("time")
    is_span = isinstance(lasted, int | float) and not isinstance(lasted, bool) and 0 < lasted < 10**9
    ended = begun + int(lasted * 10**6) if begun is not None and is_span and lasted is not None else None
    raw = _unpacked(_bytes(content.get("text"), is_base64=content.get("encoding") == "base64"), headers)
    status = as_count(response.get("status")) or None
    url = _text(request.get("url"))
    return _logged(ARCHIVE, _posted(request), raw, url, status=status, headers=headers, begun=begun, ended=ended)


def of_interaction(told: Json) -> LoggedCall | None:
    """None where it is no call of a model."""
    request, response = mapping(told.get("request")), mapping(told.get("response"))
    status, headers = response.get("status", response.get("code")), _headers(response.get("headers"))
    code = first(status, ("code", "status_code")) if isinstance(status, dict) else response.get("code", status)
    raw = _unpacked(_body(response.get("body")), headers)
    url = _text(request.get("uri", request.get("url")))
    asked = body_of(_body(request.get("body")).decode("utf-8", "replace"))
    at = moment_of(told.get("recorded_at"))
    return _logged(CASSETTE, asked, raw, url, status=as_count(code), headers=headers, begun=None, ended=at)


def _logged(
    source: str, asked: Any, raw: bytes, url: str, *, status: int | None, headers: dict[str, str],
    begun: int | None, ended: int | None,
) -> LoggedCall | None:  # fmt: skip
    is_model = dialect_of_address(url) or (dialect_of_request(asked) and dialect_of_answer(sample_of(raw)))
    if not is_model:
        return None
    request = asked if isinstance(asked, dict) else None
    is_status = status is not None and 100 <= status < 600
    return LoggedCall(
        request=request,
        answer=raw,
        source=source,
        status=status if is_status else None,
        headers=headers,
        url=url,
        begun=begun,
        ended=ended,
        error="" if raw.strip() else NO_ANSWER,
        is_as_sent=request is not None,
    )


def _posted(request: Json) -> Any:
    posted = mapping(request.get("postData"))
    raw = _bytes(posted.get("text"), is_base64=posted.get("encoding") == "base64")
    return body_of(_unpacked(raw, _headers(request.get("headers"))).decode("utf-8", "replace"))


def _headers(told: Any) -> dict[str, str]:
    """By their names in lower case: of a list of pairs, or of lists of values."""
    if isinstance(told, Mapping):
        pairs = [(name, value[0] if isinstance(value, list) and value else value) for name, value in told.items()]
    else:
        pairs = [(one.get("name"), one.get("value")) for one in mappings(told)]
    texts = ((name, value.decode("latin-1") if isinstance(value, bytes) else value) for name, value in pairs)
    return {name.casefold(): value for name, value in texts if isinstance(name, str) and isinstance(value, str)}


def _body(told: Any) -> bytes:
    """A body as any cassette has it: a text, bytes, or an object with one of them."""
    if isinstance(told, dict):
        if "base64_string" in told:
            return _bytes(told["base64_string"], is_base64=True)
        return _body(first(told, _TEXTS))
    return _bytes(told)


def _bytes(told: Any, *, is_base64: bool = False) -> bytes:
    raw = told if isinstance(told, bytes) else _text(told).encode("utf-8", "replace")
    if not is_base64:
        return raw
    try:
        return base64.b64decode(raw, validate=False)
    except (binascii.Error, ValueError):
        return raw


def _text(told: Any) -> str:
    return told if isinstance(told, str) else ""


def _unpacked(raw: bytes, headers: Mapping[str, str]) -> bytes:
    """Cassettes often keep a body as it was packed. What is not packed after all stays as it is."""
    coding = headers.get("content-encoding", "").casefold()
    if coding not in {"gzip", "deflate"} or raw.lstrip()[:1] in {b"{", b"[", b"d", b"e"}:
        return raw
    unpacking = zlib.decompressobj(zlib.MAX_WBITS | 32)
    try:
        text = unpacking.decompress(raw, MOST_BODY)
    except (zlib.error, gzip.BadGzipFile):
        return raw
    if unpacking.unconsumed_tail:
        raise UnreadableError(TOO_LARGE)
    return text
