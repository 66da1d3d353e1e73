"""An examiner of what-ifs: a provider with settings that is really run under both policies, with nothing of ours in it.

It shares no code with `agentcore.replay`. Its tokens are pieces of one to eight characters, so that no share of
characters is a share of tokens; what it says, thinks, repeats and where it fails depends on its settings alone.
"""

import random
from collections.abc import Mapping
from dataclasses import dataclass, field

from agentcore import (
    ChatResponse,
    ErrorType,
    Message,
    NormalizedStopReason,
    Policy,
    ProviderError,
    Role,
    Snapshot,
    Step,
    TokenUsage,
    ToolCall,
)
from agentcore.commands import CallModel, Finish, RunTools, Wait
from agentcore.events import Event, ModelFailed, ModelResponded, Setup, Started, ToolResult, ToolsReturned, WokeUp
from agentcore.machine.requests import command_of
from agentcore.messages import CallIssue
from tests.agentcore.playbook import CALCULATOR, Playbook

LETTERS = "abcdefghijklmnopqrstuvwxyz"
CALL_TOKENS = 18
ENDINGS = {
    "stop": (NormalizedStopReason.END_TURN, "stop"),
    "filter": (NormalizedStopReason.SAFETY_BLOCKED, "content_filter"),
    "withheld": (NormalizedStopReason.SAFETY_BLOCKED, "content_filter"),
    "context": (NormalizedStopReason.CONTEXT_WINDOW_EXCEEDED, "model_context_window_exceeded"),
    "new word": (NormalizedStopReason.UNKNOWN, "solar_flare"),
    "error word": (NormalizedStopReason.UNKNOWN, "error"),
    "broken off": (NormalizedStopReason.UNKNOWN, None),
}
TOO_MANY = ProviderError(ErrorType.RATE_LIMIT, "rate_limit", "too many")


def words(seed: int, count: int) -> tuple[str, ...]:
    """So many tokens of text, of which no dozen characters come again."""
    chance = random.Random(seed)
    return tuple(
        "".join(chance.choices(LETTERS, k=chance.randint(1, 7))) + (" " if chance.random() < 0.7 else "")
        for _ in range(count)
    )


@dataclass(frozen=True)
class Provider:
    """What a provider does. Lists that end go on as their last member; `None` members do nothing."""

    texts: tuple[tuple[str, ...], ...]  #: tokens said in each iteration; all but the last end in a tool call
    reasoning: tuple[int, ...] = (0,)  #: tokens thought, by the call of the turn
    repeats: int = 0  #: tokens repeated at a seam, where a hint asks to go on
    failures: Mapping[int, int | None] = field(default_factory=dict)  #: by the call of the turn; tokens said before it
    usage: bool = True
    prefill: bool = False
    echoes: bool = False  #: a prefilled text is sent again
    tool_errors: frozenset[int] = frozenset()  #: iterations whose tool fails
    other_words: float | None = None  #: after a hint it goes on in other words, so many times as long
    ending: str = "stop"  #: how the last answer ends where nothing cuts it, of `ENDINGS`
    pace: float = 0.01  #: seconds of a token
    setup_seconds: float = 0.2  #: of each call


def run(book: Playbook, provider: Provider, most: int = 300) -> Playbook:
    """The whole turn under this book's policy, or the rest of it where the book has begun."""
    if book.snapshot.state == "idle":
        book = book >> Started(0.0, book.setup, (Message(Role.USER, "tell me"),))
    for _ in range(most):
        if isinstance(book.step.command, Finish):
            return book
        book = book >> happens(book, provider)
    raise AssertionError("this turn does not end")


def happens(book: Playbook, provider: Provider) -> Event:
    at = book.snapshot.at
    match book.step.command:
        case CallModel() as command:
            return answers(book.snapshot, command, provider)
        case RunTools(calls=calls):
            error = ErrorType.TOOL if book.snapshot.iteration in provider.tool_errors else None
            said = f"result {book.snapshot.iteration}"
            return ToolsReturned(at + 0.1, tuple(ToolResult(c.id, c.name, said, error) for c in calls))
        case Wait(seconds=seconds):
            return WokeUp(at + seconds + 0.001)
    raise AssertionError(f"nothing answers {book.step.command}")


