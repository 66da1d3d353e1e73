"""One stored turn under a draft policy: same, flipped or undecidable, and how certain that is."""

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import structlog
from django.core.exceptions import ValidationError

from agentcore.policy import Policy
from agentcore.reasons import NormalizedStopReason, TurnStatus
from agentcore.replay import Certainty, Experience, Recording, WhatIf, Why, what_if
from agentcore.replay.recorded_run import Past
from agentcore.snapshot import Snapshot
from agentcore.snapshot_parts import Spent
from agentcore.states import CALLS
from dashboard.agents.criteria import criteria_faults
from dashboard.agents.models import PolicyVersion
from dashboard.agents.observe_policy import by_itself, was_watched
from dashboard.agents.policies import draft_policy, overridden
from dashboard.agents.policy_layers import layer_of, said_of, tried, versions_named
from dashboard.agents.policy_resolution import Layer, Level
from dashboard.platform.fields import exact_json
from dashboard.policies.backtests.models import Backtest
from dashboard.policies.backtests.recording_loader import TurnRow
from dashboard.policies.backtests.tallies import TurnVerdict
from dashboard.turns.certainty_text import NOT_JUDGED
from dashboard.turns.models import Turn
from dashboard.turns.prices.rates import rate_of
from dashboard.turns.prices.selectors import totals_price
from dashboard.turns.shared_values import rules_of

log = structlog.get_logger(__name__)

UNDECIDABLE = TurnVerdict("undecidable", why=NOT_JUDGED)
NO_EXPERIENCE = Experience()
KEPT = ("system_prompt", "model", "drop_repetitions", "tell_estimates", "revision")  #: a turn's own, under any draft
KEPT_WORDS = 256  #: different words that turns ran under
#: What comes of sources that name versions which are not here, or say what no version says: a turn from elsewhere.
WORDS_LOST = (LookupError, TypeError, ValueError, AttributeError, ValidationError)


@dataclass(frozen=True, slots=True)
class DraftPolicy:
    """What is tried. `sound`: every criterion of it can be asked; `stands`: it stands for a policy, among the words
    each turn ran under, and is not all of them. `kept`: a turn's own overrides come before it, as in a turn that runs
    under it.
    """

    policy: Policy
    max_tokens: int | None
    sound: bool
    stands: "DraftResolver | None" = None
    kept: bool = False

    @property
    def asks_sources(self) -> bool:
        """Whether it has to be known whose words a turn ran under."""
        return self.kept or self.stands is not None

    @classmethod
    def of(cls, backtest: Backtest) -> "DraftPolicy":
        policy = draft_policy(backtest.policy)
        name = backtest.stands_for.name if backtest.stands_for else None
        stands = DraftResolver(Layer(Level.AGENT, backtest.policy, policy=name)) if name else None
        kept = backtest.keeps_overrides or stands is not None
        return cls(policy, backtest.max_tokens, not criteria_faults(policy), stands, kept)

    @classmethod
    def in_place(cls, version: PolicyVersion) -> "DraftPolicy":
        """A version in place of its policy, as a shadow tries it."""
        layer = layer_of(version, Level.AGENT, "")
        policy = draft_policy(layer.said)
        return cls(policy, None, not criteria_faults(policy), DraftResolver(layer), kept=True)

    def for_turn(self, told: TurnRow, own: Policy) -> Policy | None:
        """What a turn would have run under; None where words that it ran under are not here. Its model, prompt and
        tokens are its own, and how lost words were merged; of its other overrides it keeps those that stand before a
        policy."""
        whole = self._alone(told) if self.stands is None else self.stands.within(told)
        if whole is None:
            return None
        kept = {name: getattr(own, name) for name in KEPT}
        return replace(whole, **kept, max_tokens=own.max_tokens if self.max_tokens is None else self.max_tokens)

    def _alone(self, told: TurnRow) -> Policy | None:
        if not (self.kept and has_overrides(told)):
            return self.policy
        try:
            return overridden(self.policy, exact_json(told.overrides or "{}"))
        except WORDS_LOST as error:
            log.info("words_lost", overrides=told.overrides, error=f"{type(error).__name__}: {error}")
            return None


def has_overrides(told: TurnRow) -> bool:
    """Whether the turn was given anything that comes before a policy."""
    try:
        return said_of(exact_json(told.overrides or "{}"))
    except (ValueError, AttributeError):
        return False


