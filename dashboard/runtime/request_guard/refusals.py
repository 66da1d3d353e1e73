"""The answer to a request that is refused before anything has looked at it, in the form its address speaks.

Also holds what a connection is told that ends before its request has reached an application.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from http import HTTPStatus

from django.template.loader import render_to_string

from dashboard.accounts.access import AccessForm, access_form_of, is_machine
from dashboard.accounts.error_responses import error_body
from dashboard.gateway.wire.caller_dialects import dialect_at
from dashboard.gateway.wire.faults import Fault
from dashboard.platform.ids import new_id
from dashboard.runtime.request_guard.resource_limits import HEAD_BYTES, HEAD_FIELDS, PIPELINED

HEADERS = (
    (b"cache-control", b"private, no-store"),
    (b"x-content-type-options", b"nosniff"),
    (b"content-security-policy", b"default-src 'self'; frame-ancestors 'none'"),
)
CLOSE = (b"connection", b"close")
CHALLENGE = (b"www-authenticate", b'Bearer realm="whystop"')


#: What a page is headed with, by status: what is away or too much, in the words of a page.
TITLES: Mapping[int, str] = {
    401: "Sign in first",
    403: "Permission denied",
    408: "The request came too slowly",
    413: "Too large",
    429: "Too many requests",
    431: "The address or the headers are too long",
    503: "Whystop is busy",
}


class RefusedError(Exception):
    """Raised inside the parser of a connection, which ends by it."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A whole answer; the connection ends with it, for the rest of the request is not read."""

    status: int
    headers: tuple[tuple[bytes, bytes], ...]
    body: bytes

    def on_the_wire(self) -> bytes:
        """The response as HTTP/1.1 bytes."""
        line = f"HTTP/1.1 {self.status} {HTTPStatus(self.status).phrase}\r\n".encode()
        return line + b"".join(b"%s: %s\r\n" % header for header in self.headers) + b"\r\n" + self.body


def refusal(
    path: str, status: int, detail: str, *, fragment: bool = False, more: tuple[tuple[bytes, bytes], ...] = (),
    again: bool = False, title: str = "",
) -> Answer:  # fmt: skip
    """JSON for programs, as they know it from the address; else a page, or the note that htmx puts beside a form.
    `again`: whether the page leads to its own address; `title`: its heading, where TITLES has another."""
    heading = title or TITLES.get(status, HTTPStatus(status).phrase.capitalize())
    if is_machine(path):
        content_type, error = error_body(path, status, detail)
        body = _in_dialect(path, status, error["error"], more) if _is_gateway(path) else json.dumps(error).encode()
    else:
        content_type = "text/html; charset=utf-8"
        body = _page(status, detail, heading, fragment=fragment, again=again)
    told = ((b"content-type", content_type.encode()), (b"content-length", b"%d" % len(body)))
    return Answer(status, (*told, *HEADERS, CLOSE, *more), body)


def _is_gateway(path: str) -> bool:
    return access_form_of(path) is AccessForm.GATEWAY


def _in_dialect(path: str, status: int, told: Mapping[str, str], more: tuple[tuple[bytes, bytes], ...]) -> bytes:
    """The same as the clients read it that ask at this address."""
    headers = tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in more)
    fault = Fault(status, told["message"], told["type"], told["code"], headers=headers)
    return dialect_at(path.rstrip("/")).fault(fault, f"req_{new_id().hex}")


@lru_cache(maxsize=32)
def _page(status: int, detail: str, title: str, *, fragment: bool, again: bool) -> bytes:
    if fragment:
        return render_to_string("_too_large.html", {"told": detail}).encode()
    context = {"status": status, "title": title, "detail": detail, "again": again}
    return render_to_string("refused.html", context).encode()


@lru_cache(maxsize=32)
def plainly(status: int, detail: str, *more: tuple[bytes, bytes]) -> bytes:
    """An answer on the wire where no address is known yet."""
    body = detail.encode() + b"\n"
    told = ((b"content-type", b"text/plain; charset=utf-8"), (b"content-length", b"%d" % len(body)))
    return Answer(status, (*HEADERS, *told, CLOSE, *more), body).on_the_wire()


FULL = "This server has reached its maximum number of connections. Try again in a moment."
FULL_ADDRESS = "Your address has reached its maximum number of connections. Close some, or try again in a moment."
LONG_HEAD = (
    f"The address and the header fields of a request may have at most {HEAD_BYTES:,} bytes together. Send fewer."
)
MANY_FIELDS = f"A request may have at most {HEAD_FIELDS} header fields. Send fewer."
PIPELINED_TOO_MANY = f"At most {PIPELINED} requests of a connection may wait for their answers. Send fewer at once."
SLOW_HEAD = "The head of the request did not come in time. Send it at once."
NO_REQUEST = "Invalid HTTP request received."
SLOW_BODY = "The body of the request came too slowly. Send it again, over a faster connection."
