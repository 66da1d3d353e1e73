"""Gemini's generateContent, at Google AI Studio and at Vertex."""

from collections.abc import Mapping
from typing import Any

from agentcore.argument_validation import optional, required
from agentcore.errors import ProviderError
from agentcore.messages import ChatRequest, ChatResponse
from agentcore.providers.gemini import answer as gemini_errors
from agentcore.providers.gemini import request as gemini_request
from agentcore.providers.gemini import stop_reasons as gemini_words
from agentcore.providers.gemini.answer import Answer
from agentcore.providers.wire.codec import Codec
from agentcore.providers.wire.stream_decoder import ObjectDecoder, take_body
from agentcore.reasons import NormalizedStopReason

_ACCESS_TOKEN = "ya29."  # noqa: S105  how Google's OAuth tokens begin, which Vertex takes


class Gemini(Codec):
    """The codec (providers.md §1.7). `ChatRequest.extra` may steer it: `prefill` says that the model continues a final
    assistant message; `uncapped`, where true, leaves the cap to the provider. All other keys go into the body, those of
    `generationConfig` beside ours.
    """

    name = "gemini"

    def path(self, request: ChatRequest) -> str:
        """The path contains the model: `models/…` and `tunedModels/…` at AI Studio, `projects/…` at Vertex."""
        required(request, ChatRequest, "request")
        return gemini_request.path(request)

    def headers(self, api_key: str | None = None) -> dict[str, str]:
        """An API key in Google's own header; an OAuth access token as a bearer's."""
        optional(api_key, str, "api_key")
        if api_key and api_key.startswith(_ACCESS_TOKEN):
            return super().headers(api_key)
        headers = {"Content-Type": "application/json"}
        return headers | {"x-goog-api-key": api_key} if api_key else headers

    def encode_request(self, request: ChatRequest) -> dict[str, Any]:
        """The body: `generationConfig.maxOutputTokens`, `systemInstruction`, `contents`, `tools`."""
        required(request, ChatRequest, "request")
        return gemini_request.encode_request(request)

    def _answer(self, max_tokens: int | None, /) -> Answer:
        return Answer(self.name, max_tokens)

    def decode_response(self, payload: dict[str, Any], *, max_tokens: int | None = None) -> ChatResponse:
        """One whole answer, or an array of chunks that was kept whole; DecodeError for another dialect's.

        `max_tokens`: the cap that was asked for, evidence beside the stop reason.
        """
        answer = self._answer(max_tokens)
        chunks: list[Any] = payload if isinstance(payload, list) else []
        for chunk in chunks or [payload]:
            take_body(answer, chunk)
        return answer.response(closed=True)

    def decode_error(self, status: int, headers: Mapping[str, str], body: bytes) -> ProviderError:
        """What a failed call means, by its status, its reason and its `RetryInfo`. Never raises."""
        return gemini_errors.decode_error(status, headers, body)

    def stream_decoder(self, *, max_tokens: int | None = None) -> ObjectDecoder:
        """Reads server-sent events (`alt=sse`) or the chunks of a JSON array, each as soon as it is complete."""
        return ObjectDecoder(self._answer(max_tokens))

    def normalize(self, raw: str | None) -> NormalizedStopReason:
        """The meaning of a raw stop reason without its answer, also as a number. UNKNOWN if it is not in the table."""
        return gemini_words.normalize(raw)
