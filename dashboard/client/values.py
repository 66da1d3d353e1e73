"""What the client sends and is sent, as typed values. Texts and times are as the API has them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, TypedDict, TypeVar

Json = Mapping[str, Any]
#: The limits of a turn by their keys (`Limits` of the server's policies): the type of each, and what it bounds.
LIMITS: Mapping[str, tuple[type[int] | type[float], str]] = {
    "max_continuations": (int, "continuations of a truncated answer"),
    "max_total_completion_tokens": (int, "output tokens of all calls together"),
    "max_total_output_chars": (int, "characters of the whole answer"),
    "max_tool_repair_attempts": (int, "repeated requests for a broken tool call"),
    "max_steps": (int, "cycles of a model call and its tool calls"),
    "max_total_tokens": (int, "input and output tokens of all calls together"),
    "max_seconds": (float, "seconds since the start, without pauses"),
    "schema_rounds": (int, "repeated requests for an invalid envelope"),
    "truncation_budget_multiplier": (float, "factor by which Max tokens per call grows after a truncated envelope"),
}


class Overrides(TypedDict, total=False):
    """What takes the place of the agent's and the policy's own words."""

    max_tokens: int
    limits: Json
    error_policy: Json
    tool_calls_on_truncation: str
    retention: Json
    system_prompt: str
    model: str


class Changes(TypedDict, total=False):
    """What may be changed with an action. A server that does not know one of them refuses it by name."""

    limits: Json
    max_tokens: int
    no_max_tokens: bool
    error_policy: Json
    request: Json
    tool_result: Json
    tool_call: Json
    answer: Json
    breakpoints: Sequence[Json]
    run_to: str
    expected_seq: int


class Suggestion(TypedDict):
    """The limit that would have let a turn finish, as its page shows it."""

    limit: str
    name: str
    value: int | float
    recorded: int | float | None  #: None: the turn had no such limit
    certainty: str  #: certain, estimated or undecidable
    certainty_word: str  #: proven, certain, likely or not known: the word on the page
    basis: str  #: recording, rerun, agent, model, setting or none: what the value rests on
    goal: str  #: finish, one_call, no_repair or retry
    share: float | None
    longer_than: int | None
    answers: int
    cut: int
    calls: int | None
    used: int | None
    rerun: str | None
    overrides: Json  #: the change, as `what_if` takes it
    costs: Json
    words: str


@dataclass(frozen=True, slots=True)
class Record:
    """One row of a turn's history: what happened, the moves it caused, what is asked next."""

    seq: int
    at: str
    event: Json
    transitions: Sequence[Json]
    command: Json
    observed: Sequence[Json]


@dataclass(frozen=True, slots=True)
class Draft:
    """Text added to the answer that streams, from its character `offset` on; the next record tells it whole."""

    attempt: int
    offset: int
    text: str


@dataclass(frozen=True, slots=True)
class Attempt:
    """One call of the model, as it was sent and answered."""

    index: int
    kind: str
    iteration: int
    max_tokens: int | None  #: None: none was sent
    request: Any
    response: Json | None
    status_code: int | None
    stop_reason: str | None
    raw_stop_reason: str | None
    usage: Json | None
    tokens_estimated: bool  #: the provider did not count; the turn counts an estimate for this call
    text: str
    tool_calls: Sequence[Json]
    error: Json | None
    started_at: str
    first_token_ms: int | None
    duration_ms: int | None
    max_tokens_demanded: bool = False  #: not set by the caller; the provider's API requires a limit


Value = TypeVar("Value")


def read_as(kind: type[Value], shown: Json, **more: Any) -> Value:
    """The value as the server tells it; what a newer server tells beside it is left out."""
    known = {f.name: shown[f.name] for f in fields(kind) if f.name in shown}  # type: ignore[arg-type] # a dataclass
    return kind(**{**known, **more})
