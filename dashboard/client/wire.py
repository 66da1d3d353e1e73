"""The client's side of the wire: calls that are answered, and a stream that is found again when it is lost."""

import json
import random
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, suppress
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from socket import socket
from typing import Any, TypeVar
from urllib.parse import SplitResult, urlencode, urlsplit

from .values import Json

SILENCE = 45.0  #: seconds without a word after which a stream is taken for lost; the server speaks every 15
PATIENCE = 300.0  #: seconds for which a lost stream is looked for
PAUSES = (0.2, 3.0)  #: seconds between two tries, from and to
AGAIN = frozenset({429, 500, 502, 503, 504})  #: what a server says that is just starting, stopping or full
T = TypeVar("T")


class WhystopError(Exception):
    """What all errors of this client have in common."""


class Unreachable(WhystopError):
    """Nobody answers at this address, or somebody else does."""


class Refused(WhystopError):
    """The server says no, in a sentence."""

    def __init__(self, status: int, problem: Json) -> None:
        super().__init__(str(problem.get("detail") or f"The server answered {status}."))
        self.status = status
        self.problem = problem  #: problem details: `errors` has `{field, message}` each


class Unauthorized(Refused):
    """The token is missing, unknown, or may not do this."""


class NotFound(Refused):
    """There is nothing by this name or id."""


class Conflict(Refused):
    """The turn is not where this makes sense."""


REFUSALS: Mapping[int, type[Refused]] = {401: Unauthorized, 403: Unauthorized, 404: NotFound, 409: Conflict}


class Server:
    """One address over HTTP. No redirect is followed: a token goes where it was meant to."""

    def __init__(self, url: str, token: str, timeout: float) -> None:
        parts = _parts_of(url)
        if not token or any(not "!" <= character <= "~" for character in token):
            raise ValueError("The token must be printable ASCII characters without spaces.")
        self._kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        self._place, self._base, self._timeout = parts.netloc, f"{parts.path.rstrip('/')}/api/v1", timeout
        self._headers = {"Authorization": f"Bearer {token}"}

    def call(self, method: str, path: str, body: Any = None, *, query: Json | None = None) -> Any:
        """The answer's JSON. Raises `Refused` and `Unreachable`."""
        asked = urlencode(query or {}, doseq=True)
        sent = None if body is None else json.dumps(body).encode()
        with closing(self._connection(self._timeout)) as connection:
            try:
                target = self._base + path + ("?" + asked if asked else "")
                connection.request(method, target, sent, {**self._headers, "Content-Type": "application/json"})
                return self._read(connection.getresponse())
            except (OSError, HTTPException) as error:
                raise self._unreachable(error) from error

    def pages(self, path: str, filters: Json) -> Iterator[Json]:
        """The items of a list, page by page as they are asked for."""
        cursor: dict[str, str] = {}
        while True:
            page = self.call("GET", path, query={**filters, **cursor})
            yield from page["items"]
            if page["next"] is None:
                return
            cursor = {"cursor": page["next"]}

    def lines(self, path: str, headers: Mapping[str, str], deadline: float | None) -> Iterator[str]:
        """The lines of a stream, without their ends, as they come. Raises `TimeoutError` at the deadline."""
        with closing(self._connection(_left(deadline, SILENCE))) as connection:
            try:
                connection.request("GET", self._base + path, headers={**self._headers, **headers})
                wire = connection.sock
                with closing(connection.getresponse()) as response:
                    if response.status != 200 or response.headers.get_content_type() != "text/event-stream":
                        raise self._no_stream(response)
                    while line := _line_of(response, wire, deadline):
                        yield line.decode("utf-8", "replace").rstrip("\r\n")
            except (OSError, HTTPException) as error:
                _left(deadline, SILENCE)
                raise self._unreachable(error) from error

    def _connection(self, timeout: float) -> HTTPConnection:
        return self._kind(self._place, timeout=timeout)

    def _read(self, response: HTTPResponse) -> Any:
        text = response.read()
        try:
            answer = json.loads(text)
        except ValueError:
            answer = None
        if response.status >= 400:
            problem = answer if isinstance(answer, dict) else {}
            raise REFUSALS.get(response.status, Refused)(response.status, problem)
        if answer is None or response.status >= 300:
            raise Unreachable(f"The server at {self._place} is not Whystop: it answered {response.status}.")
        return answer

    def _no_stream(self, response: HTTPResponse) -> Unreachable:
        """Raises `Refused` where the server says why."""
        self._read(response)
        return Unreachable(f"The server at {self._place} sends no events.")

    def _unreachable(self, error: Exception) -> Unreachable:
        why = getattr(error, "strerror", None) or error or type(error).__name__
        return Unreachable(f"Whystop does not answer at {self._place}: {why}.")


