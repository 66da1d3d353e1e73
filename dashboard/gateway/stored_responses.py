"""Stored responses of the Responses API: retrieved, continued and deleted by id, rebuilt from the stored turn.

An answer belongs to the key with which it was asked for (or to the user, where that was a user's token): for all
others it is not there. To forget it takes its name from it; the turn stays.
"""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from django.db import connection

from agentcore.events import ModelFailed, ModelResponded, Started
from agentcore.messages import ChatResponse
from agentcore.replay import Recording
from dashboard.gateway.access.callers import Caller
from dashboard.gateway.models import GatewayCall
from dashboard.gateway.routing import AWAY_FAULT, OBSERVE
from dashboard.gateway.serving.request_body import MOST_BYTES
from dashboard.gateway.wire.answer_values import AnswerIdentity, EndedTurn, total_of
from dashboard.gateway.wire.faults import Fault
from dashboard.gateway.wire.finish_reasons import finished_answer
from dashboard.gateway.wire.parsed_request import ParsedRequest
from dashboard.gateway.wire.responses.dialect import RESPONSES
from dashboard.gateway.wire.responses.output import output_of
from dashboard.gateway.wire.responses.request_parser import PREVIOUS, gone_on, read_request, with_items
from dashboard.gateway.wire.responses.serializers import ended_response
from dashboard.platform.db_threads import AWAY, in_database
from dashboard.turns.damage import DAMAGED
from dashboard.turns.damaged_pages import damage_words_of
from dashboard.turns.history import client_body_of, position_of, raw_response_of, recording_of
from dashboard.turns.models import Attempt, Turn

T = TypeVar("T")

RESPONSES_PATH = "/v1/responses"
_LONGEST_ID = 200
_FORGET = """
WITH stray AS (UPDATE gateway_gatewaycall SET answer_id = NULL WHERE turn_id = %(turn)s)
UPDATE turns_turn SET call_answer_id = NULL WHERE id = %(turn)s AND call_answer_id IS NOT NULL
"""
_EVENT = b"data:"
MOST_ANSWERS = 256  #: whose items one request may name by their ids alone: each is read
#: The ids that this product gives to items contain that of their turn.
_ITEM = re.compile(r"[a-z_]{2,12}_([0-9a-f]{32})([0-9]{4})?")

Json = dict[str, Any]


async def read_again(caller: Caller, answer_id: str) -> bytes | Fault:
    """The answer of this name."""
    return await _asked(_read_again, caller, answer_id)


async def forget(caller: Caller, answer_id: str) -> bytes | Fault:
    """From now on nothing is called so."""
    return await _asked(_forget, caller, answer_id)


async def with_conversation(asked: ParsedRequest, caller: Caller) -> ParsedRequest | Fault:
    """The request with the conversation of the answer that it goes on from, and with the items that it refers to."""
    try:
        return await in_database(_or_damage, _with_conversation, asked, caller)
    except AWAY:
        return AWAY_FAULT


def _or_damage(work: Callable[[Any, Caller], T], asked: Any, caller: Caller) -> T | Fault:
    """What the work comes to, or what is damaged of the turn that it read."""
    try:
        return work(asked, caller)
    except DAMAGED as error:
        named = [asked.goes_on_from, *_referred(asked)] if isinstance(asked, ParsedRequest) else [asked]
        found = [_found(caller, each) for each in named if each]
        told = (damage_words_of(each[1].id, error, path=RESPONSES_PATH) for each in found if each is not None)
        words = next(filter(None, told), "")
        if not words:
            raise
        return Fault(409, words, code="turn_damaged")


def _referred(asked: ParsedRequest) -> list[str]:
    """The ids of the answers that may be stored here and whose items a request refers to."""
    turns = dict.fromkeys(named.group(1) for each in asked.refers_to if (named := _ITEM.fullmatch(each)))
    return [*map(RESPONSES.answer_id, turns)]


async def _asked(work: Callable[[str, Caller], bytes | Fault], caller: Caller, answer_id: str) -> bytes | Fault:
    try:
        return await in_database(_or_damage, work, answer_id, caller)
    except AWAY:
        return AWAY_FAULT


def _read_again(answer_id: str, caller: Caller) -> bytes | Fault:
    found = _found(caller, answer_id)
    told = None if found is None else _response(*found)
    return _unknown(answer_id) if told is None else json.dumps(told).encode()


def _forget(answer_id: str, caller: Caller) -> bytes | Fault:
    found = _found(caller, answer_id)
    if found is None:
        return _unknown(answer_id)
    with connection.cursor() as cursor:
        cursor.execute(_FORGET, {"turn": found[0].pk})
    return json.dumps({"id": answer_id, "object": "response", "deleted": True}).encode()


