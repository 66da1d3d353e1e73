"""OpenAI's Responses API, for OpenAI, Azure and compatible servers (providers.md §1.2)."""

from typing import Any

from agentcore.argument_validation import required
from agentcore.messages import ChatRequest
from agentcore.providers.openai_responses import request as openai_responses_request
from agentcore.providers.openai_responses.answer import ResponsesAnswer
from agentcore.providers.wire.codec import Codec


class OpenAIResponses(Codec):
    """The codec. `hint_role` in `ChatRequest.extra` (default `system`) is the role of a continuation's hint; the
    settings of other codecs are ignored. All other keys go into the body.

    `normalize` knows statuses, reasons of incomplete answers, and codes of errors that are stop reasons.
    """

    name = "openai_responses"
    output_floor = 16  # a smaller cap is a 400
    can_prefill = False

    def path(self, request: ChatRequest) -> str:
        """`/responses`, after a base URL that ends in the version, as in `/v1`."""
        required(request, ChatRequest, "request")
        return "/responses"

    def encode_request(self, request: ChatRequest) -> dict[str, Any]:
        """The body of a response: `input` items, `instructions`, `max_output_tokens`, tools, the envelope as
        `text.format`.
        """
        required(request, ChatRequest, "request")
        return openai_responses_request.encode_request(request)

    def _answer(self, max_tokens: int | None, /) -> ResponsesAnswer:
        return ResponsesAnswer(self.name, max_tokens)
