"""The queue of a conversation: its turns run one after another, in the order they were sent.

Everything here holds the conversation's row until its transaction ends, so that the end of one turn and the beginning
of the next, in whatever processes, happen one after the other. A turn learns its history and what is left of the
budget in the transaction that lets it begin; until then its `setup` has the prompt alone.
"""

from collections.abc import Iterable, Iterator
from uuid import UUID

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import QuerySet, Sum
from django.db.models.functions import Length
from django.utils import timezone

from agentcore import serial
from agentcore.messages import Message, Role
from agentcore.reasons import StopReason, TurnStatus
from agentcore.values import replace
from dashboard.agents.policies import stored_policy
from dashboard.live.jobs import defer_drive
from dashboard.live.signal_inbox import signals_settle
from dashboard.platform.fields import storable_text
from dashboard.platform.notifications import announce_created
from dashboard.turns.conversations.models import Conversation
from dashboard.turns.models import UNFINISHED, Turn

MAX_TURNS = 500
MAX_WAITING = 20
MAX_CHARS = 4_000_000  #: of all that was asked and answered
TITLE_CHARS = 80


def join(turn: Turn, conversation: Conversation) -> None:
    """Put a new turn, not saved yet, at the end of the line; in the transaction that saves it.

    Raises `ValidationError` in words where the budget is used up, the line or the conversation is full, or it is gone.
    """
    if turn.agent_id != conversation.agent_id:
        words = f"This conversation is with {conversation.agent_name}; start another to talk to {turn.agent_name}."
        raise ValidationError({"conversation": words})
    held = _held(conversation.pk)
    if held is None:
        raise ValidationError({"conversation": "This conversation has just been erased; start a new one."})
    turns = Turn.objects.filter(conversation=held)
    _room_for(turn, turns)
    if (left := left_of(held)) is not None and left <= 0:
        raise ValidationError(
            {
                "input": f"The conversation's budget of {held.token_budget:,} tokens is used up. "
                "Raise it above, or start a new conversation."
            }
        )
    last = turns.order_by("-position").only("position", "run_id").first()
    turn.conversation, turn.position = held, 1 if last is None else (last.position or 0) + 1
    if last is not None:
        turn.run_id, turn.follows = last.run, last.id
    if not held.title:
        held.title = title_of(turn.input_text)
        held.save(update_fields=["title"])


def _room_for(turn: Turn, turns: QuerySet[Turn]) -> None:
    if turns.filter(status__in=UNFINISHED).count() > MAX_WAITING:
        raise ValidationError({"input": f"{MAX_WAITING} prompts are waiting already. Wait until some are answered."})
    said = turns.aggregate(chars=Sum(Length("input_text") + Length("output_text")))["chars"] or 0
    if turns.count() >= MAX_TURNS or said + len(turn.input_text) > MAX_CHARS:
        words = f"A conversation has at most {MAX_TURNS} turns and {MAX_CHARS:,} characters; start a new one."
        raise ValidationError({"input": words})


def title_of(prompt: str) -> str:
    """The beginning of the first line that says something."""
    line = next((line for line in prompt.splitlines() if line.strip()), "")
    words = " ".join(line.split())
    return words if len(words) <= TITLE_CHARS else f"{words[: TITLE_CHARS - 1].rstrip()}…"


def used_of(conversation: Conversation) -> int:
    """Tokens of all its turns, input and output."""
    return Turn.objects.filter(conversation=conversation).aggregate(used=Sum("tokens"))["used"] or 0


def left_of(conversation: Conversation) -> int | None:
    """Tokens left of the budget, below 0 where it was overrun; None where there is no budget."""
    return None if conversation.token_budget is None else conversation.token_budget - used_of(conversation)


def waits(turn: Turn) -> bool:
    """Whether an earlier turn of its conversation has not ended."""
    return turn.conversation_id is not None and _before(turn).filter(status__in=UNFINISHED).exists()


def _before(turn: Turn) -> QuerySet[Turn]:
    return Turn.objects.filter(conversation=turn.conversation_id, position__lt=turn.position or 0)


@transaction.atomic
def admit(turn_id: UUID) -> bool:
    """Whether a driver may go on with the turn now. One that begins is given its history and its share of the budget;
    one for which nothing is left is ended here."""
    if not hold(turn_id):
        return True
    turn = Turn.objects.get(pk=turn_id)
    if turn.last_seq:
        return True
    if turn.status not in UNFINISHED or waits(turn):
        return False
    assert turn.conversation is not None, "what `hold` found"
    left = left_of(turn.conversation)
    if left is not None and left <= 0:
        _refuse(turn)
        return False
    _prepare(turn, left)
    return True


