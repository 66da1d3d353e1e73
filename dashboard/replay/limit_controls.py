"""The numbers of a turn that a replay may change, with their recorded values and how far their sliders go."""

from dataclasses import dataclass

from agentcore.error_policy import ErrorPolicy
from agentcore.policy import LIMIT_NAMES, Policy
from dashboard.agents.limit_fields import LIMIT_FIELDS, ONE, completion_default, unit_of
from dashboard.live.turn_loader import connection_of
from dashboard.turns.models import Turn
from dashboard.turns.sent_caps import NO_CAP_SET

Number = int | float
#: Those that stand open on the page; the others are behind “all limits”.
FIRST = ("max_tokens", "max_continuations", "max_total_completion_tokens", "max_total_output_chars")


@dataclass(frozen=True, slots=True)
class LimitControl:
    """One number: what it was, and how far its slider goes. `unset` says what no number means, where it may be none."""

    name: str
    label: str
    unit: str
    recorded: Number | None
    least: Number
    slides_to: Number
    unset: str = ""
    whole: bool = True
    is_recorded: bool = True  #: False: calls that were only observed; `recorded` is what a replay begins with
    most: int | None = None  #: the largest number that may be asked for: of the cap, what its connection allows

    @property
    def recorded_unit(self) -> str:
        """The unit of the recorded value: `repair per turn` beside 1."""
        first, _, rest = self.unit.partition(" ")
        return f"{ONE.get(first, first.removesuffix('s'))} {rest}".rstrip() if self.recorded == 1 else self.unit

    @property
    def step(self) -> str:
        return "1" if self.whole else "0.1"

    @property
    def may_be_none(self) -> bool:
        """Whether the limit can be taken away: it may be none, and is not."""
        return bool(self.unset) and self.recorded is not None


def limit_controls_of(turn: Turn, policy: Policy) -> tuple[LimitControl, ...]:
    """max_tokens and every limit; sliders reach well beyond what was recorded, and numbers typed in may go further."""
    used = max(int(turn.output_tokens), turn.max_tokens or 1)
    return (_cap_dial(turn, used), *(_limit_dial(name, policy, turn, used) for name in LIMIT_FIELDS))


def _cap_dial(turn: Turn, used: int) -> LimitControl:
    connection = connection_of(turn)
    most = connection.max_output_tokens if connection else None
    unset = NO_CAP_SET if turn.max_tokens is None else ""
    slides_to = 4 * used if most is None else max(min(4 * used, most), turn.max_tokens or 1)
    name = "max_tokens"
    return LimitControl(name, LIMIT_NAMES[name], "tokens per call", turn.max_tokens, 1, slides_to, unset, most=most)


def retries_control(policy: ErrorPolicy) -> LimitControl:
    """The number of an error policy, which is no limit of `Limits`."""
    name, most = "max_retries", max(10, 2 * policy.max_retries)
    return LimitControl(name, LIMIT_NAMES[name], unit_of(name), policy.max_retries, 0, most)


def _limit_dial(name: str, policy: Policy, turn: Turn, used: int) -> LimitControl:
    known, recorded = LIMIT_FIELDS[name], getattr(policy.limits, name)
    reaches: dict[str, Number] = {
        "max_continuations": 20,
        "max_total_completion_tokens": 8 * used,
        "max_total_output_chars": max(len(turn.output_text) * 2, 2_000),
        "max_tool_repair_attempts": 5,
        "max_steps": 50,
        "max_total_tokens": 8 * (used + int(turn.input_tokens)),
        "max_seconds": max(60, round(8 * (turn.duration_ms or 0) / 1000)),
        "schema_rounds": 10,
        "truncation_budget_multiplier": known.maximum,
    }
    least = known.minimum if not known.whole else int(known.minimum)
    unset = "" if recorded is not None and known.unset is None else (known.unset or "").replace("the first ", "")
    if recorded is None and name == "max_total_completion_tokens" and turn.max_tokens:
        unset = completion_default(turn.max_tokens)
    slides_to = min(known.maximum, max(reaches[name], 2 * (recorded or 0) if recorded and recorded < 1_000 else 0))
    unit = known.unit if name == "truncation_budget_multiplier" else f"{known.unit} per turn"
    return LimitControl(name, known.label, unit, recorded, least, slides_to, unset, known.whole, not policy.watched)
