"""The columns of a turn's row that link it to its run."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from uuid import UUID

from agentcore.messages import Message, Role
from agentcore.providers.openai_responses.request import INSTRUCTIONS
from agentcore.providers.wire.tool_calls import encode_call
from agentcore.snapshot import Snapshot
from dashboard.gateway.wire.finish_reasons import FUNCTION_CALL, FinishedAnswer, finished_answer
from dashboard.turns.row_mapping import Columns
from dashboard.turns.run_keys import Conversation, Keys, answer_of

_KEYS = Keys()


@dataclass(frozen=True, slots=True)
class RunRequest:
    """The conversation that a client sent, and how it is told the answer."""

    conversation: Conversation
    observed: bool
    legacy: bool

    @property
    def columns(self) -> Columns:
        answers = self.conversation.answers
        return {"history_keys": answers} if answers else {}


def asked_with(
    project_id: UUID, client: Sequence[bytes], nodes: Sequence[UUID], *, observed: bool, legacy: bool
) -> RunRequest | None:
    """`client`: its messages, and their `nodes`. None where it sent none."""
    if not client:
        return None
    return RunRequest(_KEYS.of(project_id, client, nodes), observed, legacy)


def said_by(messages: Iterable[Message]) -> tuple[bytes, ...]:
    """A conversation by items as messages of chat completions: several items can be one message, and clients may only
    name those of answers. Instructions are no part of it, for each request has its own."""
    return tuple(json.dumps(_in_chat_form(each)).encode() for each in messages if each.echo != INSTRUCTIONS)


def _in_chat_form(message: Message) -> dict[str, object]:
    if message.role is Role.ASSISTANT:
        return answer_of(message.text, map(encode_call, message.tool_calls))
    parts = [{"type": "text", "text": message.text}, *([] if message.echo is None else [message.echo])]
    return {"role": message.role.value, "content": parts, "tool_call_id": message.tool_call_id}


def answered_key(asked: RunRequest | None, snapshot: Snapshot) -> UUID | None:
    """The key of the conversation with its answer; None before there is one."""
    if asked is None or snapshot.end is None:
        return None
    told = finished_answer(snapshot, observed=asked.observed, legacy=asked.legacy)
    return (
        asked.conversation.answered(_message(told))
        if isinstance(told, FinishedAnswer) and _says_anything(told)
        else None
    )


def _says_anything(told: FinishedAnswer) -> bool:
    return bool(told.text or told.refusal or told.calls)


def _message(told: FinishedAnswer) -> dict[str, object]:
    calls = [encode_call(call) for call in told.calls]
    if told.finish_reason == FUNCTION_CALL:
        calls = [{**call, "id": ""} for call in calls]
    return answer_of(told.text, calls, told.refusal)
