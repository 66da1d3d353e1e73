"""Asks the simulator in a dialect, through that dialect's own codec and real HTTP."""

import http.client
import json
from dataclasses import dataclass, replace
from typing import Any

from agentcore.continuation_merge import merge_continuation
from agentcore.errors import ProviderError
from agentcore.machine.judges.continue_pending import HINT
from agentcore.messages import ChatRequest, ChatResponse, Continuation, Message, Role, ToolSpec
from agentcore.providers import get_provider
from agentcore.reasons import NormalizedStopReason

BASES = {"openai": "/v1", "openai_responses": "/v1", "llama": "/llama/v1"}  # the others' paths hold their version
QUESTION = Message(Role.USER, "Why do agents stop?")
CALCULATOR = ToolSpec(
    "calculator", "Works out an expression.", {"type": "object", "properties": {"expression": {"type": "string"}}}
)


@dataclass(frozen=True, slots=True)
class Talk:
    """Requests in one dialect. `flat`: Gemini is asked for an array instead of events."""

    port: int
    dialect: str
    stream: bool
    flat: bool = False
    patience: float = 30.0  #: seconds

    def ask(self, model: str, **fields: Any) -> ChatResponse | ProviderError:
        request = ChatRequest(model, (QUESTION,), 1000, stream=self.stream)
        return self.send(replace(request, **fields))

    def send(self, request: ChatRequest) -> ChatResponse | ProviderError:
        codec = get_provider(self.dialect)
        path = BASES.get(self.dialect, "") + codec.path(request)
        status, headers, body = self._post(
            path.partition("?")[0] if self.flat else path,
            json.dumps(codec.encode_request(request)).encode(),
            codec.headers(),
        )
        if status != 200 or headers.get("content-type", "").startswith("text/html"):
            return codec.decode_error(status, headers, body)
        if not self.stream:
            try:
                return codec.decode_response(json.loads(body), max_tokens=request.max_tokens)
            except json.JSONDecodeError:
                pass  # a body that breaks off is read as far as it goes, as a driver does
        decoder = codec.stream_decoder(max_tokens=request.max_tokens)
        deltas = [delta for at in range(0, len(body), 777) for delta in decoder.feed(body[at : at + 777])]
        response = decoder.close()
        if self.stream:
            assert "".join(delta.text for delta in deltas) == response.text
        return response

    def chain(self, model: str, max_tokens: int, **fields: Any) -> tuple[str, list[ChatResponse]]:
        """The merged text, and every answer, when a cut answer is continued until it ends."""
        text, answers = "", list[ChatResponse]()
        while not answers or answers[-1].stop_reason is NormalizedStopReason.MAX_TOKENS:
            continuation = Continuation(text, HINT) if answers else None
            answer = self.ask(model, max_tokens=max_tokens, continuation=continuation, **fields)
            assert isinstance(answer, ChatResponse), answer
            answers.append(answer)
            text = merge_continuation(text, answer.text).text
        return text, answers

    def _post(self, path: str, body: bytes, headers: dict[str, str]) -> tuple[int, dict[str, str], bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=self.patience)
        try:
            connection.request("POST", path, body, headers | {"x-whystop-attempt": "1", "x-sim-delay-ms": "0"})
            response = connection.getresponse()
            try:
                data = response.read()
            except http.client.IncompleteRead as broken:
                data = broken.partial
            return response.status, {name.lower(): value for name, value in response.getheaders()}, data
        finally:
            connection.close()
