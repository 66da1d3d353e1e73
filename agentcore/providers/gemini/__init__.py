"""Gemini's generateContent, at Google AI Studio and at Vertex."""

from collections.abc import Mapping
from typing import Any

from agentcore.errors import ProviderError
from agentcore.messages import ChatRequest, ChatResponse
from agentcore.providers.gemini import errors as gemini_errors
from agentcore.providers.gemini import request as gemini_request
from agentcore.providers.gemini import words as gemini_words
from agentcore.providers.gemini.answer import Answer
from agentcore.providers.wire.event_answers import take_body
from agentcore.providers.wire.object_answers import ObjectDecoder
from agentcore.reasons import NormalizedStopReason


class Gemini:
    """The codec. `ChatRequest.extra` may steer it: `prefill` says that the model goes on writing a last message of its
    own. All other keys go into the body, those of `generationConfig` beside ours.
    """

    name = "gemini"
    output_floor = 1

    def path(self, request: ChatRequest, /) -> str:
        return gemini_request.path(request)

    def headers(self, api_key: str | None = None, /) -> dict[str, str]:
        headers = {"Content-Type": "application/json"}
        return headers | {"x-goog-api-key": api_key} if api_key else headers

    def encode_request(self, request: ChatRequest, /) -> dict[str, Any]:
        return gemini_request.encode_request(request)

    def decode_response(self, payload: dict[str, Any], /, *, max_tokens: int | None = None) -> ChatResponse:
        """One whole answer. `max_tokens`: the cap that was asked for, evidence beside the stop reason."""
        answer = Answer(self.name, max_tokens)
        chunks: list[Any] = payload if isinstance(payload, list) else []  # an array is a stream that was kept whole
        for chunk in chunks or [payload]:
            take_body(answer, chunk)
        return answer.response(closed=True)

    def decode_error(self, status: int, headers: Mapping[str, str], body: bytes, /) -> ProviderError:
        return gemini_errors.decode_error(status, headers, body)

    def stream_decoder(self, *, max_tokens: int | None = None) -> ObjectDecoder:
        """Reads the answer to a streaming request. `max_tokens`: as in `decode_response`."""
        return ObjectDecoder(Answer(self.name, max_tokens))

    def normalize(self, raw: str | None, /) -> NormalizedStopReason:
        return gemini_words.normalize(raw)
