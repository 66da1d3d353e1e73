"""What a provider codec is: a pure translation between our values and one vendor's wire, both ways."""

from collections.abc import Mapping
from typing import Any, Protocol

from agentcore.errors import ProviderError
from agentcore.messages import ChatRequest, ChatResponse, Delta
from agentcore.reasons import NormalizedStopReason


class StreamDecoder(Protocol):
    """Reads wire bytes in any chunking. It never raises on what a provider sends, but `DecodeError`."""

    def feed(self, data: bytes, /) -> list[Delta]: ...

    def close(self) -> ChatResponse: ...


class Provider(Protocol):
    """One API dialect. Codecs do no I/O, and do not know each other."""

    name: str
    output_floor: int  #: the smallest output limit the API takes, in tokens

    def path(self, request: ChatRequest, /) -> str: ...

    def headers(self, api_key: str | None = None, /) -> dict[str, str]: ...

    def encode_request(self, request: ChatRequest, /) -> dict[str, Any]: ...

    def decode_response(self, payload: dict[str, Any], /, *, max_tokens: int | None = None) -> ChatResponse: ...

    def decode_error(self, status: int, headers: Mapping[str, str], body: bytes, /) -> ProviderError: ...

    def stream_decoder(self, *, max_tokens: int | None = None) -> StreamDecoder:
        """A decoder for one answer. The cap it was asked with, where known, corroborates truncation."""
        ...

    def normalize(self, raw: str | None, /) -> NormalizedStopReason: ...
