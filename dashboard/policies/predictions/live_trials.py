"""Turns whose end under a draft is not known, tried live: as many as fit into a stated budget.

Each click is a calibration of its own, whose trials are the next turns that were not tried yet. It is stored whole or
not at all, and the workers drive its turns as any others.

Also holds what a backtest or a shadow leaves to be tried live: its draft, and its turns of unknown end; and which of
them a re-run was made for.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils import timezone

from agentcore.number_format import number_rule
from agentcore.replay import Certainty
from dashboard.accounts.models import User
from dashboard.agents.models import Project
from dashboard.policies.backtests.debugger import overrides_of
from dashboard.policies.backtests.models import Backtest
from dashboard.policies.backtests.turn_judgement import DraftPolicy
from dashboard.policies.models import Shadow
from dashboard.policies.predictions import calibration_state
from dashboard.policies.predictions.calibration_state import Budget, Used
from dashboard.policies.predictions.models import Calibration, Prediction
from dashboard.policies.predictions.trials import Plan, Trial, left_out_for
from dashboard.policies.selectors import unended_of
from dashboard.replay.usage_bounds import UsageBound, usage_bound
from dashboard.turns.models import UNFINISHED, Turn

ONCE = 5  #: turns that one click tries
LOOKED_AT = 50  #: turns that are looked at to find them
TOKENS = 50_000  #: the budget of a click unless another is asked for
MOST_TOKENS = 10_000_000
QUEUE = "turns"  #: of all workers
SHADOW = "shadow-"  #: how the names of shadows begin
SAME = "for which the draft changes nothing that a re-run can set"
BEYOND = "for which the draft sets final stop reasons, criteria or local recovery, which a re-run cannot set"


@dataclass(frozen=True, slots=True)
class TrialSource:
    """What is tried: the draft, and the turns of unknown end, in order. `key` tells it from other drafts."""

    project: Project
    key: str
    draft: DraftPolicy
    turns: Sequence[UUID]


@dataclass(frozen=True, slots=True)
class TrialProgress:
    """What was tried so far, and what one more click would try."""

    predictions: tuple[Prediction, ...]  #: in the order they were begun
    used: Used
    next: tuple[Trial, ...]
    left_out: Mapping[str, int] = field(default_factory=dict)
    recorded_tokens: int = 0  #: that the turns of the next ones used, in and out

    @property
    def unfinished(self) -> bool:
        return any(prediction.child.status in UNFINISHED for prediction in self.predictions)

    @property
    def bounds(self) -> tuple[UsageBound, ...]:
        return tuple(trial.bound for trial in self.next)

    @property
    def most_tokens(self) -> int:
        """That the next ones use at most."""
        return sum(bound.tokens for bound in self.bounds)


def tried_before(shadow_id: str, moment: datetime) -> list[Turn]:
    """The re-runs of a shadow's turns that were begun before then."""
    made = Prediction.objects.filter(
        kind=Prediction.Kind.CALIBRATION,
        calibration__key=calibration_state.key_of({"live": f"{SHADOW}{shadow_id}"}),
        calibration__created_at__lte=moment,
    )
    return [row.child for row in made.select_related("child").order_by("id")]


def tried_so_far(asked: TrialSource) -> TrialProgress:
    """As the page shows it."""
    made = calibration_state.calibrations_by(project=asked.project, key=_key(asked))
    predictions = tuple(row for one in made for row in _predictions(one))
    used = [calibration_state.used_by(one) for one in made]
    whole = Used(sum(one.tokens for one in used), sum((one.dollars for one in used), Used().dollars))
    left_out: Counter[str] = Counter()
    following = tuple(_trials(asked, {row.parent_id for row in predictions}, left_out))
    return TrialProgress(predictions, whole, following, dict(left_out), _recorded_tokens(following))


def _recorded_tokens(trials: Sequence[Trial]) -> int:
    turns = Turn.objects.filter(id__in=[trial.turn for trial in trials]) if trials else Turn.objects.none()
    return sum(came + gone for came, gone in turns.values_list("input_tokens", "output_tokens"))


