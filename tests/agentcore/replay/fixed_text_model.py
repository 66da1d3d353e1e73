"""A model that has a fixed text to say and obeys max_tokens: four characters are a token, and a call takes `CALL`."""

from dataclasses import dataclass

from agentcore import AttemptKind, ChatResponse, NormalizedStopReason, ToolCall
from agentcore.commands import CallModel, Finish, RunTools, Wait
from agentcore.events import Event
from tests.agentcore.playbook import Playbook, responded, started, tools_returned, truncated, usage, woke_up

CALL = 20  #: tokens
WORDS = [f"w{n:06d}" for n in range(2000)]


@dataclass(frozen=True)
class Says:
    """What is said in one iteration. `repeats`: characters said again at the start of a continuation."""

    text: str
    calls: tuple[ToolCall, ...] = ()
    repeats: int = 0


def text_of(tokens: int) -> str:
    """A text of this many tokens, no part of which repeats. A word with its space is two tokens."""
    return " ".join(WORDS[: tokens // 2 + 1])[: tokens * 4]


def play(book: Playbook, *script: Says, most: int = 200) -> Playbook:
    """The whole turn, with a model that says the script, one entry per iteration."""
    story = book >> started()
    for _ in range(most):
        if isinstance(story.command, Finish):
            return story
        story = story >> answer(story, script)
    raise AssertionError("this turn does not end")


def answer(story: Playbook, script: tuple[Says, ...]) -> Event:
    match story.command:
        case CallModel():
            return say(story, script[story.snapshot.iteration - 1])
        case RunTools():
            return tools_returned()(story)
        case Wait():
            return woke_up()
        case other:
            raise AssertionError(f"nothing answers {other}")


def say(story: Playbook, says: Says) -> Event:
    command = story.command
    continued = command.request.continuation
    had = len(continued.text) if continued else 0
    begin = max(0, had - says.repeats) if had else 0
    if command.kind is AttemptKind.TOOL_REPAIR:
        begin = had
    rest, cap = says.text[begin:], command.request.max_tokens
    cost = CALL * len(says.calls)
    spoken = -(-len(rest) // 4)
    if spoken + cost <= cap:
        reason = NormalizedStopReason.TOOL_CALL if says.calls else NormalizedStopReason.END_TURN
        raw = "tool_calls" if says.calls else "stop"
        return responded(
            ChatResponse(rest, says.calls, usage=usage(spoken + cost), stop_reason=reason, raw_stop_reason=raw)
        )
    if spoken < cap:
        cut = tuple(ToolCall(c.id, c.name, raw=c.raw[:3], issue="truncated", shown_whole=False) for c in says.calls)
        return truncated(rest, tokens=cap, broken_tool_calls=cut)
    return truncated(rest[: cap * 4], tokens=cap)
