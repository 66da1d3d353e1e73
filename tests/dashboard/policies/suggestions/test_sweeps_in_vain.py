"""The sweep of a turn that no larger limit helps says what the turn's page says, and offers no live re-run."""

from datetime import timedelta

import pytest
from django.utils import timezone

from agentcore.remedies import RE_RUN
from dashboard.live.services import approvals_expire, turn_cancel, turn_start
from dashboard.policies.suggestions.sweep_suggestions import NO_LIMIT, suggested_sweep
from dashboard.turns.models import Turn
from tests.dashboard.driving import AgentOf, Play, drive

pytestmark = pytest.mark.django_db(transaction=True)


def words_of(turn: Turn) -> str:
    found = suggested_sweep(turn=turn, name="max_tokens", values=range(200, 1_601, 200), overrides={})
    assert found.asks is None
    return found.words


def held(agent_of: AgentOf, otherwise: str = "refuse") -> Turn:
    approvals = {"tools": ["calculator"], "seconds": 600, "otherwise": otherwise}
    return drive(
        turn_start(agent=agent_of("sim-tools", tools=["calculator"], approvals=approvals), input_text="Count.")
    )


def test_the_sweep_of_an_empty_answer_advises_another_prompt(play: Play):
    words = words_of(play("sim-empty", max_tokens=400))
    assert RE_RUN not in words
    assert "Change the prompt, or use another model." in words


@pytest.mark.parametrize("otherwise", ["refuse", "cancel"])
def test_the_sweep_of_a_turn_that_nobody_approved_names_the_approval_time_limit(agent_of: AgentOf, otherwise: str):
    turn = held(agent_of, otherwise)
    Turn.objects.filter(id=turn.id).update(started_at=timezone.now() - timedelta(hours=1))
    assert approvals_expire() == 1
    words = words_of(drive(turn))
    assert RE_RUN not in words
    assert "With a higher approval time limit (approvals.seconds) it would have waited longer." in words


def test_the_sweep_of_a_turn_that_a_person_cancelled_says_so(agent_of: AgentOf):
    turn = held(agent_of)
    turn_cancel(turn=turn, by="ada")
    words = words_of(drive(turn))
    assert RE_RUN not in words
    assert NO_LIMIT in words
