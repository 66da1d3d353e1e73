"""A policy: the limits of a turn and the handling of its errors. All are values; their owner versions them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from agentcore.argument_validation import strict
from agentcore.continuation_outcome import Criterion
from agentcore.error_policy import ErrorPolicy, ResolvesErrorContext
from agentcore.errors import ErrorType
from agentcore.reasons import NormalizedStopReason
from agentcore.values import replace, settle

#: Factor of the first `max_tokens` that a turn may use in total where `max_total_completion_tokens` is None.
DEFAULT_COMPLETION_CALLS = 4


@strict(truncation_budget_multiplier=(1, 8))
@dataclass(frozen=True, slots=True)
class Limits:
    """What a turn may use, counted over the whole turn (spec: stop-reason-state-machine, "Hard limits")."""

    max_continuations: int = 3  #: how often a truncated answer is continued, resumes included
    #: output tokens of all calls, beyond which nothing is continued, nor tried again after an error that cost some;
    #: None: 4 times the first max_tokens, and no limit where none is known
    max_total_completion_tokens: int | None = None
    max_total_output_chars: int = 120_000  #: characters of the whole answer; it is cut there
    max_tool_repair_attempts: int = 1  #: how often a broken tool call is requested again
    max_steps: int = 20  #: iterations
    max_total_tokens: int | None = None  #: input and output tokens together; None: no limit
    max_seconds: float | None = None  #: seconds since the start, without pauses; None: no limit
    schema_rounds: int = 3  #: envelope retries, without the first call
    truncation_budget_multiplier: float = 2.0  #: factor of max_tokens after a truncated envelope, 1 to 8


#: What people call each limit, beside the key that programs know it by. Those after `Limits`' own are an agent's, an
#: error policy's, a connection's, and an agent's again.
LIMIT_NAMES: Mapping[str, str] = {
    "max_continuations": "Max continuations",
    "max_total_completion_tokens": "Max completion tokens per turn",
    "max_total_output_chars": "Max output characters",
    "max_tool_repair_attempts": "Max tool-call repairs",
    "max_steps": "Max steps",
    "max_total_tokens": "Max tokens per turn",
    "max_seconds": "Time limit",
    "schema_rounds": "Envelope retries",
    "truncation_budget_multiplier": "Truncation budget multiplier",
    "max_tokens": "Max tokens per call",
    "max_retries": "Max failures in a row",
    "max_output_tokens": "Max output tokens",
    "approvals.seconds": "Approval time limit",
}

#: What people call each setting of a turn, by its key: its limits, what is done about each type of error, and what
#: about the tool calls of a truncated answer.
SETTING_NAMES: Mapping[str, str] = {
    **LIMIT_NAMES,
    **{f"on_{error}_error": f"On {error.replace('_', ' ')} error" for error in ErrorType},
    "tool_calls_on_truncation": "Tool calls of a truncated answer",
}


def setting_named(key: str) -> str:
    """`On tool error (on_tool_error)`: the name of a setting with its key, at the beginning of a sentence."""
    return f"{SETTING_NAMES[key]} ({key})"


def limit_in_words(key: str, used: str = "") -> str:
    """The name within a sentence, with the key: `Max steps (max_steps)`, `the time limit (max_seconds)`. `used`: how
    much of it, in the same brackets: `Max steps (max_steps: 3 of 3)`."""
    name = LIMIT_NAMES[key]
    name = name if name.startswith("Max ") else f"the {name[0].lower()}{name[1:]}"
    return f"{name} ({key}: {used})" if used else f"{name} ({key})"


def higher(key: str) -> str:
    """`a higher Max steps (max_steps)`, `a higher time limit (max_seconds)`."""
    return f"a higher {limit_in_words(key).removeprefix('the ')}"


#: The spec's configuration keys, accepted on import, and the fields they mean.
SPEC_KEYS: Mapping[str, str] = {
    "continuation_max_attempts": "max_continuations",
    "continuation_max_output_chars": "max_total_output_chars",
    "continuation_max_total_completion_tokens": "max_total_completion_tokens",
    "continuation_tool_repair_attempts": "max_tool_repair_attempts",
}


class OnTruncation(StrEnum):
    """What happens to complete, valid tool calls of a `max_tokens` answer."""

    EXECUTE_IF_COMPLETE = "execute_if_complete"  #: they run, if all are complete and valid
    REPAIR = "repair"  #: they are requested again, like broken ones


@strict()
@dataclass(frozen=True, slots=True)
class Violation:
    """One breach of a JSON Schema: where in the value and in the schema (JSON Pointers), which keyword, in words."""

    pointer: str  #: in the value
    schema_pointer: str  #: in the schema
    keyword: str  #: such as `required`
    message: str  #: the validator's sentence, which may quote the value


#: Every breach of a schema by a value: `validate(schema, value)`. Where it raises, nothing counts as valid: a call gets
#: an error result (or is asked for again, if cut), an envelope turn ends as forbidden, with stop reason `error`.
Validator = Callable[[Mapping[str, Any], Any], list[Violation]]

#: Turns almost valid JSON into JSON. The result is parsed strictly, so it need not be valid.
Repairer = Callable[[str], str]


class RecoveryPath(StrEnum):
    """How a structured answer was found in a text, with the values of `envelope.recovery.applied` (design §3.7)."""

    DIRECT = "direct"  #: the whole text, always tried first; no recovery
    MARKDOWN_FENCE = "markdown-fence"  #: inside a fenced block
    BRACE_WALKER = "brace-walker"  #: the first balanced object
    JSONREPAIR = "jsonrepair"  #: repaired by `Policy.repair`; never for a truncated text


@strict()
@dataclass(frozen=True, slots=True)
class EnvelopeRules:
    """How structured answers are read: which local recoveries are tried if the unchanged text is not JSON."""

    #: the enabled paths; they are always tried in the order of the enumeration
    recovery: tuple[RecoveryPath, ...] = (RecoveryPath.MARKDOWN_FENCE, RecoveryPath.BRACE_WALKER)

    def __post_init__(self) -> None:
        settle(self, recovery=lambda words: tuple(map(RecoveryPath, words)))


REVISION = 10  #: the judging rules of this release


@strict()
@dataclass(frozen=True, slots=True)
class CriterionSpec:
    """A criterion as stored in a policy: the dotted path of its class, and the keyword arguments for its
    constructor."""

    path: str  #: `module.Class`, or a name that the builder knows
    kwargs: Mapping[str, Any] = field(default_factory=dict)  #: JSON types


@strict(revision=(0, REVISION))
@dataclass(frozen=True, slots=True)
class Policy:
    """Limits, error policy and rules of one turn. A policy does not change while the turn runs.

    `max_tokens`, `system_prompt` and `model` replace what the agent asks for, where set: a replay's altered budget is a
    policy like any other. `validate` and `repair` come from outside, for the core has no JSON Schema validator and no
    JSON repairer of its own. So does `resolver`, and so do `criteria`: what is stored of those is `criterion_specs`,
    from which they are built.
    """

    limits: Limits = field(default_factory=Limits)  #: what the turn may use
    error_policy: ErrorPolicy = field(default_factory=ErrorPolicy)  #: how its errors are handled
    tool_calls_on_truncation: OnTruncation = OnTruncation.EXECUTE_IF_COMPLETE  #: about whole calls of a cut answer
    finish_reasons: tuple[NormalizedStopReason, ...] = ()  #: stop reasons after which the agent must not continue
    criteria: tuple[Criterion, ...] = ()  #: beside the built-in ones
    criterion_specs: tuple[CriterionSpec, ...] = ()  #: where `criteria` come from, in the same order
    envelope: EnvelopeRules = field(default_factory=EnvelopeRules)  #: how structured answers are read
    max_tokens: int | None = None  #: output tokens of one call; None: the agent's setting
    system_prompt: str | None = None  #: None: the agent's setting
    model: str | None = None  #: None: the agent's setting
    min_overlap: int = 12  #: minimum length in characters of an overlap
    #: whether words that were broken off while they repeated the answer's end are dropped; None: as before they were
    drop_repetitions: bool | None = None
    #: whether evaluations and notices say “about” before token counts that are estimates; None: as in releases before
    #: this field
    tell_estimates: bool | None = None
    #: the judging rules that this policy's turns are judged by: those of this release, unless a stored policy says
    #: otherwise. None: the rules from before revisions were numbered, as in every policy stored without a number
    revision: int | None = REVISION
    #: whether the call is only observed, so no limit applies to it. None: no
    watched: bool | None = None
    max_retry_after: float = 120.0  #: the longest wait, in seconds, that a provider may request
    validate: Validator | None = field(default=None, compare=False, repr=False)  #: None: every value is valid
    repair: Repairer | None = field(default=None, compare=False, repr=False)  #: None: nothing is repaired
    #: provides the context of a failure for the error policy; None: the machine's counts. One that raises
    #: stops the turn
    resolver: ResolvesErrorContext | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        settle(self, tool_calls_on_truncation=OnTruncation, criteria=tuple, criterion_specs=tuple)
        settle(self, finish_reasons=lambda words: tuple(map(NormalizedStopReason, words)))


def stated(policy: Policy, before: Policy) -> Policy:
    """The policy, in place of the one `before`. Limits that somebody has set are no longer those that observed calls
    imply."""
    set_by_somebody = policy.watched and policy.limits != before.limits and policy.limits.max_continuations > 0
    return replace(policy, watched=None) if set_by_somebody else policy


def is_watched(policy: Policy) -> bool | None:
    """Whether a turn under this policy is only observed; None if it is not, or may continue under other limits."""
    return True if policy.watched and policy.limits.max_continuations == 0 else None
