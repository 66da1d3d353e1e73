"""What a backtest or a shadow leaves to be tried live: its draft, and its turns of unknown end."""

from uuid import UUID

from dashboard.backtests.judging import Draft
from dashboard.backtests.models import Backtest
from dashboard.policies.models import Shadow
from dashboard.policies.selectors import unended_of
from dashboard.predictions.live_tries import Asked


def asked_of_backtest(backtest: Backtest) -> Asked:
    turns = [UUID(turn) for turn in backtest.unended_turns]
    return Asked(backtest.project, f"backtest-{backtest.pk}", Draft.of(backtest), turns)


def asked_of_shadow(shadow: Shadow) -> Asked:
    draft = Draft.in_place(shadow.version)
    return Asked(shadow.project, f"shadow-{shadow.pk}", draft, unended_of(shadow))
