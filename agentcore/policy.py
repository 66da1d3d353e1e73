"""The numbers of a turn and what is done about its errors: together a policy. All values; versioned by their owner."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from agentcore.criteria.outcome import Criterion
from agentcore.error_policy import ErrorPolicy
from agentcore.reasons import NormalizedStopReason


@dataclass(frozen=True, slots=True)
class Limits:
    """What a turn may use, counted over the whole turn (spec: stop-reason-state-machine, "Hard limits")."""

    max_continuations: int = 3
    max_total_completion_tokens: int | None = None  #: tokens; None: 4 times the first max_tokens
    max_total_output_chars: int = 120_000  #: characters
    max_tool_repair_attempts: int = 1
    max_steps: int = 20  #: iterations
    max_total_tokens: int | None = None  #: input and output tokens together
    max_seconds: float | None = None  #: seconds in the model and in tools
    schema_rounds: int = 3  #: envelope retries
    truncation_budget_multiplier: float = 2.0


#: The spec's configuration keys, accepted on import, and the fields they mean.
SPEC_KEYS: Mapping[str, str] = {
    "continuation_max_attempts": "max_continuations",
    "continuation_max_output_chars": "max_total_output_chars",
    "continuation_max_total_completion_tokens": "max_total_completion_tokens",
    "continuation_tool_repair_attempts": "max_tool_repair_attempts",
}


class OnTruncation(StrEnum):
    """What is done with whole and valid tool calls of a `max_tokens` answer."""

    EXECUTE_IF_COMPLETE = "execute_if_complete"
    REPAIR = "repair"


@dataclass(frozen=True, slots=True)
class Violation:
    """One breach of a JSON Schema: where in the value and in the schema (JSON Pointers), which keyword, in words."""

    pointer: str
    schema_pointer: str
    keyword: str
    message: str


Validator = Callable[[Mapping[str, Any], Any], list[Violation]]


@dataclass(frozen=True, slots=True)
class Policy:
    """Limits, error policy and rules of one turn; it never changes while the turn runs.

    `max_tokens`, `system_prompt` and `model` replace what the agent asks for, where set: a replay's altered budget is a
    policy like any other. `validate` comes from outside, for the core has no JSON Schema validator of its own.
    """

    limits: Limits = field(default_factory=Limits)
    error_policy: ErrorPolicy = field(default_factory=ErrorPolicy)
    tool_calls_on_truncation: OnTruncation = OnTruncation.EXECUTE_IF_COMPLETE
    finish_reasons: tuple[NormalizedStopReason, ...] = ()  #: reasons after which the agent must not go on
    criteria: tuple[Criterion, ...] = ()  #: beside the built-in ones
    max_tokens: int | None = None
    system_prompt: str | None = None
    model: str | None = None
    min_overlap: int = 12  #: characters from which a repeated seam counts as overlap
    max_retry_after: float = 120.0  #: seconds we are ready to wait because a provider says so
    validate: Validator | None = field(default=None, compare=False, repr=False)
