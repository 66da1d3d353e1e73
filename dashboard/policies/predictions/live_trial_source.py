"""What a backtest or a shadow leaves to be tried live: its draft, and its turns of unknown end."""

from uuid import UUID

from dashboard.policies.backtests.models import Backtest
from dashboard.policies.backtests.turn_judgement import DraftPolicy
from dashboard.policies.models import Shadow
from dashboard.policies.predictions.live_trials import TrialSource
from dashboard.policies.selectors import unended_of


def asked_of_backtest(backtest: Backtest) -> TrialSource:
    turns = [UUID(turn) for turn in backtest.unended_turns]
    return TrialSource(backtest.project, f"backtest-{backtest.pk}", DraftPolicy.of(backtest), turns)


def asked_of_shadow(shadow: Shadow) -> TrialSource:
    draft = DraftPolicy.in_place(shadow.version)
    return TrialSource(shadow.project, f"shadow-{shadow.pk}", draft, unended_of(shadow))
