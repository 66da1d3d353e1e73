"""Translates a running turn into the caller's stream, sending each part as soon as it is final.

`WholeAnswerSink` tells nothing before the end. `StreamTranslator` tells text as it comes, across attempts, overlaps
removed; calls are
told only once they are whole. Where a later attempt may replace what an earlier one said (a structured answer, a tool
repair, a policy with criteria of its own), text is told once it is judged, or at the end.
"""

from collections.abc import Iterator

from agentcore.machine.accounting import joining
from agentcore.messages import Delta
from agentcore.snapshot import Snapshot
from agentcore.states import State
from dashboard.gateway.serving.response_writer import ResponseWriter
from dashboard.gateway.serving.turn_setup import PreparedCall
from dashboard.gateway.wire.answer_values import EndedTurn, Stream, items_of
from dashboard.gateway.wire.overlap_buffer import OverlapBuffer
from dashboard.live.response_reader import ResponseReader


class WholeAnswerSink:
    """The sink of a call without a stream: nothing is sent before the whole answer."""

    def begins(self, snapshot: Snapshot, reading: ResponseReader) -> None:
        """Send nothing."""

    async def came(self, part: bytes, deltas: list[Delta]) -> None:
        """Send nothing."""

    async def judged(self, snapshot: Snapshot) -> None:
        """Send nothing."""


class StreamTranslator:
    """The sink of a streamed call: sends the answer to the client in the gateway's own events."""

    def __init__(self, begun: PreparedCall, stream: Stream, outgoing: ResponseWriter) -> None:
        self._policy = begun.ruling.policy
        self._stream = stream
        self._items = items_of(stream)
        self._outgoing = outgoing
        # A structured answer is told once it is valid; a criterion may want another one in its place.
        self._at_end = bool(self._policy.criteria) or (
            not begun.observes and begun.started.setup.envelope_schema is not None
        )
        self._observes = begun.observes
        self._told = 0  #: characters of the answer
        self._seam: OverlapBuffer | None = None

    def begins(self, snapshot: Snapshot, reading: ResponseReader) -> None:
        """Choose what is done with the text of this call: join it to the answer so far, send it after the answer, or
        hold it until the call is judged."""
        del reading
        call, policy = snapshot.call, self._policy
        assert call is not None, "a call has begun"
        if self._at_end or call.state is State.REQUEST_TOOL_REPAIR:
            self._seam = None
            return
        existing = None if call.hint is None else snapshot.answer.text
        room = snapshot.limits.max_total_output_chars - snapshot.spent.output_chars
        tools = snapshot.asked.tools if snapshot.revision and not self._observes else ()
        self._seam = OverlapBuffer(
            existing, how=joining(snapshot, policy.min_overlap), room=room, tools=[t.name for t in tools]
        )

    async def came(self, part: bytes, deltas: list[Delta]) -> None:
        """Send the text of `deltas` that no later text can change."""
        del part
        if self._seam is None or not deltas:
            return
        if any(delta.reasoning or delta.signature or delta.begins or delta.thought for delta in deltas):
            said = b"".join(self._one_by_one(deltas, self._seam))
        else:
            said = self._texts(self._seam.take_all([delta.text for delta in deltas]))
        if said:
            await self._outgoing.more(said)

    def _one_by_one(self, deltas: list[Delta], seam: OverlapBuffer) -> Iterator[bytes]:
        for delta in deltas:
            if self._items is not None and delta.begins is not None:
                yield self._items.begins(delta.begins)
            if delta.reasoning or delta.signature:
                yield self._stream.reasoning(delta.reasoning, delta.signature)
            if self._items is not None and delta.thought is not None:
                yield self._items.thought(delta.thought)
            yield self._texts(seam.take_all([delta.text]))

    def _texts(self, new: list[str]) -> bytes:
        self._told += sum(map(len, new))
        return self._stream.texts(new)

    async def judged(self, snapshot: Snapshot) -> None:
        """Send the rest of the answer that was held back, after the call was judged."""
        if not self._at_end:
            await self._rest(snapshot.answer.text)

    async def _rest(self, text: str) -> None:
        rest = text[self._told :]
        if rest:
            self._told += len(rest)
            await self._outgoing.more(self._stream.texts([rest]))

    async def end(self, ended: EndedTurn) -> bytes:
        """Tell the rest of the text; returns the end, which is told once the turn is stored."""
        if ended.said.text is not None:
            await self._rest(ended.said.text)
        return self._stream.end(ended)
