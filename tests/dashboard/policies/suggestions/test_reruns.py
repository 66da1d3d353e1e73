"""What a re-run under a larger limit shows about that limit."""

import pytest

from agentcore.resource import RESOURCES
from dashboard.policies.suggestions.reruns import OF_LENGTH, LimitTrial
from dashboard.turns.models import Turn


def trial(limit: str, ended_by: str | None) -> LimitTrial:
    return LimitTrial(8, Turn(status="partial", resource=ended_by), limit)


@pytest.mark.parametrize("limit", sorted({*RESOURCES} - OF_LENGTH))
def test_a_re_run_that_another_limit_ended_does_not_show_whether_the_value_is_enough(limit: str):
    assert trial(limit, limit).in_vain
    other = trial(limit, "max_continuations")
    assert (other.in_vain, other.completed, other.tells_nothing) == (False, False, True)


@pytest.mark.parametrize("limit", sorted(OF_LENGTH))
@pytest.mark.parametrize("ended_by", sorted(OF_LENGTH))
def test_a_re_run_that_was_still_too_long_shows_that_the_value_is_not_enough(limit: str, ended_by: str):
    characters = ended_by == "max_total_output_chars" != limit
    assert trial(limit, ended_by).in_vain != characters, "a text that was cut at its maximum tells of no other limit"
