"""OpenAI's Chat Completions API, for OpenAI and compatible servers (providers.md §1.1, §1.3–1.5)."""

from typing import Any

from agentcore.argument_validation import required
from agentcore.messages import ChatRequest
from agentcore.providers.openai import request as openai_request
from agentcore.providers.openai.answer import Answer
from agentcore.providers.wire.codec import Codec
from agentcore.providers.wire.stream_decoder import EventDecoder
from agentcore.providers.wire.text_events import TextEvents


class OpenAI(Codec):
    """The codec. The following keys of `ChatRequest.extra` are settings; all other keys go into the body.

    `hint_role` (default `system`) is the role of a continuation's hint; `max_tokens_field` (default `max_tokens`;
    OpenAI's reasoning models want `max_completion_tokens`) the key of the cap; `uncapped`, where true, leaves it to the
    server. One of these, where true, says that the server continues a final assistant message, so that no hint is sent:
    `prefill` (llama.cpp, Groq) without a further field, `prefix` (Mistral, DeepSeek) by that flag on the message,
    `continue_final_message` (vLLM) by that flag and `add_generation_prompt: false` in the body.
    """

    name = "openai"
    output_floor = 2  # a cap of one token is a 400 on reasoning models

    def path(self, request: ChatRequest) -> str:
        """`/chat/completions`, after a base URL that ends in the version, as in `/v1`."""
        required(request, ChatRequest, "request")
        return "/chat/completions"

    def encode_request(self, request: ChatRequest) -> dict[str, Any]:
        """The body of a chat completion: messages with the system prompt first, the cap, tools, the envelope as a
        `json_schema` response format; usage is asked for where it streams.
        """
        required(request, ChatRequest, "request")
        return openai_request.encode_request(request)

    def stream_decoder(self, *, max_tokens: int | None = None) -> EventDecoder:
        """Return a decoder for a streamed answer. Of chunks that differ only in their text, only the text is parsed."""
        answer = self._answer(max_tokens)
        return EventDecoder(answer, messages=True, texts=TextEvents(answer, b'"content":'))

    def _answer(self, max_tokens: int | None, /) -> Answer:
        return Answer(self.name, max_tokens)
