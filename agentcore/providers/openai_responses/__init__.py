"""OpenAI's Responses API, as OpenAI, Azure and a few compatible servers speak it."""

from collections.abc import Mapping
from typing import Any

from agentcore.errors import ProviderError
from agentcore.messages import ChatRequest, ChatResponse
from agentcore.providers.openai_responses import request as openai_responses_request
from agentcore.providers.openai_responses.answer import ResponsesAnswer
from agentcore.providers.wire import error_objects, words
from agentcore.providers.wire.event_answers import EventDecoder, take_body
from agentcore.reasons import NormalizedStopReason


class OpenAIResponses:
    """The codec. `hint_role` in `ChatRequest.extra` (default `system`) is the role of a continuation's hint; the other
    settings of codecs are passed over. All other keys go into the body.
    """

    name = "openai_responses"
    output_floor = 16  # a smaller cap is a 400

    def path(self, _request: ChatRequest, /) -> str:
        return "/responses"

    def headers(self, api_key: str | None = None, /) -> dict[str, str]:
        headers = {"Content-Type": "application/json"}
        return headers | {"Authorization": f"Bearer {api_key}"} if api_key else headers

    def encode_request(self, request: ChatRequest, /) -> dict[str, Any]:
        return openai_responses_request.encode_request(request)

    def decode_response(self, payload: dict[str, Any], /, *, max_tokens: int | None = None) -> ChatResponse:
        """One whole answer. `max_tokens`: the cap that was asked for, evidence beside the stop reason."""
        answer = ResponsesAnswer(self.name, max_tokens)
        take_body(answer, payload)
        return answer.response(closed=True)

    def decode_error(self, status: int, headers: Mapping[str, str], body: bytes, /) -> ProviderError:
        return error_objects.decode_error(status, headers, body)

    def stream_decoder(self, *, max_tokens: int | None = None) -> EventDecoder:
        """Reads the answer to a streaming request. `max_tokens`: as in `decode_response`."""
        return EventDecoder(ResponsesAnswer(self.name, max_tokens))

    def normalize(self, raw: str | None, /) -> NormalizedStopReason:
        """The table alone: statuses, reasons of incomplete answers, and codes of errors that are stop reasons."""
        return words.normalize(raw)
