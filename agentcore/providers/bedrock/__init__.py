"""Bedrock's Converse and ConverseStream; also Nova's answers to InvokeModel, which have the same shape.

The sender signs requests (SigV4); a key given here is one of Bedrock's own API keys.
"""

from collections.abc import Mapping
from typing import Any

from agentcore.argument_validation import required
from agentcore.errors import ProviderError
from agentcore.messages import ChatRequest
from agentcore.providers.bedrock import request as bedrock_request
from agentcore.providers.bedrock import stop_reasons as bedrock_words
from agentcore.providers.bedrock.answer import ConverseAnswer
from agentcore.providers.wire import named_errors
from agentcore.providers.wire.codec import Codec
from agentcore.reasons import NormalizedStopReason

_UNRESERVED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")


class Bedrock(Codec):
    """The codec (providers.md §1.8). `ChatRequest.extra` may steer it: `prefill`, where true, lets the model continue a
    truncated answer itself, if the model behind Bedrock supports it. All other keys go into the body.

    `malformed_tool_use` and `malformed_model_output` are always read as a broken call: an answer does not say which
    tools were offered. A caller without tools knows that no call was possible; the machine takes this into account.
    """

    name = "bedrock"

    def path(self, request: ChatRequest) -> str:
        """The model's id or ARN is one segment of the path, percent-encoded whole."""
        required(request, ChatRequest, "request")
        model = _percent_encoded(request.model)
        if not model.strip("."):  # it would lead to another address; encoded once, it is still read as dots
            model = model.replace(".", "%252E")
        return f"/model/{model}/converse{'-stream' * request.stream}"

    def encode_request(self, request: ChatRequest) -> dict[str, Any]:
        """The body of Converse: `inferenceConfig.maxTokens`, `system`, `messages` in turn, `toolConfig`."""
        required(request, ChatRequest, "request")
        return bedrock_request.encode_request(request)

    def _answer(self, max_tokens: int | None, /) -> ConverseAnswer:
        return ConverseAnswer(self.name, max_tokens)

    def decode_error(self, status: int, headers: Mapping[str, str], body: bytes) -> ProviderError:
        """What a failed call means, by the exception that `x-amzn-errortype` or the body names. Never raises."""
        return named_errors.decode_error(status, headers, body)

    def normalize(self, raw: str | None) -> NormalizedStopReason:
        """The table of `stop_reasons.STOP_REASONS` alone; UNKNOWN for any other value."""
        return bedrock_words.normalize(raw)


def _percent_encoded(text: str) -> str:
    """A model's name or ARN as one segment of a path (RFC 3986: unreserved characters stay)."""
    return "".join(chr(byte) if byte in _UNRESERVED else f"%{byte:02X}" for byte in text.encode("utf-8", "replace"))
