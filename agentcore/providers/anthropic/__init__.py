"""Anthropic's Messages API, for Anthropic, Bedrock's InvokeModel and compatible servers."""

from collections.abc import Mapping
from typing import Any

from agentcore.argument_validation import optional, required
from agentcore.errors import ProviderError
from agentcore.messages import ChatRequest
from agentcore.providers.anthropic import request as anthropic_request
from agentcore.providers.anthropic import stop_reasons as anthropic_words
from agentcore.providers.anthropic.answer import MessageAnswer
from agentcore.providers.wire import named_errors
from agentcore.providers.wire.codec import Codec
from agentcore.providers.wire.stream_decoder import EventDecoder
from agentcore.reasons import NormalizedStopReason

_VERSION = "2023-06-01"


class Anthropic(Codec):
    """The codec (providers.md §1.6). `ChatRequest.extra` may steer it: `prefill`, where true, lets the model continue a
    truncated answer itself, which Claude up to 4.5 supports without reasoning. All other keys go into the body.
    """

    name = "anthropic"
    demands_cap = True

    def path(self, request: ChatRequest) -> str:
        """One address for all models; the base URL ends before `/v1`."""
        required(request, ChatRequest, "request")
        return "/v1/messages"

    def headers(self, api_key: str | None = None) -> dict[str, str]:
        """The API's version, and the key in a header of its own."""
        optional(api_key, str, "api_key")
        headers = {"Content-Type": "application/json", "anthropic-version": _VERSION}
        return headers | {"x-api-key": api_key} if api_key else headers

    def encode_request(self, request: ChatRequest) -> dict[str, Any]:
        """The body: `max_tokens`, `system`, `messages` with the results of one round of calls in one user message."""
        required(request, ChatRequest, "request")
        return anthropic_request.encode_request(request)

    def _answer(self, max_tokens: int | None, /) -> MessageAnswer:
        return MessageAnswer(self.name, max_tokens)

    def decode_error(self, status: int, headers: Mapping[str, str], body: bytes) -> ProviderError:
        """What a failed call means, by the error's type; on Bedrock by the exception's name. Never raises."""
        return named_errors.decode_error(status, headers, body)

    def stream_decoder(self, *, max_tokens: int | None = None) -> EventDecoder:
        """Reads server-sent events, or Bedrock's binary messages with these events in their `bytes`."""
        return EventDecoder(self._answer(max_tokens), messages=True)

    def normalize(self, raw: str | None) -> NormalizedStopReason:
        """The table of `stop_reasons.STOP_REASONS` alone; UNKNOWN for any other value."""
        return anthropic_words.normalize(raw)
