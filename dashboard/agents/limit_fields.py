"""The numbers of a policy as fields to fill in: unit, range and meaning of each. Defaults are `Limits()`'s own."""

from collections.abc import Mapping
from dataclasses import dataclass

from agentcore.number_format import as_set, duration, number, number_rule, seconds
from agentcore.policy import DEFAULT_COMPLETION_CALLS, LIMIT_NAMES, SPEC_KEYS, Limits
from agentcore.resource import APPROVAL_SECONDS

#: Limits of time, whose names do not say the unit.
IN_SECONDS = frozenset({"max_seconds", APPROVAL_SECONDS})
#: Units that no name of a limit says.
UNNAMED_UNITS = frozenset({"seconds", "days"})
#: Units of which one is not the word without its last letter.
ONE: Mapping[str, str] = {"retries": "retry", "failures in a row": "failure"}


@dataclass(frozen=True, slots=True)
class LimitField:
    """One number, from `minimum` to `maximum` (inclusive, in `unit`); `whole`: whole numbers only.

    `unset` says what no value means; None: there must be one.
    """

    label: str
    unit: str
    minimum: float
    maximum: float
    meaning: str
    whole: bool = True
    unset: str | None = None

    @property
    def told_unit(self) -> str:
        """The unit, where the label does not say it."""
        return self.unit if self.unit in UNNAMED_UNITS else ""

    @property
    def rule(self) -> str:
        """`must be a whole number from 1 to 10,000.`"""
        return number_rule(self.minimum, self.maximum, whole=self.whole, unit=self.told_unit)

    @property
    def span_in_words(self) -> str:
        return f"{self.minimum:g} to {number_in_words(self.maximum)}{'' if self.whole else ', decimals allowed'}"


def number_in_words(number: float) -> str:
    """`1000000.0` → `1,000,000`; a fraction keeps its decimals."""
    return as_set(number)


LIMIT_FIELDS: Mapping[str, LimitField] = {
    "max_continuations": LimitField(
        LIMIT_NAMES["max_continuations"],
        "continuations",
        0,
        1_000,
        "How often the model may be asked to continue a truncated answer.",
    ),
    "max_total_completion_tokens": LimitField(
        LIMIT_NAMES["max_total_completion_tokens"],
        "tokens",
        1,
        100_000_000,
        "Output tokens of all calls of the turn together. Beyond that, no answer is continued.",
        unset=f"4 × the first {LIMIT_NAMES['max_tokens']}, if set",
    ),
    "max_total_output_chars": LimitField(
        LIMIT_NAMES["max_total_output_chars"],
        "characters",
        1,
        100_000_000,
        "Characters of the whole answer. A longer answer is cut there, with a notice.",
    ),
    "max_tool_repair_attempts": LimitField(
        LIMIT_NAMES["max_tool_repair_attempts"],
        "repairs",
        0,
        100,
        "How often a broken tool call may be requested again.",
    ),
    "max_steps": LimitField(LIMIT_NAMES["max_steps"], "steps", 1, 10_000, "Cycles of a model call and its tool calls."),
    "max_total_tokens": LimitField(
        LIMIT_NAMES["max_total_tokens"],
        "tokens",
        1,
        1_000_000_000,
        "Input and output tokens of the turn together.",
        unset="no limit",
    ),
    "max_seconds": LimitField(
        LIMIT_NAMES["max_seconds"],
        "seconds",
        0.1,
        604_800,
        "Time since the start of the turn. An operator's pauses and waiting for a free slot do not count.",
        whole=False,
        unset="no limit",
    ),
    "schema_rounds": LimitField(
        LIMIT_NAMES["schema_rounds"], "retries", 0, 100, "How often an invalid envelope is requested again."
    ),
    "truncation_budget_multiplier": LimitField(
        LIMIT_NAMES["truncation_budget_multiplier"],
        "times the cap",
        1,
        8,
        f"The factor by which {LIMIT_NAMES['max_tokens']} grows after a truncated envelope.",
        whole=False,
    ),
}

#: What is no limit of the turn's: it changes nothing of how a turn is judged.
RETENTION_FIELDS: Mapping[str, LimitField] = {
    "keep_raw_days": LimitField(
        "Raw responses kept",
        "days",
        0,
        36_500,
        "How long the raw provider responses are kept after a turn has ended. 0 deletes them when the turn ends. "
        "Records, calls, texts and reasons are kept.",
        unset="forever",
    ),
}

#: Every number of a policy, by the name its source is told under.
NUMBER_FIELDS: Mapping[str, LimitField] = {
    **{f"limits.{name}": field for name, field in LIMIT_FIELDS.items()},
    **{f"retention.{name}": field for name, field in RETENTION_FIELDS.items()},
}


def spec_key_of(name: str) -> str | None:
    """The spec's own configuration key for a limit, by which it is taken as well; None where it has none."""
    return next((key for key, ours in SPEC_KEYS.items() if ours == name), None)


def default_in_words(name: str) -> str:
    """What holds when the number is left out: its default, or what `unset` says."""
    default = getattr(Limits(), name, None)
    number = LIMIT_FIELDS.get(name) or RETENTION_FIELDS[name]
    return number.unset or "no limit" if default is None else number_in_words(default)


def completion_default(max_tokens: int) -> str:
    """`240 (4 × 60)`: Max completion tokens per turn where no policy sets it, by the first Max tokens per call."""
    return f"{number(DEFAULT_COMPLETION_CALLS * max_tokens)} ({DEFAULT_COMPLETION_CALLS} × {number(max_tokens)})"


#: What `max_retries` counts: its key speaks of retries, and a call that failed is one before it is tried again.
FAILURES_MEANING = (
    "How many calls or steps in a row may fail before the turn ends. The first failure counts: 2 allows one retry, 3 "
    "allows two, and 0 and 1 allow none."
)
#: What a limit counts that is not one of a policy's numbers.
_UNITS = {"max_tokens": "tokens", "max_retries": "failures in a row", APPROVAL_SECONDS: "seconds"}


def unit_of(limit: str) -> str:
    """What a limit counts, in the plural."""
    return _UNITS.get(limit) or LIMIT_FIELDS[limit].unit


def unit_for(limit: str, value: float) -> str:
    """What a limit counts, behind this number: `failure` behind 1, else `failures in a row`."""
    unit = unit_of(limit)
    return ONE.get(unit, unit.removesuffix("s")) if value == 1 else unit


def amount(limit: str, value: float | None) -> str:
    """`378 tokens`, `1 failure`, `no limit`."""
    if value is None:
        return (LIMIT_FIELDS[limit].unset if limit in LIMIT_FIELDS else None) or "no limit"
    return f"{number(value)} {unit_for(limit, value)}"


def setting(limit: str, value: float) -> str:
    """`1,305`, `8 s`: a value behind its limit's name, with the unit where the name does not say it."""
    return seconds(value) if limit in IN_SECONDS else number(value)


#: What limits of tokens count, where a number stands without the limit's name.
_COUNTED_TOKENS = {"max_total_tokens": "input and output tokens", "max_total_completion_tokens": "output tokens"}


def amount_used(limit: str, value: float) -> str:
    """`2,090 input and output tokens`, `1 retry`, `1.33 s`: how much was used of a limit."""
    if limit in IN_SECONDS:
        return duration(value)
    tokens = _COUNTED_TOKENS.get(limit)
    return f"{number(value)} {tokens}" if tokens else amount(limit, value)
