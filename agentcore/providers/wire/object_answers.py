"""Reads an answer that is a row of JSON objects: one per line, in an array, in events, or one alone."""

from dataclasses import replace

from agentcore.errors import DecodeError
from agentcore.messages import ChatResponse, Delta
from agentcore.providers.wire.event_answers import EventAnswer, EventDecoder, take_body
from agentcore.providers.wire.framing import Framing, ObjectReader
from agentcore.providers.wire.json_text import read_cut_json, read_json
from agentcore.reasons import NormalizedStopReason


class ObjectDecoder(EventDecoder):
    """As `EventDecoder`, but each object outside events is a piece of the answer, taken as soon as it is whole."""

    def __init__(self, answer: EventAnswer) -> None:
        super().__init__(answer)
        self._objects = ObjectReader()
        self._seen = 0

    def feed(self, data: bytes) -> list[Delta]:
        """As `EventDecoder.feed`, but each object is shown as soon as it is whole, however they are strung together."""
        if self._failure is not None:
            raise self._failure
        if self._framing is None:
            data = self._settle_framing(data)
        if self._framing is Framing.DOCUMENT:
            return self._take_objects(self._objects.feed(data))
        return self._take_events(self._events.feed(data)) if self._framing is Framing.EVENTS else []

    def _finish(self) -> ChatResponse:
        if self._framing is not Framing.DOCUMENT:
            return super()._finish()
        rest = self._objects.rest
        if rest and not self._seen:
            take_body(self._answer, read_cut_json(rest))
            return self._answer.response(closed=False, cut_body=True)
        if not self._recognized:
            raise DecodeError(f"The provider answered with JSON that is no {self._answer.noun}. Check the base URL.")
        alone = self._seen == 1 and self._head.startswith(b"{") and not rest
        return self._answer.response(closed=self._objects.closed or alone)

    def _take_objects(self, objects: list[bytes]) -> list[Delta]:
        self._seen += len(objects)
        deltas = []
        for one in objects:
            try:
                delta = self._take_payload("", read_json(one))
            except ValueError:
                continue
            if delta is not None:
                deltas.append(delta)
        return deltas


def without_word_for_calls(response: ChatResponse) -> ChatResponse:
    """For dialects that have no word for a tool call: that calls turn a natural end into one overrides no label."""
    if response.stop_reason is not NormalizedStopReason.TOOL_CALL:
        return response
    return replace(response, diagnostics=tuple(word for word in response.diagnostics if word != "relabelled"))
