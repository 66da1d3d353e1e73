"""OpenAI chat completions, as OpenAI and some thirty compatible servers speak it."""

from collections.abc import Mapping
from typing import Any

from agentcore.errors import ProviderError
from agentcore.messages import ChatRequest, ChatResponse
from agentcore.providers.openai import request as openai_request
from agentcore.providers.openai.answer import Answer
from agentcore.providers.wire import error_objects, words
from agentcore.providers.wire.event_answers import EventDecoder, take_body
from agentcore.reasons import NormalizedStopReason


class OpenAI:
    """The codec. `ChatRequest.extra` may steer it: `hint_role` (default `system`) is the role of a continuation's
    hint, `max_tokens_field` (default `max_tokens`; OpenAI's reasoning models want `max_completion_tokens`) the key of
    the cap. All other keys go into the body.
    """

    name = "openai"
    output_floor = 2  # a cap of one token is a 400 on reasoning models

    def path(self, _request: ChatRequest, /) -> str:
        return "/chat/completions"

    def headers(self, api_key: str | None = None, /) -> dict[str, str]:
        headers = {"Content-Type": "application/json"}
        return headers | {"Authorization": f"Bearer {api_key}"} if api_key else headers

    def encode_request(self, request: ChatRequest, /) -> dict[str, Any]:
        return openai_request.encode_request(request)

    def decode_response(self, payload: dict[str, Any], /, *, max_tokens: int | None = None) -> ChatResponse:
        """One whole answer. `max_tokens`: the cap that was asked for, evidence beside the stop reason."""
        answer = Answer(self.name, max_tokens)
        take_body(answer, payload)
        return answer.response(closed=True)

    def decode_error(self, status: int, headers: Mapping[str, str], body: bytes, /) -> ProviderError:
        return error_objects.decode_error(status, headers, body)

    def stream_decoder(self, *, max_tokens: int | None = None) -> EventDecoder:
        """Reads the answer to a streaming request. `max_tokens`: as in `decode_response`."""
        return EventDecoder(Answer(self.name, max_tokens))

    def normalize(self, raw: str | None, /) -> NormalizedStopReason:
        return words.normalize(raw)
