"""Anthropic's Messages API, as Anthropic, Bedrock's InvokeModel and the servers that imitate it speak it."""

from collections.abc import Mapping
from typing import Any

from agentcore.errors import ProviderError
from agentcore.messages import ChatRequest, ChatResponse
from agentcore.providers.anthropic import request as anthropic_request
from agentcore.providers.anthropic import words as anthropic_words
from agentcore.providers.anthropic.answer import MessageAnswer
from agentcore.providers.wire import named_errors
from agentcore.providers.wire.event_answers import EventDecoder, take_body
from agentcore.reasons import NormalizedStopReason

_VERSION = "2023-06-01"


class Anthropic:
    """The codec. `ChatRequest.extra` may steer it: `prefill`, where true, lets the model go on writing a cut answer
    itself, which Claude up to 4.5 can do without thinking. All other keys go into the body.
    """

    name = "anthropic"
    output_floor = 1

    def path(self, _request: ChatRequest, /) -> str:
        return "/v1/messages"

    def headers(self, api_key: str | None = None, /) -> dict[str, str]:
        headers = {"Content-Type": "application/json", "anthropic-version": _VERSION}
        return headers | {"x-api-key": api_key} if api_key else headers

    def encode_request(self, request: ChatRequest, /) -> dict[str, Any]:
        return anthropic_request.encode_request(request)

    def decode_response(self, payload: dict[str, Any], /, *, max_tokens: int | None = None) -> ChatResponse:
        """One whole answer. `max_tokens`: the cap that was asked for, evidence beside the stop reason."""
        answer = MessageAnswer(self.name, max_tokens)
        take_body(answer, payload)
        return answer.response(closed=True)

    def decode_error(self, status: int, headers: Mapping[str, str], body: bytes, /) -> ProviderError:
        return named_errors.decode_error(status, headers, body)

    def stream_decoder(self, *, max_tokens: int | None = None) -> EventDecoder:
        """Reads the answer to a streaming request. `max_tokens`: as in `decode_response`."""
        return EventDecoder(MessageAnswer(self.name, max_tokens), messages=True)

    def normalize(self, raw: str | None, /) -> NormalizedStopReason:
        return anthropic_words.normalize(raw)
