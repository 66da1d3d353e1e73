"""The JSON protocol over the OpenAI chat API, for servers (llama.cpp) whose models have no tool calls of their own.

Source: spec/agent-loop-stop-reason.ja.md.
"""

from typing import Any

from agentcore.argument_validation import required
from agentcore.messages import ChatRequest
from agentcore.providers.llama import request as llama_request
from agentcore.providers.llama.answer import Answer
from agentcore.providers.wire.codec import Codec


class Llama(Codec):
    """The codec. `ChatRequest.extra` may steer it: `hint_role` and `max_tokens_field` as for OpenAI, `prefill` says
    that the server's template continues a final assistant message. All other keys go into the body.
    """

    name = "llama"

    def path(self, request: ChatRequest) -> str:
        """`/chat/completions`, after a base URL that ends in the version, as in `/v1`."""
        required(request, ChatRequest, "request")
        return "/chat/completions"

    def encode_request(self, request: ChatRequest) -> dict[str, Any]:
        """The body of a chat completion without `tools`: the system prompt explains the protocol and its tools."""
        required(request, ChatRequest, "request")
        return llama_request.encode_request(request)

    def _answer(self, max_tokens: int | None, /) -> Answer:
        return Answer(self.name, max_tokens)
