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
        """Whether the closing event of a stream was seen, where the dialect has one: the server need not close then."""

    def feed(self, data: bytes) -> list[Delta]:
        """More bytes, in any chunking; what of them can be shown already. Raises `DecodeError`."""

    def close(self) -> ChatResponse:
        """The answer as far as it came; `incomplete_stream` where its end did not. Raises `DecodeError`."""


class Provider(Protocol):
    """The codec of one API dialect. Codecs do no I/O and do not import each other."""

    name: str  #: as in `PROVIDERS` and on connections
    output_floor: int  #: the smallest output limit the API takes, in tokens
    demands_cap: bool  #: whether the API refuses a request without an output limit
    can_prefill: bool  #: whether models behind this API can go on writing a last message of their own

    def path(self, request: ChatRequest) -> str:
        """What follows the connection's base URL, percent-encoded where a model's name needs it."""

    def headers(self, api_key: str | None = None) -> dict[str, str]:
        """Headers of a request; without a key none is sent."""

    def encode_request(self, request: ChatRequest) -> dict[str, Any]:
        """The body, as JSON types, under the dialect's own names."""

    def decode_response(self, payload: dict[str, Any], *, max_tokens: int | None = None) -> ChatResponse:
        """One whole answer. `max_tokens`, the cap it was asked with, corroborates truncation. Raises `DecodeError`."""

    def decode_error(self, status: int, headers: Mapping[str, str], body: bytes) -> ProviderError:
        """An answer of a status that is no success; never raises. Header names in any case."""

    def stream_decoder(self, *, max_tokens: int | None = None) -> StreamDecoder:
        """A decoder for one answer. The cap it was asked with, where known, corroborates truncation."""
        ...

    def normalize(self, raw: str | None) -> NormalizedStopReason:
        """What a native word means by the dialect's table alone; case and blanks around it do not count."""
