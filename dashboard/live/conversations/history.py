"""What a turn is told of the turns before it: what was asked, and what was answered (docs/how-to/conversations.md)."""

from collections.abc import Iterable, Iterator

from agentcore.messages import Message, Role
from dashboard.turns.models import Turn


def messages_of(turns: Iterable[Turn]) -> Iterator[Message]:
    """The exchanges of turns that have ended, in their order.

    A turn without an answer (refused, failed, withdrawn) is left out with its prompt, for providers want the roles to
    alternate. Tool calls stay in the turn they were made in; a notice was said to people, not by the model.
    """
    for turn in turns:
        if turn.output_text.strip():
            yield Message(Role.USER, turn.input_text)
            yield Message(Role.ASSISTANT, turn.output_text)