@transaction.atomic
def tries_begin(*, asked: TrialSource, tokens: int, by: User | None = None) -> tuple[int, int]:
    """Try the next turns; returns how many were begun, and how many were not. Raises `ValidationError` in words where
    none was begun.

    `tokens`: what all of them together may use at most, in and out; none is begun that could exceed it.
    """
    if not 1 <= tokens <= MOST_TOKENS:
        raise ValidationError(f"The budget {number_rule(1, MOST_TOKENS, whole=True, unit='tokens')}")
    # Who clicks at the same time waits here, and then tries the turns after these.
    calibration = calibration_state.calibration_begin(project=asked.project, key=_key(asked), plan=Plan())
    before = Prediction.objects.filter(calibration__project=asked.project, calibration__key=_key(asked))
    left_out: Counter[str] = Counter()
    trials = list(_trials(asked, set(before.values_list("parent_id", flat=True)), left_out))
    begun = [trial for place, trial in enumerate(trials) if _begun(calibration, place, trial, Budget(tokens), by)]
    if not begun:
        raise ValidationError(_why_none(trials))
    stored = {"trials": [trial.as_json() for trial in begun], "skipped": dict(left_out), "finished_at": timezone.now()}
    Calibration.objects.filter(pk=calibration.pk).update(**stored)
    return len(begun), len(trials) - len(begun)


def _begun(calibration: Calibration, place: int, trial: Trial, budget: Budget, by: User | None) -> bool:
    if not calibration_state.is_left(budget, calibration_state.used_by(calibration), trial.bound):
        return False
    try:
        calibration_state.trial_begin(calibration=calibration, place=place, trial=trial, queue=QUEUE, created_by=by)
    except ValidationError:
        return False
    return True


def _why_none(trials: Sequence[Trial]) -> str:
    if not trials:
        return "None of these turns can be tried live."
    least = min(trial.bound.tokens for trial in trials)
    return f"The budget is too small: a turn may use up to {least:,} tokens."


def _key(asked: TrialSource) -> str:
    return calibration_state.key_of({"live": asked.key})


def _predictions(calibration: Calibration) -> list[Prediction]:
    return list(calibration.predictions.select_related("parent", "child").order_by("place"))


def _trials(asked: TrialSource, tried: set[UUID], left_out: Counter[str]) -> list[Trial]:
    """Of the first turns that can be asked again and were not tried. `left_out` counts the others among the first
    `LOOKED_AT` turns, all of them, so that the count does not depend on which were tried."""
    ids = [turn for turn in asked.turns if turn not in tried][:LOOKED_AT]
    counted = set(asked.turns[:LOOKED_AT])
    turns = Turn.objects.select_related("agent__connection", "project").in_bulk(ids)
    overrides = overrides_of(asked.draft, ids)
    found: list[Trial] = []
    for turn in (turns[turn_id] for turn_id in ids if turn_id in turns):
        if len(found) == ONCE and turn.id not in counted:
            break
        wanted = overrides.get(turn.id, {})
        why = left_out_for(turn) or (BEYOND if wanted is None else "" if wanted else SAME)
        if why or not wanted:
            left_out.update([why] if turn.id in counted else [])
        elif len(found) < ONCE:
            found.append(_trial(turn, wanted))
    return found


def _trial(turn: Turn, overrides: dict[str, Any]) -> Trial:
    bound = asdict(usage_bound(turn, overrides))
    dollars = None if bound["dollars"] is None else str(bound["dollars"])
    return Trial(str(turn.id), overrides, Certainty.UNDECIDABLE.value, {**bound, "dollars": dollars})


def asked_of_backtest(backtest: Backtest) -> TrialSource:
    turns = [UUID(turn) for turn in backtest.unended_turns]
    return TrialSource(backtest.project, _name_of(backtest), DraftPolicy.of(backtest), turns)


def asked_of_shadow(shadow: Shadow) -> TrialSource:
    draft = DraftPolicy.in_place(shadow.version)
    return TrialSource(shadow.project, _name_of(shadow), draft, unended_of(shadow))


def _name_of(made_for: Backtest | Shadow) -> str:
    return f"{SHADOW if isinstance(made_for, Shadow) else 'backtest-'}{made_for.pk}"


def made_for(rerun: Turn) -> Backtest | Shadow | None:
    """The backtest or shadow from which a re-run was tried live; None: it was not, or that is gone. A calibration
    keeps a digest of it, which is looked for among those that there were."""
    own = Prediction.objects.filter(child=rerun, kind=Prediction.Kind.CALIBRATION, calibration__isnull=False)
    made = own.values_list("calibration__key", "calibration__created_at").first()
    if made is None:
        return None
    key, begun = made
    backtests = Backtest.objects.filter(project=rerun.project_id, created_at__lte=begun).order_by("-id").only("pk")
    shadows = Shadow.objects.filter(project=rerun.project_id).order_by("-id").select_related("version")
    found = (each for rows in (backtests, shadows) for each in rows.iterator())
    return next((each for each in found if calibration_state.key_of({"live": _name_of(each)}) == key), None)