def _parts_of(url: str) -> SplitResult:
    """The parts of an address that can be asked. Raises `ValueError` in words."""
    with suppress(ValueError):
        parts = urlsplit(url)
        can_be = parts.hostname and parts.port != 0 and all("!" < character <= "~" for character in url)
        labels = "" in (parts.hostname or "").removesuffix(".").split(".")
        if parts.scheme in ("http", "https") and can_be and not labels and "@" not in parts.netloc:
            return parts
    raise ValueError(f"The address must be like http://127.0.0.1:8321, not {url!r}.")


def _line_of(response: HTTPResponse, wire: socket, deadline: float | None) -> bytes:
    """The next line; empty at the end."""
    wire.settimeout(_left(deadline, SILENCE))
    return response.readline()


def deadline_in(seconds: float | None) -> float | None:
    return None if seconds is None else time.monotonic() + seconds


def _left(deadline: float | None, most: float) -> float:
    """Seconds until the deadline, at most `most`. Raises `TimeoutError` when it is past."""
    left = most if deadline is None else min(most, deadline - time.monotonic())
    if left <= 0:
        raise TimeoutError("The turn did not get that far within the given time.")
    return left


def followed(server: Server, path: str, seq: int, deadline: float | None) -> Iterator[tuple[str, Any]]:
    """Kinds and data of a turn's events, none missing and none twice, over as many connections as it takes."""
    known, connected, heard, pause = (0, 0), False, time.monotonic(), PAUSES[0]
    while True:
        try:
            for kind, data in _events(server.lines(path, {"Last-Event-ID": str(seq)}, deadline)):
                connected, heard, pause = True, time.monotonic(), PAUSES[0]
                if kind == "record" and data["seq"] > seq:
                    seq = data["seq"]
                    yield kind, data
                elif kind == "draft" and (new := _new_of(data, known)):
                    known = (data["attempt"], new["offset"] + len(new["text"]))
                    yield kind, new
                elif kind == "end":
                    yield kind, data
        except (Unreachable, Refused) as error:
            if not (connected and _is_lost(error)) or time.monotonic() - heard > PATIENCE:
                raise
        pause = _pause(pause, deadline)


def found_again(ask: Callable[[], T], deadline: float | None = None) -> T:
    """The answer of a server that was heard a moment ago; asked again for as long as a lost stream is looked for.

    For what may be asked twice. Raises `TimeoutError` at the deadline.
    """
    began, pause = time.monotonic(), PAUSES[0]
    while True:
        try:
            return ask()
        except (Unreachable, Refused) as error:
            if not _is_lost(error) or time.monotonic() - began > PATIENCE:
                raise
        pause = _pause(pause, deadline)


def _is_lost(error: Unreachable | Refused) -> bool:
    return error.status in AGAIN if isinstance(error, Refused) else True


def _pause(pause: float, deadline: float | None) -> float:
    """Wait about so long; how long to wait the next time. Raises `TimeoutError` at the deadline."""
    time.sleep(min(pause * random.uniform(0.5, 1), _left(deadline, PAUSES[1])))  # noqa: S311 - no secret
    return min(2 * pause, PAUSES[1])


def _new_of(draft: Json, known: tuple[int, int]) -> Json | None:
    """What of a draft has not been told, where `known` is `(attempt, characters)`."""
    told = known[1] - draft["offset"] if draft["attempt"] == known[0] else 0
    text = draft["text"][max(told, 0) :]
    return {**draft, "offset": draft["offset"] + max(told, 0), "text": text} if text else None


def _events(lines: Iterator[str]) -> Iterator[tuple[str, Any]]:
    """Server-sent events with JSON for data; one that was cut short is none. A sign of life is one of no kind."""
    kind, data = "", list[str]()
    for line in lines:
        name, _, value = line.partition(":")
        if not line:
            yield from [(kind, json.loads("\n".join(data)))] if data else []
            kind, data = "", []
        elif name in ("", "retry"):
            yield "", None
        elif name == "event":
            kind = value.removeprefix(" ")
        elif name == "data":
            data.append(value.removeprefix(" "))