def _with_conversation(asked: ParsedRequest, caller: Caller) -> ParsedRequest | Fault:
    if asked.refers_to:
        if len(_referred(asked)) > MOST_ANSWERS:
            message = f"Items of more than {MOST_ANSWERS} responses are named by their ids. Send the items instead."
            return Fault(400, message, code="too_many_item_references", param="input")
        referred = with_items(asked, _items(asked, caller))
        if isinstance(referred, Fault):
            return referred
        asked = referred
    if asked.goes_on_from:
        return _after_answer(asked, caller)
    return _bounded(asked)


def _items(asked: ParsedRequest, caller: Caller) -> dict[str, Json]:
    """The items of answers that are stored here and that the request refers to, by their ids."""
    found = (_found(caller, each) for each in _referred(asked))
    told = [_response(*each) for each in found if each is not None]
    return {item["id"]: item for answer in told if answer is not None for item in answer["output"] if "id" in item}


def _after_answer(asked: ParsedRequest, caller: Caller) -> ParsedRequest | Fault:
    found = _found(caller, asked.goes_on_from)
    told = None if found is None else _response(*found)
    if found is None or told is None:
        message = f"Previous response with id '{asked.goes_on_from[:_LONGEST_ID]}' not found."
        return Fault(400, message, code="previous_response_not_found", param=PREVIOUS)
    call, turn = found
    begun = recording_of(turn).records[0].event
    assert isinstance(begun, Started), "a turn begins so"
    known_above = call.answer_id != RESPONSES.answer_id(turn.id.hex)
    whole = gone_on(asked, begun.messages, told["output"], known_above=known_above)
    return whole if isinstance(whole, Fault) else _bounded(whole)


def _bounded(whole: ParsedRequest) -> ParsedRequest | Fault:
    if _size(whole) > MOST_BYTES:
        return Fault(413, f"The conversation is larger than {MOST_BYTES // 2**20} MiB.", code="request_too_large")
    return whole


def _size(asked: ParsedRequest) -> int:
    """Of its conversation, in characters."""
    said = (len(message.text) + sum(len(call.raw) for call in message.tool_calls) for message in asked.messages)
    return sum(said) + sum(len(json.dumps(message.echo)) for message in asked.messages if message.echo is not None)


def _found(caller: Caller, answer_id: str) -> tuple[GatewayCall, Turn] | None:
    """The call whose answer has this name for this caller, and its turn."""
    if not answer_id.isprintable() or len(answer_id) > _LONGEST_ID:
        return None
    calls = GatewayCall.objects.filter(answer_id=answer_id, project_id=caller.project, key_id=caller.key_id)
    for call in calls.order_by("-turn_id"):
        turn = Turn.objects.filter(id=call.turn_id).first()
        if turn is not None and (caller.key_id is not None or turn.created_by_id == caller.user_id):
            return call, turn
    return None


def _unknown(answer_id: str) -> Fault:
    return Fault(404, f"Response with id '{answer_id[:_LONGEST_ID]}' not found.")


def _response(call: GatewayCall, turn: Turn) -> Json | None:
    """What its caller was told, as one response; None where that is not stored any more."""
    body = client_body_of(turn)
    asked = None if body is None else read_request(body, lambda _: None)
    if not isinstance(asked, ParsedRequest) or call.answer_id is None:
        return None
    if call.answer_id != RESPONSES.answer_id(turn.id.hex) and (told := _as_it_came(turn)) is not None:
        return told
    ended = _ended(turn, observed=call.mode == OBSERVE)
    if ended is None:
        return None
    named = AnswerIdentity(call.answer_id, int(call.created_at.timestamp()), asked.model)
    return ended_response(named, asked, ended, output_of(named, ended))


def _ended(turn: Turn, *, observed: bool) -> EndedTurn | None:
    snapshot = position_of(turn).snapshot
    told = None if snapshot.end is None else finished_answer(snapshot, observed=observed)
    if told is None or isinstance(told, Fault):
        return None
    answers = _answers(recording_of(turn))
    reasoning = "".join(answer.reasoning_content for answer in answers)
    usage = total_of([answer.usage for answer in answers])
    return EndedTurn(told, usage, reasoning, snapshot.response, [answer.echo for answer in answers])


def _answers(recording: Recording) -> list[ChatResponse]:
    """What each call upstream answered, or had answered when it broke off."""
    events = [record.event for record in recording.records]
    found = [
        event.response if isinstance(event, ModelResponded) else event.partial
        for event in events
        if isinstance(event, ModelResponded | ModelFailed)
    ]
    return [answer for answer in found if answer is not None]


def _as_it_came(turn: Turn) -> Json | None:
    """The response that an upstream of the same dialect sent, while its bytes are kept."""
    attempt = Attempt.objects.filter(turn_id=turn.id).order_by("-index").first()
    raw = b"" if attempt is None else raw_response_of(attempt)
    events = [line.removeprefix(_EVENT) for line in raw.splitlines() if line.startswith(_EVENT)]
    try:
        told = json.loads(events[-1] if events else raw)
    except ValueError:
        return None
    response = told.get("response", told) if isinstance(told, dict) else None
    return response if isinstance(response, Mapping) and isinstance(response.get("output"), list) else None  # type: ignore[return-value]
