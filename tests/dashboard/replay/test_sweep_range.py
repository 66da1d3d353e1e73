"""The range that a sweep opens on has the values that an estimate may name."""

import pytest

from dashboard.replay.limit_controls import LimitControl
from dashboard.replay.sweep_range import usual_range
from dashboard.turns.models import Turn

CAP = LimitControl("max_tokens", "Max tokens per call", "tokens", None, 1, 4_000)


@pytest.mark.parametrize(
    ("cap", "used", "most"),
    [
        (500, 64, 1_000),
        (60, 240, 480),
        (None, 64, 256),  # the log named no cap, and its tokens may be fewer than its text suggests
        (None, 0, 2),
    ],
)
def test_a_sweep_of_the_cap_goes_well_beyond_cap_and_use(cap: int | None, used: int, most: int):
    values = usual_range(Turn(max_tokens=cap, output_tokens=used), CAP)
    assert most - values.step < values[-1] <= most


def test_a_sweep_goes_beyond_the_value_that_the_page_names():
    assert usual_range(Turn(max_tokens=None, output_tokens=64), CAP, beyond=1_200)[-1] > 1_200