@dataclass(frozen=True, slots=True)
class DraftResolver:
    """A draft in place of a policy. Most turns ran under the very same words: what was made of them is kept."""

    draft: Layer
    made: dict[tuple[str | None, str | None], Policy | None] = field(default_factory=dict)

    def within(self, told: TurnRow) -> Policy | None:
        words = (told.sources, told.overrides)
        if words not in self.made:
            if len(self.made) >= KEPT_WORDS:
                self.made.clear()
            self.made[words] = self._among(*words)
        return self.made[words]

    def _among(self, sources: str | None, overrides: str | None) -> Policy | None:
        try:
            stored = rules_of(exact_json(sources or "null"), "policy_sources")
            return tried(self.draft, stored, exact_json(overrides or "{}"), versions_named(stored))
        except WORDS_LOST as error:
            log.info("words_lost", sources=sources, error=f"{type(error).__name__}: {error}")
            return None


def judge(
    told: TurnRow, recording: Recording | None, draft: DraftPolicy, *, experience: Experience = NO_EXPERIENCE
) -> TurnVerdict:
    """Try the draft on one turn. A history that this core cannot read or judge decides nothing. `experience`: what the
    stored calls of the turn's model bear out."""
    found = _judged(told, recording, draft, experience)
    if not (draft.kept and has_overrides(told)):
        return found
    without = _judged(dataclasses.replace(told, overrides=None), recording, draft, experience)
    return dataclasses.replace(found, overridden=_ending_of(found) != _ending_of(without))


def _ending_of(judged: TurnVerdict) -> tuple[str, str, str]:
    return judged.word, judged.how, judged.ends


def _judged(told: TurnRow, recording: Recording | None, draft: DraftPolicy, experience: Experience) -> TurnVerdict:
    if recording is None or not recording.records:
        return UNDECIDABLE
    watched = was_watched(recording.policy)
    policy = draft.for_turn(told, recording.policy) if draft.sound else None
    found = None if policy is None else tried_under(recording, policy, experience=experience)
    if found is None or found.undecidable or found.final is None:
        how = "unended" if found is not None and goes_on(told, recording, found) else ""
        return replace(UNDECIDABLE, watched=watched, how=how, why=why_undecided(found))
    return replace(_decided(told, recording, found, found.final, watched), certainty=found.certainty.value)


def judge_by_rerun(
    told: TurnRow,
    recording: Recording,
    draft: DraftPolicy,
    again: Recording,
    *,
    repeats: bool,
    experience: Experience = NO_EXPERIENCE,
) -> TurnVerdict | None:
    """The draft on a turn that ended short, by a live re-run whose recording `again` completes under it; None where it
    does not. `repeats`: whether the provider said the same twice, as far as is known. No more than likely where it did
    not, and where the recording itself is no surer, as of a cap close to the tokens of its longest call."""
    if told.status == TurnStatus.COMPLETED or was_watched(recording.policy) or not draft.sound:
        return None
    policy = draft.for_turn(told, recording.policy)
    found = None if policy is None else tried_under(again, policy, experience=experience)
    if found is None or found.final is None or found.undecidable:
        return None
    if found.final.end is None or found.final.end.status is not TurnStatus.COMPLETED:
        return None
    sure = found.certainty in (Certainty.RECORDED, Certainty.CERTAIN)
    in_its_calls = repeats and found.final.own.attempts <= Past.of(again).after[-1][1].own.attempts
    if not (sure or in_its_calls):  # a continuation that was never asked for: no page calls that likely
        return None
    certainty = Certainty.CERTAIN if sure and repeats else Certainty.ESTIMATED
    decided = _decided(told, recording, found, found.final, False)
    return replace(decided, how="gone_on", certainty=certainty.value)


def why_undecided(found: WhatIf | None) -> str:
    """The name of the reason why a turn is undecidable."""
    return NOT_JUDGED if found is None or found.why is None else found.why.value


#: The turn would have been answered further than it was recorded.
PAST_THE_END = (Why.MORE_TEXT, Why.ITERATION, Why.ANOTHER_ANSWER)
#: What ended a recorded call, by why nobody knows how the call goes on: it goes on where more of this is allowed.
ENDED_BY: Mapping[Why, Callable[[Snapshot], float | None]] = {
    Why.TOOL_CALLS: lambda last: last.asked.max_tokens,
    Why.TIMED_OUT: lambda last: last.limits.max_seconds,
}
#: Ends by which a limit or a criterion may have kept tool calls from running; anything else is somebody's act.
BY_ITSELF = (TurnStatus.PARTIAL, TurnStatus.FAILED, TurnStatus.ABORTED)


