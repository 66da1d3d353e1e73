"""Forms with files: read to the disk as they come, and sent on from there. In memory there is a piece at a time.

A form names its model where its client puts it, mostly behind the file; whom it is for is known when all of it is here.
Its parts go on byte for byte, in their order, but for the model, which comes first and is the one that was meant. They
are parted by a boundary of ours, which nothing in them can be taken for, however a provider reads a form.
"""

import asyncio
import re
import secrets
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, ClassVar

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header

from agentcore.number_format import seconds
from dashboard.gateway.serving.request_body import BodyBounds, Receive, receive_pieces
from dashboard.gateway.wire.chat.request_parser import read_model
from dashboard.gateway.wire.faults import INVALID, Fault
from dashboard.gateway.wire.relay_routes import OPENAI
from dashboard.live.transport import Pieces

MOST_BYTES = 128 * 1024 * 1024
MOST_SECONDS = 600.0  #: that a form may take to come
IN_MEMORY = 256 * 1024  #: bytes of a small form, which needs no disk
PIECE = 64 * 1024
MOST_PARTS = 200
LONGEST_MODEL = 2_048  #: bytes
AT_ONCE, OF_ONE = 16, 4  #: forms on the disk, of all callers and of one
UPLOADED = frozenset(
    {"/v1/audio/transcriptions", "/v1/audio/translations", "/v1/images/edits", "/v1/images/variations"}
)

#: Where a disposition names its part: by a star, the name is in another encoding, or goes on in a further parameter.
_NAMES = re.compile(rb";\s*name\s*(\*[^=]*)?=", re.IGNORECASE)

_TOO_LARGE = Fault(413, f"The form is larger than {MOST_BYTES // 2**20} MiB.", INVALID, "request_too_large")
_TOO_SLOW = Fault(408, f"The form did not arrive within {seconds(MOST_SECONDS)}.", INVALID, "request_timeout")
_NO_FORM = Fault(415, "Send multipart/form-data with a boundary, without any encoding.", INVALID)
_BROKEN = Fault(400, "The form does not match its multipart/form-data boundary, or it is incomplete.", INVALID)
_FULL = Fault(503, "Too many forms are sent at once; send this again later.", headers=(("retry-after", "2"),))


@dataclass(frozen=True, slots=True)
class Uploaded:
    """One form, as `Relayed` is a request in JSON. `file`: its parts but the model, without the last boundary."""

    model: str
    path: str
    boundary: bytes
    file: IO[bytes]
    dialects: frozenset[str] = OPENAI
    method: ClassVar[str] = "POST"
    metered: ClassVar[bool] = True

    @property
    def content_type(self) -> str:
        return f"multipart/form-data; boundary={self.boundary.decode()}"

    @property
    def label(self) -> str:
        return self.path

    def path_for(self, _model: str) -> str:
        """The path, which has no place for a model."""
        return self.path

    def wire(self, model: str, _prompt: str) -> Pieces:
        """The body for the model that was meant."""
        first = b'--%s\r\nContent-Disposition: form-data; name="model"\r\n\r\n%s\r\n' % (self.boundary, model.encode())
        first = first if self.model else b""  # a form that named none goes on without one
        last = b"--%s--\r\n" % self.boundary
        length = len(first) + self.file.seek(0, 2) + len(last)

        async def read() -> AsyncIterator[bytes]:
            self.file.seek(0)
            yield first
            while piece := await asyncio.to_thread(self.file.read, PIECE):
                yield piece
            yield last

        return Pieces(length, read)

    def close(self) -> None:
        self.file.close()


@contextmanager
def place(taken: Counter[str], caller: str) -> Iterator[Fault | None]:
    """A place for a form of this caller; the fault that says there is none."""
    if taken.total() >= AT_ONCE or taken[caller] >= OF_ONE:
        yield _FULL
        return
    taken[caller] += 1
    try:
        yield None
    finally:
        taken[caller] -= 1
        taken += Counter()


