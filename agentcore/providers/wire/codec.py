"""What all codecs share: JSON over HTTP with a bearer key, an answer gathered by the dialect's own rules.

A codec says where its requests go, how one is written and what gathers an answer (`path`, `encode_request`, `_answer`);
it overrides what its dialect does otherwise.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

from agentcore.argument_validation import optional
from agentcore.errors import ProviderError
from agentcore.messages import ChatRequest, ChatResponse
from agentcore.providers.wire import error_objects, stop_reasons
from agentcore.providers.wire.stream_decoder import EventAnswer, EventDecoder, take_body
from agentcore.reasons import NormalizedStopReason


class Codec(ABC):
    """One API dialect; `agentcore.providers.base.Provider` says what each method promises."""

    name: str
    output_floor: int = 1
    demands_cap: bool = False
    can_prefill: bool = True

    @abstractmethod
    def path(self, request: ChatRequest) -> str:
        """Where a request goes, after the base URL of a connection; begins with a slash."""

    @abstractmethod
    def encode_request(self, request: ChatRequest) -> dict[str, Any]:
        """The body of a request, ready for JSON."""

    @abstractmethod
    def _answer(self, max_tokens: int | None, /) -> EventAnswer:
        """What gathers one answer, given the cap it was asked with."""

    def headers(self, api_key: str | None = None) -> dict[str, str]:
        """The headers of a request: no header for a key where there is none."""
        optional(api_key, str, "api_key")
        headers = {"Content-Type": "application/json"}
        return headers | {"Authorization": f"Bearer {api_key}"} if api_key else headers

    def decode_response(self, payload: dict[str, Any], *, max_tokens: int | None = None) -> ChatResponse:
        """One whole answer; DecodeError for another dialect's. `max_tokens`: the cap that was asked for, as evidence
        beside the stop reason.
        """
        answer = self._answer(max_tokens)
        take_body(answer, payload)
        return answer.response(closed=True)

    def decode_error(self, status: int, headers: Mapping[str, str], body: bytes) -> ProviderError:
        """What a failed call means, from its status, its headers and its body; never raises."""
        return error_objects.decode_error(status, headers, body)

    def stream_decoder(self, *, max_tokens: int | None = None) -> EventDecoder:
        """Reads the answer to a streaming request, in any chunking. `max_tokens`: as in `decode_response`.

        Any vendor's events can come in AWS's messages too, where its models run on Bedrock.
        """
        return EventDecoder(self._answer(max_tokens), messages=True)

    def normalize(self, raw: str | None) -> NormalizedStopReason:
        """The meaning of a raw stop reason without its answer. UNKNOWN if it is not in the table."""
        return stop_reasons.normalize(raw)
