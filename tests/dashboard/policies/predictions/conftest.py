"""Turns that are run again, and what was predicted for them."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from dashboard.policies.predictions import outcome_comparison
from dashboard.policies.predictions.models import Prediction
from dashboard.replay.rerun_service import turn_rerun
from dashboard.turns.models import Turn
from tests.dashboard.driving import Play, drive

Again = Callable[..., Prediction]


@pytest.fixture
def cut(play: Play) -> Turn:
    """Cut at 150 tokens, and whole after its continuations."""
    return play("sim-essay", overrides={"max_tokens": 150})


def again_of(turn: Turn, overrides: Mapping[str, Any], **more: Any) -> Prediction:
    """The prediction for a re-run that has ended and been compared."""
    child = drive(turn_rerun(turn=turn, overrides=overrides, **more))
    outcome_comparison.sweep()
    return Prediction.objects.get(child=child)
