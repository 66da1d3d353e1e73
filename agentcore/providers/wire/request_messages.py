"""The messages of a request: what it may hold of the history, and how a cut answer is asked to go on (design §3.3).

Only calls that have a result are sent, each result with its call's name. A cut answer is asked to go on in one of the
two ways that dialects have.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple
from unicodedata import east_asian_width

from agentcore import prefill
from agentcore.messages import ChatRequest, Continuation, Message, Role, ToolCall
from agentcore.prefill import prefills, refuses_prefill
from agentcore.providers.wire.untrusted_json import mapping

#: What goes into the body of a turn's first call alone, by its own name: how it ends is for the first call to say.
FIRST_CALL = "first_call"
#: The setting of a connection that asks, after its hint, for the space between two words at the seam. Its value is the
#: rule for where one may be due: what a turn was asked with is asked again, letter for letter, when it is verified.
SPACE = "hint_space"
AFTER_WORDS, AFTER_MARKS = True, 2
#: The headers that a caller's request came with and that go along to the provider, by lower-case name.
HEADERS = "caller_headers"
#: Those that may: a stored turn can name no others.
FROM_CALLERS = frozenset({"anthropic-version", "anthropic-beta"})
#: Keys of `ChatRequest.extra` that steer the codecs and are not sent.
SETTINGS = frozenset(
    {
        "hint_role",
        SPACE,
        "max_tokens_field",
        *prefill.SETTINGS,
        prefill.ECHO,
        "add_generation_prompt",
        "uncapped",
        FIRST_CALL,
        HEADERS,
    }
)
_QUOTED_CHARS = 200  #: how much of the end the model is shown: enough to find its place, also in code
_QUOTED_WORDS = 40  #: how much of it shows which word stands last
_ENDING = frozenset(".,;:!?)\"'”’")  #: the marks that `AFTER_WORDS` knows beside a word
_OPENING = frozenset("([{<«“‘„¿¡#@$£€\\")  #: marks that what follows is written to without a space
_FENCE = "```"  #: a language or the end of a line follows


class Going(NamedTuple):
    """What a continuation adds to a request: to the system prompt, as an assistant message, as a user message."""

    system: str = ""
    assistant: str = ""
    user: str = ""


def sent_extra(request: ChatRequest) -> dict[str, Any]:
    """The keys of `extra` that go into the body."""
    sent = {key: value for key, value in request.extra.items() if key not in SETTINGS}
    return sent | dict(mapping(request.extra.get(FIRST_CALL))) if request.continuation is None else sent


def interrupted(text: str) -> str:
    """The sentence that Anthropic gives for an answer that broke off (providers.md §1.6)."""
    ending = text[-_QUOTED_CHARS:]
    return f"Your previous response was interrupted and ended with `{ending}`. Continue from there."


def by_user_turn(request: ChatRequest, *, can_prefill: bool = True) -> Going:
    """For dialects whose conversations end with the user: the hint goes to the system prompt.

    A broken call is asked for again in words even where text could be prefilled: the model must know what was wrong.
    """
    continuation = request.continuation
    if continuation is None:
        return Going()
    if not continuation.text:
        return Going(system=continuation.hint)
    if can_prefill and prefills(request.extra) and not continuation.repairs:
        return Going(assistant=continuation.text)
    return Going(_hint(request, continuation), continuation.text, interrupted(continuation.text))


def by_hint_message(request: ChatRequest, *, can_prefill: bool = True) -> list[tuple[str, str]]:
    """For OpenAI-style dialects: the messages to add, each a role and its text."""
    continuation = request.continuation
    if continuation is None:
        return []
    said = [("assistant", continuation.text)] if continuation.text else []
    goes_on = bool(continuation.text) and can_prefill and prefills(request.extra) and not continuation.repairs
    if goes_on or not continuation.hint:
        return said
    role = request.extra.get("hint_role")
    return [*said, (role if isinstance(role, str) and role else "system", _hint(request, continuation))]


def _hint(request: ChatRequest, continuation: Continuation) -> str:
    """The hint; and where a space may be due at the seam, a sentence that asks for it. Models begin a message without
    one, and two words would become one."""
    ending = continuation.text[-_QUOTED_WORDS:]
    rule = request.extra.get(SPACE)
    if not rule or continuation.repairs or not (_follows_word if rule is AFTER_WORDS else _may_need_space)(ending):
        return continuation.hint
    asked = f"Your next words are appended directly to `{ending}`. Begin with a space if a new word follows."
    return f"{continuation.hint}\n{asked}" if continuation.hint else asked


def _follows_word(ending: str) -> bool:
    last = ending[-1:]
    return last in _ENDING or (last.isalnum() and east_asian_width(last) not in ("W", "F"))


def _may_need_space(ending: str) -> bool:
    """Whether a space could follow: after a word, after what ends one or stands between two, not inside of marks."""
    last = ending[-1:]
    if not last or last.isspace() or last in _OPENING or east_asian_width(last) in ("W", "F"):
        return False
    return last != "`" or not (ending.endswith(_FENCE) or ending.count(last) % 2)


def by_user_turn_trimmed(request: ChatRequest) -> Going:
    """As `by_user_turn`, for Claude: it refuses blank text, and a prefill that ends in whitespace.

    From 4.6 on, and while it thinks, it refuses any prefill (providers.md §1.6): then it is asked by a user's turn.
    """
    going = by_user_turn(request, can_prefill=not refuses_prefill(request.model, request.extra))
    if not going.assistant.strip():
        return Going(system=request.continuation.hint) if request.continuation else going
    return going if going.user else going._replace(assistant=going.assistant.rstrip())


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
