"""A draft policy over stored turns: which would have ended otherwise, and at what cost."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from uuid import UUID

from agentcore.machine.snapshot import Snapshot
from agentcore.policy import Policy
from agentcore.replay import what_if
from dashboard.agents.criteria import criteria_faults
from dashboard.agents.policies import draft_policy
from dashboard.turns.history import recording_of
from dashboard.turns.models import UNFINISHED, Backtest, Turn
from dashboard.turns.selectors import TimelineFilters, turns_matching

BATCH = 50  #: turns between two reports of progress
LISTED = 1_000  #: flipped turns named in the result


@dataclass(frozen=True, slots=True)
class Judged:
    """One turn under the draft: `same`, `flipped` (it would have gone another way) or `undecidable`."""

    word: str
    tokens_delta: int = 0
    calls_delta: int = 0


def judge(turn: Turn, draft: Policy) -> Judged:
    """Try the draft on one turn. What the turn itself overrode stays as it was."""
    if criteria_faults(draft):
        return Judged("undecidable")
    recording = recording_of(turn)
    own = recording.policy
    kept = {name: getattr(own, name) for name in ("max_tokens", "system_prompt", "model", "drop_repetitions")}
    policy = replace(draft, **kept)
    imagined = what_if(recording, policy, trace=False)
    if imagined.undecidable or imagined.final is None:
        return Judged("undecidable")
    spent = imagined.final.spent
    word = "same" if _ending(imagined.final) == (turn.status, turn.terminal_reason) else "flipped"
    return Judged(word, spent.output_tokens - turn.output_tokens, spent.attempts - turn.attempts)


def _ending(snapshot: Snapshot) -> tuple[str, str]:
    end = snapshot.end
    return ("running", "") if end is None else (end.status.value, end.terminal_reason)


def run(backtest_id: UUID) -> None:
    """Judge every matching turn, reporting progress. Started again, it begins anew."""
    backtest = Backtest.objects.select_related("project").get(id=backtest_id)
    filters, _ = TimelineFilters.parse(backtest.filter)
    turns = turns_matching(project=backtest.project, filters=filters).exclude(status__in=UNFINISHED)
    totals = Backtest(
        id=backtest.id, status=Backtest.Status.RUNNING, total=turns.count(), done=0, same=0, flipped=0, undecidable=0
    )
    totals.flipped_turns = []
    draft = draft_policy(backtest.policy)
    for turn in _each(turns.iterator(chunk_size=BATCH)):
        _count(totals, turn, judge(turn, draft))
        if totals.done % BATCH == 0:
            _report(totals)
    totals.status = Backtest.Status.DONE
    _report(totals)


def _each(turns: Iterator[Turn]) -> Iterator[Turn]:
    return (turn for turn in turns if turn.last_seq)


def _count(totals: Backtest, turn: Turn, judged: Judged) -> None:
    totals.done += 1
    setattr(totals, judged.word, getattr(totals, judged.word) + 1)
    totals.tokens_delta += judged.tokens_delta
    totals.calls_delta += judged.calls_delta
    if judged.word == "flipped" and len(totals.flipped_turns) < LISTED:
        totals.flipped_turns.append(str(turn.id))


def _report(totals: Backtest) -> None:
    reported = ("status", "total", "done", "same", "flipped", "undecidable", "tokens_delta", "calls_delta")
    columns = {name: getattr(totals, name) for name in (*reported, "flipped_turns")}
    Backtest.objects.filter(id=totals.id).update(**columns)