def _prepare(turn: Turn, left: int | None) -> None:
    """The prompt stays last. Done again after a crash it comes to the same: what is before has ended."""
    earlier = _before(turn).order_by("position").only("input_text", "output_text")
    told = [serial.to_json(message) for message in messages_of(earlier)]
    turn.setup = {**turn.setup, "messages": [*told, turn.setup["messages"][-1]]}
    policy = stored_policy(turn.policy)
    own = policy.limits.max_total_tokens
    if left is not None and (own is None or left < own):
        turn.policy = serial.to_json(replace(policy, limits=replace(policy.limits, max_total_tokens=left)))
    turn.save(update_fields=["setup", "policy"])


def _refuse(turn: Turn) -> None:
    assert turn.conversation is not None, "only a conversation has a budget"
    budget = turn.conversation.token_budget
    words = (
        f"This turn did not start: the conversation's budget of {budget:,} tokens is used up. "
        "Raise the budget, then send the prompt again."
    )
    _end_unbegun(turn, TurnStatus.ABORTED, StopReason.TOKEN_LIMIT, "budget_exhausted", words)


@transaction.atomic
def withdraw(turn: Turn, by: str) -> bool:
    """End a turn that waits in line; False where it does not wait, or not any more."""
    if not hold(turn.pk):
        return False
    turn.refresh_from_db()
    if turn.status != TurnStatus.QUEUED or turn.last_seq or not waits(turn):
        return False
    words = f"Cancelled by {by} before it started. It was waiting in the queue."
    _end_unbegun(turn, TurnStatus.CANCELLED, StopReason.USER_REQUESTED, "cancelled", words)
    return True


def _end_unbegun(turn: Turn, status: TurnStatus, reason: StopReason, terminal: str, words: str) -> None:
    """A turn without a history: no model was asked."""
    turn.status, turn.stop_reason, turn.terminal_reason = status.value, reason.value, terminal
    turn.verdict, turn.finished_at = storable_text(words), timezone.now()
    turn.save(update_fields=["status", "stop_reason", "terminal_reason", "verdict", "finished_at"])
    signals_settle(turn.pk, turn.finished_at)
    transaction.on_commit(lambda: announce_created(turn.pk))
    hand_on(turn.pk)


def hold(turn_id: UUID) -> bool:
    """Hold the line of the turn's conversation until the transaction ends; False where it has none (any more)."""
    conversation = Turn.objects.filter(pk=turn_id).values_list("conversation", flat=True).first()
    return conversation is not None and _held(conversation) is not None


def _held(conversation: UUID) -> Conversation | None:
    """The conversation, until the transaction ends; None where it was erased meanwhile."""
    return Conversation.objects.select_for_update(no_key=True).filter(pk=conversation).first()


def hand_on(turn_id: UUID) -> None:
    """A turn has ended: queue the job of the next in its line, in the same transaction."""
    conversation = Turn.objects.filter(pk=turn_id).values_list("conversation", flat=True).first()
    if conversation is None:
        return
    line = Turn.objects.filter(conversation=conversation, status__in=UNFINISHED).order_by("position")
    if (following := line.values_list("id", flat=True).first()) is not None:
        defer_drive(following)


def mend(conversations: Iterable[UUID]) -> None:
    """After turns were erased: a conversation without turns goes, the title of any other is what is left to tell.

    All are held first, in order: who erases others of their turns waits, and so does who sends a prompt.
    """
    for conversation in Conversation.objects.select_for_update().filter(pk__in=set(conversations)).order_by("pk"):
        first = Turn.objects.filter(conversation=conversation).order_by("position").first()
        if first is None:
            conversation.delete()
            continue
        conversation.title = title_of(first.input_text)
        conversation.save(update_fields=["title"])


def messages_of(turns: Iterable[Turn]) -> Iterator[Message]:
    """The exchanges of turns that have ended, in their order.

    A turn without an answer (refused, failed, withdrawn) is left out with its prompt, for providers want the roles to
    alternate. Tool calls stay in the turn they were made in; a notice was said to people, not by the model.
    """
    for turn in turns:
        if turn.output_text.strip():
            yield Message(Role.USER, turn.input_text)
            yield Message(Role.ASSISTANT, turn.output_text)
