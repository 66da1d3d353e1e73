"""The addresses whose requests are relayed, and what is read of them. Pure.

No more than the model is read, and the model alone is changed: to what was meant by it.

Also holds the addresses of files and batches, which name no model: what is asked there goes on as it came. Pure.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping, MutableMapping
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from agentcore.providers.gemini.request import address_of
from dashboard.gateway.wire.chat.request_parser import read_model
from dashboard.gateway.wire.faults import Fault
from dashboard.gateway.wire.gemini.address import COUNT, ParsedAddress, camel, parse_address
from dashboard.gateway.wire.gemini.dialect import add_prompt_to_count
from dashboard.gateway.wire.gemini.request_parser import DIALECT as GEMINI
from dashboard.gateway.wire.messages.dialect import add_prompt
from dashboard.gateway.wire.messages.request_parser import DIALECT, read_count
from dashboard.gateway.wire.parsed_request import read_body

_MODEL = "/v1beta/{model}"  #: the place for the address of a model of the Gemini API
#: Dialects whose connections have OpenAI's other addresses beside the one that turns go to.
OPENAI = frozenset({"openai", "openai_responses"})


def no_prompt(body: MutableMapping[str, Any], prompt: str) -> None:
    """An agent's prompt is said to nobody where there is no conversation."""


@dataclass(frozen=True, slots=True)
class RelayRequest:
    """One request. `path`: below the base URL of a connection that speaks one of the `dialects`; it may have a place
    for the `{model}` that was meant."""

    model: str
    body: Mapping[str, Any]
    path: str
    dialects: frozenset[str]
    prompt: Callable[[MutableMapping[str, Any], str], None] = no_prompt  #: as a door's
    method: ClassVar[str] = "POST"
    metered: ClassVar[bool] = True  #: whether what the answer says it used counts

    @property
    def label(self) -> str:
        """The path in the metrics."""
        return self.path

    @property
    def content_type(self) -> str:
        """Of the body that goes on."""
        return "application/json"

    def wire(self, model: str, prompt: str) -> bytes:
        """The body to send to the provider as JSON bytes, with the provider's name of the model, and the agent's system
        prompt."""
        return json.dumps(self.for_model(model, prompt)).encode()

    def close(self) -> None:
        """Do nothing: a request in JSON has no open file."""

    def path_for(self, model: str) -> str:
        """The provider's path for this model."""
        return self.path.replace(_MODEL, address_of(model))

    def for_model(self, model: str, prompt: str) -> dict[str, Any]:
        """The body for this model, with the agent's system prompt."""
        body = {**self.body} if _MODEL in self.path else {**self.body, "model": model}
        if prompt:
            self.prompt(body, prompt)
        return body


def _named(path: str) -> Callable[[bytes], RelayRequest | Fault]:
    """A request at one of OpenAI's addresses: JSON that names its model."""

    def read(raw: bytes) -> RelayRequest | Fault:
        body = read_body(raw)
        if isinstance(body, Fault):
            return body
        model = read_model(body)
        if isinstance(model, Fault):
            return model
        return RelayRequest(model, body, path, OPENAI)

    return read


def _counted(raw: bytes) -> RelayRequest | Fault:
    """A conversation whose tokens Anthropic is to count."""
    asked = read_count(raw)
    if isinstance(asked, Fault):
        return asked
    return RelayRequest(asked.model, asked.body, "/v1/messages/count_tokens", frozenset({DIALECT}), add_prompt)


def _counted_by_gemini(asked: ParsedAddress, raw: bytes) -> RelayRequest | Fault:
    """A conversation whose tokens Google is to count; the model that it may name within is the one of the address."""
    body = read_body(raw)
    if isinstance(body, Fault):
        return body
    body = camel(dict(body))
    if isinstance(request := body.get("generateContentRequest"), dict):
        body["generateContentRequest"] = {name: value for name, value in request.items() if name != "model"}
    return RelayRequest(asked.model, body, f"{_MODEL}:{COUNT}", frozenset({GEMINI}), add_prompt_to_count)


RelayedReader = Callable[[bytes], RelayRequest | Fault]


def relayed_at(path: str) -> RelayedReader | None:
    """What reads a request at an address; None where none is handed on."""
    if (asked := parse_address(path)) is not None:
        return partial(_counted_by_gemini, asked) if asked.method == COUNT else None
    return RELAYED.get(path)


#: What is read at each address.
RELAYED: Mapping[str, RelayedReader] = {
    "/v1/messages/count_tokens": _counted,
    **{
        f"/v1{path}": _named(path)
        for path in (
            "/embeddings",
            "/completions",
            "/moderations",
            "/images/generations",
            "/audio/speech",
            "/rerank",
        )
    },
}


_ID = r"[A-Za-z0-9_-]{1,200}"
#: Each address as it is counted, what it looks like, and the methods it takes.
_ROUTES: tuple[tuple[str, re.Pattern[str], tuple[str, ...]], ...] = tuple(
    (address, re.compile(address.replace("{id}", _ID)), methods)
    for address, methods in (
        ("/v1/files", ("GET", "POST")),
        ("/v1/files/{id}", ("GET", "DELETE")),
        ("/v1/files/{id}/content", ("GET",)),
        ("/v1/batches", ("GET", "POST")),
        ("/v1/batches/{id}", ("GET",)),
        ("/v1/batches/{id}/cancel", ("POST",)),
    )
)
FILES = "/v1/files"
BATCHES = "/v1/batches"
CONNECTION = b"x-whystop-connection"  #: the header that names a connection
CONNECTION_HEADER = CONNECTION.decode()


@dataclass(frozen=True, slots=True)
class FileRoute:
    """One address. `label`: with `{id}` in the place of an id, for the metrics."""

    path: str
    label: str
    methods: tuple[str, ...]


def file_route(path: str) -> FileRoute | None:
    """What is at an address; None: no file and no batch."""
    found = ((label, methods) for label, pattern, methods in _ROUTES if pattern.fullmatch(path))
    return next((FileRoute(path, label, methods) for label, methods in found), None)


def connection_named(headers: Iterable[tuple[bytes, bytes]]) -> str | None:
    """The connection that the caller names in a header."""
    return next((value.decode("latin-1").strip() or None for name, value in headers if name == CONNECTION), None)