async def read_form(
    headers: Iterable[tuple[bytes, bytes]], receive: Receive, path: str, *, named: bool = True
) -> Uploaded | Fault | None:
    """The form, whole and on the disk; None where the client has gone before. Who gets it closes it. `named`: it must
    name a model."""
    told = dict(headers)
    kind, options = parse_options_header(told.get(b"content-type", b""))
    boundary = options.get(b"boundary", b"")
    plain = told.get(b"content-encoding", b"identity").lower() == b"identity"
    if kind != b"multipart/form-data" or not 0 < len(boundary) <= 200 or not plain:
        return _NO_FORM
    length = told.get(b"content-length", b"")
    if length.isdigit() and int(length[:12]) > MOST_BYTES:
        return _TOO_LARGE
    file = tempfile.SpooledTemporaryFile(max_size=IN_MEMORY)  # noqa: SIM115 - it goes on from here
    fresh = secrets.token_hex(16).encode()
    read = await _read(_Form(boundary, file, fresh), receive)
    model = read_model({"model": read}) if isinstance(read, str) and named else read
    if not isinstance(model, str):
        file.close()
        return model
    return Uploaded(model, path.removeprefix("/v1"), fresh, file)


async def _read(form: "_Form", receive: Receive) -> str | Fault | None:
    """The model, once all has come."""
    try:
        received = await receive_pieces(receive, form.feed, BodyBounds(MOST_BYTES, MOST_SECONDS, _TOO_LARGE, _TOO_SLOW))
        if received is not True:
            return received or None
        return form.model if form.ended else _BROKEN
    except (FormParserError, UnicodeDecodeError):
        return _BROKEN


class _Form:
    """Parts as they come, each written to the file with its headers, but for the one that names the model. `fresh`: the
    boundary that parts them there."""

    def __init__(self, boundary: bytes, file: IO[bytes], fresh: bytes) -> None:
        self.ended = False
        self._model = b""
        self._file, self._begin = file, b"--%s\r\n" % fresh
        self._parts, self._is_model = 0, False
        self._headers, self._name, self._value = list[tuple[bytes, bytes]](), b"", b""
        self._parser = MultipartParser(
            boundary,
            {
                "on_part_begin": self._begins,
                "on_header_field": self._names,
                "on_header_value": self._says,
                "on_header_end": self._header,
                "on_headers_finished": self._headed,
                "on_part_data": self._data,
                "on_part_end": self._ends,
                "on_end": self._over,
            },
        )

    @property
    def model(self) -> str:
        return self._model.decode()

    def feed(self, piece: bytes) -> None:
        """Raises `FormParserError`."""
        if piece:
            self._parser.write(piece)

    def _begins(self) -> None:
        self._parts += 1
        if self._parts > MOST_PARTS:
            raise FormParserError("too many parts")
        self._headers = []

    def _names(self, data: bytes, start: int, end: int) -> None:
        self._name += data[start:end]

    def _says(self, data: bytes, start: int, end: int) -> None:
        self._value += data[start:end]

    def _header(self) -> None:
        self._headers.append((self._name, self._value))
        self._name = self._value = b""

    def _headed(self) -> None:
        self._is_model = _name_of(self._headers) == b"model"
        if self._is_model and self._model:
            raise FormParserError("two models")
        if not self._is_model:
            head = b"".join(b"%s: %s\r\n" % header for header in self._headers)
            self._file.write(self._begin + head + b"\r\n")

    def _data(self, data: bytes, start: int, end: int) -> None:
        if not self._is_model:
            self._file.write(data[start:end])
            return
        self._model += data[start:end]
        if len(self._model) > LONGEST_MODEL:
            raise FormParserError("the model's name is too long")

    def _ends(self) -> None:
        if not self._is_model:
            self._file.write(b"\r\n")

    def _over(self) -> None:
        self.ended = True


def _name_of(headers: Iterable[tuple[bytes, bytes]]) -> bytes:
    """A part's name. Raises `FormParserError` where a provider may read another one: it might be a second model."""
    said = [value for name, value in headers if name.strip().lower() == b"content-disposition"]
    kind, options = parse_options_header(said[0] if len(said) == 1 else b"")
    if kind != b"form-data" or b"name" not in options or _NAMES.findall(said[0]) != [b""]:
        raise FormParserError("a part without one plain name")
    return options[b"name"]
