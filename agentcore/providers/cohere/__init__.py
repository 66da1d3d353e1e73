"""Cohere's chat API, version 2."""

from collections.abc import Mapping
from typing import Any

from agentcore.errors import ProviderError
from agentcore.messages import ChatRequest, ChatResponse
from agentcore.providers.cohere import request as cohere_request
from agentcore.providers.cohere import words as cohere_words
from agentcore.providers.cohere.answer import CohereAnswer, find_error
from agentcore.providers.wire import error_objects
from agentcore.providers.wire.event_answers import EventDecoder, take_body
from agentcore.reasons import NormalizedStopReason


class Cohere:
    """The codec. `ChatRequest.extra` goes into the body, but for the settings of codecs (`hint_role` …)."""

    name = "cohere"
    output_floor = 1

    def path(self, _request: ChatRequest, /) -> str:
        return "/v2/chat"

    def headers(self, api_key: str | None = None, /) -> dict[str, str]:
        headers = {"Content-Type": "application/json"}
        return headers | {"Authorization": f"Bearer {api_key}"} if api_key else headers

    def encode_request(self, request: ChatRequest, /) -> dict[str, Any]:
        return cohere_request.encode_request(request)

    def decode_response(self, payload: dict[str, Any], /, *, max_tokens: int | None = None) -> ChatResponse:
        """One whole answer. `max_tokens`: the cap that was asked for, evidence beside the stop reason."""
        answer = CohereAnswer(self.name, max_tokens)
        take_body(answer, payload)
        return answer.response(closed=True)

    def decode_error(self, status: int, headers: Mapping[str, str], body: bytes, /) -> ProviderError:
        return error_objects.decode_error(status, headers, body, find_error)

    def stream_decoder(self, *, max_tokens: int | None = None) -> EventDecoder:
        """Reads the answer to a streaming request. `max_tokens`: as in `decode_response`."""
        return EventDecoder(CohereAnswer(self.name, max_tokens))

    def normalize(self, raw: str | None, /) -> NormalizedStopReason:
        return cohere_words.normalize(raw)
