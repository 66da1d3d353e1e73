"""Reads an answer that is a row of JSON objects: one per line, in an array, in events, or one alone."""

from agentcore.messages import ChatResponse, Delta
from agentcore.providers.wire.event_decoder import EventAnswer, EventDecoder, not_ours, take_body
from agentcore.providers.wire.framing import Framing, ObjectReader
from agentcore.providers.wire.json_text import read_cut_json, read_json


class ObjectDecoder(EventDecoder):
    """As `EventDecoder`, but each object outside events is a piece of the answer, taken as soon as it is whole."""

    def __init__(self, answer: EventAnswer) -> None:
        super().__init__(answer)
        self._objects = ObjectReader()
        self._seen = 0

    def _finish(self) -> ChatResponse:
        if self._framing is not Framing.DOCUMENT:
            return super()._finish()
        rest = self._objects.rest
        if rest and not self._seen:
            take_body(self._answer, read_cut_json(rest))
            return self._answer.response(closed=False, cut_body=True)
        if not self._recognized:
            raise not_ours(self._answer)
        alone = self._seen == 1 and self._head.startswith(b"{") and not rest
        return self._answer.response(closed=self._objects.closed or alone)

    def _take_document(self, data: bytes) -> list[Delta]:
        objects = self._objects.feed(data)
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
