"""Bedrock's Converse and ConverseStream; also Nova's answers to InvokeModel, which have the same shape.

Requests are signed (SigV4) by whoever sends them; a key given here is one of Bedrock's own API keys.
"""

from collections.abc import Mapping
from typing import Any

from agentcore.errors import ProviderError
from agentcore.messages import ChatRequest, ChatResponse
from agentcore.providers.bedrock import request as bedrock_request
from agentcore.providers.bedrock import words as bedrock_words
from agentcore.providers.bedrock.answer import ConverseAnswer
from agentcore.providers.wire import named_errors
from agentcore.providers.wire.event_answers import EventDecoder, take_body
from agentcore.reasons import NormalizedStopReason

_UNRESERVED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")


class Bedrock:
    """The codec. `ChatRequest.extra` may steer it: `prefill`, where true, lets the model go on writing a cut answer
    itself, where the model behind Bedrock can. All other keys go into the body.
    """

    name = "bedrock"
    output_floor = 1

    def path(self, request: ChatRequest, /) -> str:
        return f"/model/{_percent_encoded(request.model)}/converse{'-stream' * request.stream}"

    def headers(self, api_key: str | None = None, /) -> dict[str, str]:
        headers = {"Content-Type": "application/json"}
        return headers | {"Authorization": f"Bearer {api_key}"} if api_key else headers

    def encode_request(self, request: ChatRequest, /) -> dict[str, Any]:
        return bedrock_request.encode_request(request)

    def decode_response(self, payload: dict[str, Any], /, *, max_tokens: int | None = None) -> ChatResponse:
        """One whole answer. `max_tokens`: the cap that was asked for, evidence beside the stop reason."""
        answer = ConverseAnswer(self.name, max_tokens)
        take_body(answer, payload)
        return answer.response(closed=True)

    def decode_error(self, status: int, headers: Mapping[str, str], body: bytes, /) -> ProviderError:
        return named_errors.decode_error(status, headers, body)

    def stream_decoder(self, *, max_tokens: int | None = None) -> EventDecoder:
        """Reads the answer to a streaming request. `max_tokens`: as in `decode_response`."""
        return EventDecoder(ConverseAnswer(self.name, max_tokens), messages=True)

    def normalize(self, raw: str | None, /) -> NormalizedStopReason:
        return bedrock_words.normalize(raw)


def _percent_encoded(text: str) -> str:
    """A model's name or ARN as one segment of a path (RFC 3986: unreserved characters stay)."""
    return "".join(chr(byte) if byte in _UNRESERVED else f"%{byte:02X}" for byte in text.encode())
