"""Ollama's own API: `/api/chat`, one JSON object per line (providers.md §1.4)."""

from typing import Any

from agentcore.argument_validation import required
from agentcore.messages import ChatRequest
from agentcore.providers.ollama import request as ollama_request
from agentcore.providers.ollama.answer import Answer
from agentcore.providers.wire.codec import Codec
from agentcore.providers.wire.stream_decoder import ObjectDecoder


class Ollama(Codec):
    """The codec. `ChatRequest.extra` may steer it: `hint_role` (default `system`) is the role of a continuation's
    hint, `prefill` says that the model's template continues a final assistant message. All other keys go into
    the body, those of `options` beside ours.
    """

    name = "ollama"

    def path(self, request: ChatRequest) -> str:
        """`/api/chat`."""
        required(request, ChatRequest, "request")
        return "/api/chat"

    def encode_request(self, request: ChatRequest) -> dict[str, Any]:
        """The body of a chat: messages, tools, the cap as `options.num_predict`, the envelope's schema as `format`."""
        required(request, ChatRequest, "request")
        return ollama_request.encode_request(request)

    def stream_decoder(self, *, max_tokens: int | None = None) -> ObjectDecoder:
        """Reads the answer to a streaming request: one object per line. `max_tokens`: as in `decode_response`."""
        return ObjectDecoder(self._answer(max_tokens))

    def _answer(self, max_tokens: int | None, /) -> Answer:
        return Answer(self.name, max_tokens)
