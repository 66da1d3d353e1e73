"""Ollama's own API: `/api/chat`, one JSON object per line."""

from collections.abc import Mapping
from typing import Any

from agentcore.errors import ProviderError
from agentcore.messages import ChatRequest, ChatResponse
from agentcore.providers.ollama import request as ollama_request
from agentcore.providers.ollama.answer import Answer
from agentcore.providers.wire import error_objects, words
from agentcore.providers.wire.event_answers import take_body
from agentcore.providers.wire.object_answers import ObjectDecoder
from agentcore.reasons import NormalizedStopReason


class Ollama:
    """The codec. `ChatRequest.extra` may steer it: `hint_role` (default `system`) is the role of a continuation's
    hint, `prefill` says that the model's template goes on writing a last assistant message. All other keys go into
    the body, those of `options` beside ours.
    """

    name = "ollama"
    output_floor = 1

    def path(self, _request: ChatRequest, /) -> str:
        return "/api/chat"

    def headers(self, api_key: str | None = None, /) -> dict[str, str]:
        headers = {"Content-Type": "application/json"}
        return headers | {"Authorization": f"Bearer {api_key}"} if api_key else headers

    def encode_request(self, request: ChatRequest, /) -> dict[str, Any]:
        return ollama_request.encode_request(request)

    def decode_response(self, payload: dict[str, Any], /, *, max_tokens: int | None = None) -> ChatResponse:
        """One whole answer. `max_tokens`: the cap that was asked for, evidence beside the stop reason."""
        answer = Answer(self.name, max_tokens)
        take_body(answer, payload)
        return answer.response(closed=True)

    def decode_error(self, status: int, headers: Mapping[str, str], body: bytes, /) -> ProviderError:
        return error_objects.decode_error(status, headers, body)

    def stream_decoder(self, *, max_tokens: int | None = None) -> ObjectDecoder:
        """Reads the answer to a streaming request. `max_tokens`: as in `decode_response`."""
        return ObjectDecoder(Answer(self.name, max_tokens))

    def normalize(self, raw: str | None, /) -> NormalizedStopReason:
        return words.normalize(raw)
