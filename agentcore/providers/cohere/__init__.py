"""Cohere's chat API, version 2."""

from collections.abc import Mapping
from typing import Any

from agentcore.argument_validation import required
from agentcore.errors import ProviderError
from agentcore.messages import ChatRequest
from agentcore.providers.cohere import request as cohere_request
from agentcore.providers.cohere import stop_reasons as cohere_words
from agentcore.providers.cohere.answer import CohereAnswer, find_error
from agentcore.providers.wire import error_objects
from agentcore.providers.wire.codec import Codec
from agentcore.reasons import NormalizedStopReason


class Cohere(Codec):
    """The codec (providers.md §1.9). `ChatRequest.extra` goes into the body, but for the settings of codecs
    (`hint_role` …). This API has no prefill: a truncated answer is always continued by a user message.
    """

    name = "cohere"
    can_prefill = False

    def path(self, request: ChatRequest) -> str:
        """One address for all models."""
        required(request, ChatRequest, "request")
        return "/v2/chat"

    def encode_request(self, request: ChatRequest) -> dict[str, Any]:
        """The body: `max_tokens`, `messages` with the system prompt first, each tool result a message of its own."""
        required(request, ChatRequest, "request")
        return cohere_request.encode_request(request)

    def _answer(self, max_tokens: int | None, /) -> CohereAnswer:
        return CohereAnswer(self.name, max_tokens)

    def decode_error(self, status: int, headers: Mapping[str, str], body: bytes) -> ProviderError:
        """What a failed call means, by its status and its flat `{message, error_type?}`. Never raises."""
        return error_objects.decode_error(status, headers, body, find_error)

    def normalize(self, raw: str | None) -> NormalizedStopReason:
        """The table of `stop_reasons.STOP_REASONS` alone; UNKNOWN for any other value."""
        return cohere_words.normalize(raw)
