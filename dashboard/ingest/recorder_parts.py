"""Converts a built history into the recorder's messages: the new turn, then each step with its call."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any
from uuid import UUID

from agentcore import serial
from agentcore.commands import CallModel
from agentcore.events import Event, ModelFailed, ModelResponded, Started
from agentcore.policy import Policy
from agentcore.providers import get_provider
from agentcore.values import replace
from dashboard.agents.models import Connection
from dashboard.gateway.recording.recorder_messages import AnswerChunk, NewTurn, TurnUpdate
from dashboard.gateway.routing import OBSERVE, ResolvedPolicy
from dashboard.gateway.serving.turn_setup import MOST_SHOWN
from dashboard.gateway.wire.parsed_request import shown_input
from dashboard.ingest.assembly.histories import BuiltHistory, BuiltStep
from dashboard.ingest.assembly.trace import TraceTurn
from dashboard.ingest.assembly.turn_grouping import TurnCall
from dashboard.ingest.conventions.observations import RequestAndResponse
from dashboard.live.model_call import prepared_call
from dashboard.platform.fields import storable_text
from dashboard.turns.evidence import answer_columns
from dashboard.turns.request_body_text import BodyTexts
from dashboard.turns.row_mapping import CallEnd, CallRow, StepRows
from dashboard.turns.sent_caps import sent_cap
from dashboard.turns.shared_values import rules_text

NOWHERE = Connection(name="trace", base_url="")
_MILLISECOND = 10**6
_1970 = datetime(1970, 1, 1, tzinfo=UTC)
MOST_NAME = 200  #: characters of an agent's name


def part_of(made: TraceTurn, project_id: UUID, by: int | None) -> TurnUpdate:
    """All that is said of the turn. `by`: the id of the user whose token, or key, sent it."""
    part = TurnUpdate(0.0, new=_new(made, project_id, by))
    part.entries += _entries(made)
    part.pieces += _pieces(part.entries, made.history)
    return part


def moment(nanoseconds: int) -> datetime:
    """The database knows microseconds."""
    return _1970 + timedelta(microseconds=nanoseconds // 1000)


@lru_cache(maxsize=256)
def ruling_of(policy: Policy) -> ResolvedPolicy:
    """The policy as it is stored; few imply thousands of turns."""
    ruling = ResolvedPolicy(policy, serial.to_json(policy), None, None)  # type: ignore[arg-type]
    return replace(ruling, text=rules_text(ruling.rules))


def _new(made: TraceTurn, project_id: UUID, by: int | None) -> NewTurn:
    history, started = made.history, made.history.told[0].event
    assert isinstance(started, Started), "the first event of a turn"
    setup = started.setup
    return NewTurn(
        id=made.id,
        project_id=project_id,
        agent_id=None,
        agent_name=storable_text(agent_of(history)[:MOST_NAME]),
        provider=setup.provider,
        model=setup.model,
        max_tokens=sent_cap(setup),
        input_text=storable_text(shown_input(started.messages)[:MOST_SHOWN]),
        started=started,
        ruling=ruling_of(history.policy),
        body=b"",
        created_at=moment(history.began),
        created_by_id=by,
        caller="",
        key_id=None,
        mode=OBSERVE,
        stream=False,
        n=1,
    )


def agent_of(history: BuiltHistory) -> str:
    """The agent's name, else the loop's, else the program's."""
    first, loop = history.turn.steps[0].call, history.turn.loop
    named = (first.agent, loop.name if loop else "", first.span.service, first.span.scope)
    return next(filter(None, named), "unknown")


def _entries(made: TraceTurn) -> Iterator[StepRows]:
    history, began = made.history, moment(made.history.began)
    steps, texts, at = iter(history.turn.steps), BodyTexts(), began
    for seq, told in enumerate(history.told, start=1):
        at = max(at, moment(told.at))
        begun = _begun(told, next(steps, None), texts)
        yield StepRows(made.id, seq, at, began, told.event, told.moved, _ended(told, history, seq), begun)


def _begun(told: BuiltStep, step: TurnCall | None, texts: BodyTexts) -> CallRow | None:
    """The call that this step begins, with its own body where a log holds it, else one put together."""
    command = told.moved.command
    if not isinstance(command, CallModel):
        return None
    stream = step is not None and step.call.stream
    asked = replace(command, request=replace(command.request, stream=stream))
    provider = get_provider(told.moved.snapshot.asked.provider)
    exchange = step.call.exchange if step is not None else None
    verbatim = None if exchange is None else exchange.body
    call = prepared_call(asked, provider, NOWHERE, told.moved.snapshot.iteration, verbatim, texts=texts)
    url = step.call.span.attributes.get("url.full") if step is not None else None
    return replace(call, url=url if isinstance(url, str) else "")


def _ended(told: BuiltStep, history: BuiltHistory, seq: int) -> CallEnd | None:
    """The end of the call whose event this is; one that the trace does not hold ends with the turn."""
    before = history.told[seq - 2].moved.command if seq > 1 else None
    if not isinstance(before, CallModel):
        return None
    if told.ended is None:
        return CallEnd(before.attempt, 0)
    call = told.ended.call
    duration = (call.span.end - call.span.start) // _MILLISECOND
    first = None if call.first_token is None else round(call.first_token * 1000)
    return CallEnd(before.attempt, duration, first, _columns(told.event) | _wire_columns(call.exchange))


def _wire_columns(exchange: RequestAndResponse | None) -> dict[str, Any]:
    """What only a log tells of an attempt: how it was answered."""
    if exchange is None:
        return {}
    lasted = {} if exchange.timed else {"duration_ms": None}
    if exchange.status is None:
        return lasted
    return {"status_code": exchange.status, "content_type": storable_text(exchange.content_type), **lasted}


def _pieces(entries: Sequence[StepRows], history: BuiltHistory) -> Iterator[AnswerChunk]:
    """The bytes of each answer that a log holds."""
    for entry, told in zip(entries, history.told, strict=True):
        exchange = told.ended.call.exchange if told.ended is not None else None
        if exchange is not None and exchange.raw and entry.ended is not None:
            text = exchange.answer.text if exchange.answer is not None else ""
            yield AnswerChunk(entry.ended.index, entry.at, [exchange.raw], [text])


def _columns(event: Event) -> dict[str, Any]:
    if isinstance(event, ModelResponded):
        error = event.response.error
        return {"error": None if error is None else serial.to_json(error), **answer_columns(event.response)}
    assert isinstance(event, ModelFailed), "a call ends in an answer or an error"
    partial = {} if event.partial is None else answer_columns(event.partial)
    return {"status_code": event.error.status, "error": serial.to_json(event.error), **partial}
