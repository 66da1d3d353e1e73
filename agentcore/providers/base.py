"""The interface of a provider codec: a pure translation between values and one vendor's wire format."""

from collections.abc import Mapping
from typing import Any, Protocol

from agentcore.errors import ProviderError
from agentcore.messages import ChatRequest, ChatResponse, Delta
from agentcore.reasons import NormalizedStopReason


class StreamDecoder(Protocol):
    """Decodes bytes in any chunking. For invalid input it raises `DecodeError` and nothing else."""

    @property
    def ended(self) -> bool:
        """Whether the closing event of the stream was received, if the dialect has one. The connection may then stay
        open."""

    def feed(self, data: bytes) -> list[Delta]:
        """Feed more bytes, in any chunking. Returns the increments that can be shown. Raises `DecodeError`."""

    def close(self) -> ChatResponse:
        """Return the answer received so far, with `incomplete_stream` set if its end is missing. Raises
        `DecodeError`."""


class Provider(Protocol):
    """The codec of one API dialect. Codecs do no I/O and do not import each other."""

    name: str  #: as in `PROVIDERS` and on connections
    output_floor: int  #: the smallest output limit the API takes, in tokens
    demands_cap: bool  #: whether the API refuses a request without an output limit
    can_prefill: bool  #: whether models behind this API can continue a final assistant message (prefill)

    def path(self, request: ChatRequest) -> str:
        """The path after the connection's base URL, percent-encoded where a model's name requires it."""

    def headers(self, api_key: str | None = None) -> dict[str, str]:
        """The headers of a request. Without a key, no authentication header is sent."""

    def encode_request(self, request: ChatRequest) -> dict[str, Any]:
        """The body, as JSON types, under the dialect's own names."""

    def decode_response(self, payload: dict[str, Any], *, max_tokens: int | None = None) -> ChatResponse:
        """Decode one complete answer. `max_tokens`, the cap of the call, is evidence of truncation. Raises
        `DecodeError`."""

    def decode_error(self, status: int, headers: Mapping[str, str], body: bytes) -> ProviderError:
        """Decode a response with an error status. Never raises. Header names may have any case."""

    def stream_decoder(self, *, max_tokens: int | None = None) -> StreamDecoder:
        """Return a decoder for one answer. `max_tokens`, the cap of the call if known, is evidence of truncation."""
        ...

    def normalize(self, raw: str | None) -> NormalizedStopReason:
        """The meaning of a raw stop reason by the dialect's table alone. Case and surrounding whitespace are
        ignored."""
