"""One stored turn under a draft: the same, flipped, or undecidable from what its recording holds."""

from dataclasses import dataclass, replace

from agentcore.errors import CoreError
from agentcore.machine.snapshot import Snapshot, Spent
from agentcore.policy import Policy
from agentcore.replay import Recording, what_if
from dashboard.agents.criteria import criteria_faults
from dashboard.agents.policies import draft_policy
from dashboard.backtests.models import Backtest
from dashboard.backtests.reading import Told
from dashboard.backtests.tallies import Judged
from dashboard.prices.rates import rate_of
from dashboard.prices.selectors import totals_price

UNDECIDABLE = Judged("undecidable")
KEPT = ("system_prompt", "model", "drop_repetitions")  #: a turn's own, under any draft


@dataclass(frozen=True, slots=True)
class Draft:
    """What is tried. `sound`: every criterion of it can be asked."""

    policy: Policy
    max_tokens: int | None
    sound: bool

    @classmethod
    def of(cls, backtest: Backtest) -> "Draft":
        policy = draft_policy(backtest.policy)
        return cls(policy, backtest.max_tokens, not criteria_faults(policy))

    def for_turn(self, own: Policy) -> Policy:
        """What the turn itself overrode stays as it was, and how its lost words were merged."""
        kept = {name: getattr(own, name) for name in KEPT}
        return replace(self.policy, **kept, max_tokens=own.max_tokens if self.max_tokens is None else self.max_tokens)


def judge(told: Told, recording: Recording, draft: Draft) -> Judged:
    """Try the draft on one turn. A history that this core cannot judge decides nothing."""
    if not draft.sound or not recording.records:
        return UNDECIDABLE
    try:
        imagined = what_if(recording, draft.for_turn(recording.policy), trace=False)
    except CoreError:
        return UNDECIDABLE
    if imagined.undecidable or imagined.final is None:
        return UNDECIDABLE
    return _decided(told, recording, imagined.final)


def _decided(told: Told, recording: Recording, final: Snapshot) -> Judged:
    tokens, calls = final.spent.output_tokens - told.output_tokens, final.spent.attempts - told.attempts
    ends = ("running", "") if final.end is None else (final.end.status.value, final.end.terminal_reason)
    same = ends == (told.status, told.terminal_reason)
    return Judged(
        "same" if same else "flipped",
        "" if same else _how(calls, tokens),
        ends[1] or ends[0],
        tokens,
        calls,
        final.at - recording.records[-1].event.at,
        _dollars(told, final.spent, recording.base_snapshot.spent),
    )


def _how(calls: int, tokens: int) -> str:
    if (calls, tokens) == (0, 0):
        return "otherwise"
    return "gone_on" if (calls, tokens) > (0, 0) else "sooner"


def _dollars(told: Told, spent: Spent, before: Spent) -> float | None:
    """What it would have cost more, each time as if it were one call; None where no price is known."""
    if (spent.input_tokens, spent.output_tokens) == (told.input_tokens, told.output_tokens):
        return 0.0
    rate = rate_of(provider=told.provider, model=told.model, address=told.address or "", at=told.started_at)
    was = replace(spent, input_tokens=told.input_tokens, output_tokens=told.output_tokens)
    then, now = totals_price(spent, before, rate), totals_price(was, before, rate)
    return None if then is None or now is None else float(then.dollars - now.dollars)
