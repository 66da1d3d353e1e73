"""What the second examiner's provider says, and what it does beside saying it (`scripted_provider`)."""

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from agentcore import ErrorType, NormalizedStopReason, ProviderError

ENDLESS = 10**6  #: tokens of thinking that no cap has room for
_PROSE = ["the", "of", "a limit", "budget", "recording", "supercalifragilistic", "token-counting,", "yes.", "because"]
_WIDE = ["東京", "数", "の", "🙂", "👍🏽", "é", "日本語", "ü", " "]
_LONG = ["internationalization", " incomprehensibilities", "x", " ", "-" * 24, "a"]

Ending = tuple[NormalizedStopReason, str | None]
ENDS: Ending = (NormalizedStopReason.END_TURN, "stop")
CUT: Ending = (NormalizedStopReason.MAX_TOKENS, "length")
CALLED: Ending = (NormalizedStopReason.TOOL_CALL, "tool_calls")

#: The next few tokens of each kind of text.
KINDS: Mapping[str, Callable[[random.Random], list[str]]] = {
    "prose": lambda chance: [" " + chance.choice(_PROSE)],
    "lines": lambda chance: [chance.choice("abcdef"), f"{chance.randrange(99)}", ": ok", "\n"],
    "csv": lambda chance: ["0", ",", "0", ",", chance.choice("0001"), "\n"],
    "refrain": lambda _: ["row", " row", " row", " your", " boat", ",", " gently", " down", " the", " stream", "\n"],
    "wide": lambda chance: [chance.choice(_WIDE)],
    "long": lambda chance: [chance.choice(_LONG)],
    "letters": lambda chance: [chance.choice("abcdefgh \n")],
    "objects": lambda chance: ['{"', "k", '":', " ", f"{chance.randrange(1000)}", "}", ",", "\n"],
    "code": lambda chance: ["    ", "x", "[", f"{chance.randrange(50)}", "]", " =", " f", "(", "y", ")", "\n"],
}

ERRORS: Mapping[str, ProviderError] = {
    "429": ProviderError(ErrorType.RATE_LIMIT, "rate_limit", "slow down", 429, retry_after=2.0),
    "429 for long": ProviderError(ErrorType.RATE_LIMIT, "rate_limit", "slow down", 429, retry_after=500.0),
    "500": ProviderError(ErrorType.MODEL, "server", "oops", 500),
    "401": ProviderError(ErrorType.MODEL, "auth", "no", 401, retryable=False),
    "refused": ProviderError(ErrorType.MODEL, "connection", "refused"),
    "late": ProviderError(ErrorType.TIMEOUT, "timeout", "late", 504),
    "no choices": ProviderError(ErrorType.VALIDATION, "no_answer", "choices is empty", 200),
}
BROKEN_OFF = ProviderError(ErrorType.MODEL, "incomplete_stream", "closed")


@dataclass(frozen=True)
class Habits:
    """What a provider says, and what it does beside saying it."""

    seed: int
    kind: str = "prose"
    lengths: tuple[int, ...] = (80,)  #: tokens of text, by iteration
    ending: Ending = ENDS
    tools: tuple[tuple[tuple[str, Mapping[str, Any]], ...], ...] = ()  #: calls that end an answer, by iteration
    malformed: bool = False  #: a call's arguments lack their last brace, until they are asked for again
    tool_errors: frozenset[tuple[str, int]] = frozenset()  #: which run of which tool fails
    payloads: tuple[str, ...] = ()  #: structured answers: the first, and those after a correction
    exact: bool = False  #: a last assistant message is continued
    echo: bool = False  #: and sent again first
    repeat: str = "never"  #: after a hint: never, tokens, sometimes, line, upper case, after a blank, preamble, anew
    again: int = 20  #: characters said again at least
    thinking: str = "never"  #: never, always, varied, first, later, endless
    thought: int = 0  #: tokens
    told: str = "usage"  #: how thinking is told: usage, shown, hidden, unreported, uncounted
    usage: str = "all"  #: all, none, sometimes, zero, so far (of all calls together), without the end mark
    end_mark: int = 0  #: tokens that the end takes
    hides_cuts: bool = False  #: a cut answer is told as one that ended
    fails: Mapping[int, str | int] = field(default_factory=dict)  #: by attempt; a number: tokens before it breaks off
    window: int | None = None
    pace: float = 0.02  #: seconds of a token
    wait: float = 0.2  #: seconds of each call
    waits_in_line: float = 0.0  #: seconds that each call stands in line before
    tool_seconds: float | None = None  #: that a tool takes at most; None: each takes the same short time
    tokens: bool = False  #: a cut answer comes with a token to go on by
    holds_at: str | None = None  #: the deciding state at which a person holds the turn
    approved: str | None = None  #: the tool whose calls a person approves or refuses
    acts_after: float | None = None  #: seconds of a call, or of tools, after which a person changes limits
    reads: bool = False  #: what a person does depends on what stands there
    writes: bool = False  #: a person changes the conversation, or a tool call