def goes_on(told: TurnRow | Turn, recording: Recording, found: WhatIf) -> bool:
    """Whether a turn that did not complete would have continued where its recording ends, or been tried again, so that
    nobody knows its end.

    A watched turn did not complete where its provider cut the answer.
    """
    cut = told.model_stop_reason == NormalizedStopReason.MAX_TOKENS
    short = cut if was_watched(recording.policy) else told.status != TurnStatus.COMPLETED
    further = found.why in PAST_THE_END or _calls_again(told, found) or _runs_tools(told, found)
    return short and found.undecidable and (further or _allows_more(recording, found))


def _calls_again(told: TurnRow | Turn, found: WhatIf) -> bool:
    """Whether it waits for one call more than it made."""
    return found.final is not None and found.final.state in CALLS and found.final.own.attempts > told.attempts


def _runs_tools(told: TurnRow | Turn, found: WhatIf) -> bool:
    """Whether it runs the tool calls of the last recorded answer, which the turn ended without running."""
    heard = found.final is not None and found.final.own.attempts >= told.attempts
    return found.why is Why.TOOL_RESULTS and heard and told.status in BY_ITSELF


def _allows_more(recording: Recording, found: WhatIf) -> bool:
    """Whether more is allowed of what ended the recorded call."""
    limit = ENDED_BY.get(found.why) if found.why else None
    if limit is None or found.final is None:
        return False
    was, now = limit(Past.of(recording).after[-1][1]), limit(found.final)
    return was is not None and (now is None or now > was)


def tried_under(
    recording: Recording, policy: Policy, *, experience: Experience = NO_EXPERIENCE, trace: bool = False
) -> WhatIf | None:
    """The turn under another policy, as `what_if`; None where it cannot be judged, or a criterion of the policy cannot
    be asked. No I/O: whatever the core raises, this one history is to blame.

    Of a watched turn the recording is what its provider said and no more: where that was cut, nobody knows what the
    policy would have made of it. Of a call for several answers only the first is known.
    """
    if criteria_faults(policy) or _several(recording):
        return None
    try:
        asked = by_itself(recording) if was_watched(recording.policy) else recording
        return what_if(asked, policy, trace=trace, experience=experience)
    except Exception as error:
        log.info("history_undecidable", error=f"{type(error).__name__}: {error}")
        return None


def _several(recording: Recording) -> bool:
    """Whether the call asked for several answers at once."""
    setup = getattr(recording.records[0].event, "setup", None) if recording.records else None
    asked = setup.extra.get("n") if setup is not None else None
    return isinstance(asked, int) and asked > 1


def _decided(told: TurnRow, recording: Recording, found: WhatIf, final: Snapshot, watched: bool) -> TurnVerdict:
    took = recording.records[-1].event.at - Past.of(recording).held
    spent = found.spent
    tokens, calls = spent.output_tokens - told.output_tokens, spent.attempts - told.attempts
    ends = ("running", "") if final.end is None else (final.end.status.value, final.end.terminal_reason)
    same = ends[0] == told.status and (_as_heard(recording, final) if watched else ends[1] == told.terminal_reason)
    return TurnVerdict(
        "same" if same else "flipped",
        "" if same else _how(calls, tokens),
        (told.model_stop_reason if watched else told.terminal_reason) or "",
        ends[1] or ends[0],
        tokens,
        calls,
        found.seconds - took,
        _dollars(told, spent, recording.base_snapshot.own),
        watched,
        uncounted=told.tokens_estimated or spent.estimated,
        completes=ends[0] == TurnStatus.COMPLETED,
    )


def _as_heard(recording: Recording, final: Snapshot) -> bool:
    """Whether a watched turn's caller would have been told the same. By which of our reasons it ended says nothing:
    no policy of ours ended it. An answer that came whole is the same in however many calls."""
    heard = Past.of(recording).after[-1][1]
    return final.output_text == heard.output_text


def _how(calls: int, tokens: int) -> str:
    if (calls, tokens) == (0, 0):
        return "otherwise"
    return "gone_on" if (calls, tokens) > (0, 0) else "sooner"


def _dollars(told: TurnRow, spent: Spent, before: Spent) -> float | None:
    """What it would have cost more, each time as if it were one call; None where no price is known."""
    rate = rate_of(provider=told.provider, model=told.model, address=told.address or "", at=told.started_at)
    was = replace(spent, input_tokens=told.input_tokens, output_tokens=told.output_tokens)
    then, now = totals_price(spent, before, rate), totals_price(was, before, rate)
    return None if then is None or now is None else float(then.dollars - now.dollars)
