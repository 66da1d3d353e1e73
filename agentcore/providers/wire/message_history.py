"""What a request may hold of the history: only calls that have a result, each result with its call's name."""

from collections.abc import Sequence

from agentcore.messages import Message, Role, ToolCall


class History:
    """A conversation read once, so that each message can be encoded beside the others."""

    def __init__(self, messages: Sequence[Message]) -> None:
        self._answered = {message.tool_call_id for message in messages if message.role is Role.TOOL}
        self._calls: dict[str, ToolCall] = {}
        self._names: dict[int, str] = {}  #: of the tools, by the identity of their results
        for message in messages:
            self._calls |= {call.id: call for call in message.tool_calls if call.issue is None}
            # Some servers count their ids anew in each answer: a result is the last call's before it.
            if message.role is Role.TOOL and self.has_call(message):
                self._names[id(message)] = self._calls[message.tool_call_id or ""].name

    def name_of(self, result: Message) -> str:
        """The tool whose result this is; "" where its call is not in the history."""
        call = self._calls.get(result.tool_call_id or "")
        return self._names.get(id(result), call.name if call else "")

    def has_call(self, result: Message) -> bool:
        """Whether the history holds the whole call that this result answers."""
        return (result.tool_call_id or "") in self._calls

    def calls_of(self, message: Message) -> tuple[ToolCall, ...]:
        """The calls of a message that may be sent: whole ones that were answered."""
        return tuple(call for call in message.tool_calls if call.issue is None and call.id in self._answered)

    def may_echo(self, message: Message) -> bool:
        """Whether its own content can be sent as it is: no call of it is left without a result."""
        return len(self.calls_of(message)) == len(message.tool_calls)