def answers(snapshot: Snapshot, command: CallModel, provider: Provider) -> Event:
    """One call: thinks, repeats, says, until it is done, is cut, fails, or runs out of time."""
    if provider.failures.get(command.attempt, 0) is None:
        return ModelFailed(snapshot.at + 0.05, TOO_MANY)
    said, spent, finished, thought, new = speak(snapshot, command, provider)
    before = provider.failures.get(command.attempt)
    breaks = before is not None and spent > before + thought
    if breaks:
        spent, said = before + thought, "".join(new[:before])
    seconds = provider.setup_seconds + provider.pace * spent
    left = command.seconds_left
    if left is not None and seconds > left:
        arrived = int((left - provider.setup_seconds) / provider.pace) - thought
        text = "".join(new[: max(0, arrived)])
        error = ProviderError(ErrorType.TIMEOUT, "timeout", "no time left")
        return ModelFailed(snapshot.at + left, error, ChatResponse(text) if text else None)
    at = snapshot.at + seconds
    if breaks:
        usage = TokenUsage(100, spent, thought) if provider.usage else None
        return ModelFailed(at, TOO_MANY, ChatResponse(said, usage=usage) if said else None)
    usage = TokenUsage(100, spent, min(thought, spent)) if provider.usage else None
    calls = provider.texts[min(snapshot.iteration, len(provider.texts)) - 1 :][1:]
    if finished:
        whole = (ToolCall(f"c{snapshot.iteration}", CALCULATOR.name, {"expression": "1"}, '{"expression": "1"}'),)
        if provider.ending != "stop" and not calls:
            return ModelResponded(at, ended_otherwise(said, usage, provider.ending))
        reason = NormalizedStopReason.TOOL_CALL if calls else NormalizedStopReason.END_TURN
        response = ChatResponse(said, whole if calls else (), usage=usage, stop_reason=reason, raw_stop_reason="end")
        return ModelResponded(at, response)
    inside = finished is None
    broken = (ToolCall("b", CALCULATOR.name, raw='{"exp', issue=CallIssue.TRUNCATED, shown_whole=False),)
    response = ChatResponse(
        said,
        broken_tool_calls=broken if inside else (),
        usage=usage,
        stop_reason=NormalizedStopReason.MAX_TOKENS,
        raw_stop_reason="length",
    )
    return ModelResponded(at, response)


def ended_otherwise(said: str, usage: TokenUsage | None, ending: str) -> ChatResponse:
    """A last answer that does not end with the model's own stop."""
    reason, word = ENDINGS[ending]
    if ending == "withheld":
        said, usage = "", TokenUsage(100, 0) if usage else None
    broken_off = ending == "broken off"
    return ChatResponse(
        said,
        usage=None if broken_off else usage,
        stop_reason=reason,
        raw_stop_reason=word,
        incomplete_stream=broken_off,
    )


def speak(
    snapshot: Snapshot, command: CallModel, provider: Provider
) -> tuple[str, int, bool | None, int, tuple[str, ...]]:
    """What is said, the tokens spent, whether it is finished (None: cut inside a tool call), the tokens thought, and
    the pieces that were said."""
    text = provider.texts[min(snapshot.iteration, len(provider.texts)) - 1]
    cost = CALL_TOKENS if snapshot.iteration < len(provider.texts) else 0
    cap, index = command.request.max_tokens, command.attempt - 1
    thought = provider.reasoning[min(index, len(provider.reasoning) - 1)]
    continued = command.request.continuation
    begins, echo = 0, ""
    if continued is not None and continued.text:
        begins = place_in(text, continued.text)
        if provider.prefill and not continued.repairs:
            echo = continued.text if provider.echoes else ""
        else:
            begins = max(0, begins - provider.repeats)
    rest, room = text[begins:], cap - thought
    if provider.other_words is not None and begins and not provider.prefill:
        rest = words(begins, max(1, round(len(rest) * provider.other_words)))
    if room <= 0:
        return "", cap, False, cap, ()
    if len(rest) + cost <= room:
        return echo + "".join(rest), thought + len(rest) + cost, True, thought, rest
    if len(rest) < room:
        return echo + "".join(rest), cap, None, thought, rest
    return echo + "".join(rest[:room]), cap, False, thought, rest[:room]


def place_in(text: tuple[str, ...], said: str) -> int:
    """How many tokens of the text stand in what was said, by its end."""
    whole, reached = "".join(text), len(said)
    if not whole.startswith(said):
        tail = said[-10:]
        reached = whole.rfind(tail) + len(tail)
    count = characters = 0
    while count < len(text) and characters < reached:
        characters += len(text[count])
        count += 1
    return count


def beginning_at(snapshot: Snapshot, policy: Policy, setup: Setup) -> Playbook:
    """A book that begins at this snapshot, as a fork does."""
    book = object.__new__(Playbook)
    begun = (Step(snapshot, (), command_of(snapshot)),)
    fields = {"policy": policy, "setup": setup, "snapshot": snapshot, "steps": begun, "records": ()}
    for name, value in fields.items():
        object.__setattr__(book, name, value)
    return book
