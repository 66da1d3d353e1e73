"""What a re-run under a larger limit shows about that limit."""

from typing import Any

import pytest

from agentcore.resource import RESOURCES
from dashboard.policies.suggestions.reruns import APART, WROTE, LimitTrial
from dashboard.turns.models import Turn


def trial(limit: str, ended_by: str | None, **used: Any) -> LimitTrial:
    return LimitTrial(8, Turn(status="partial", resource=ended_by, **used), limit)


@pytest.mark.parametrize("limit", sorted({*RESOURCES} - {"max_tokens"}))
@pytest.mark.parametrize("ended_by", sorted(RESOURCES))
def test_a_re_run_that_another_limit_ended_does_not_show_whether_the_value_is_enough(limit: str, ended_by: str):
    tried = trial(limit, ended_by)
    same = ended_by == limit
    assert (tried.in_vain, tried.completed, tried.tells_nothing) == (same, False, not same)


@pytest.mark.parametrize("ended_by", sorted({*RESOURCES} - {"max_tokens"}))
def test_a_larger_cap_is_too_small_where_its_calls_were_cut_and_continued(ended_by: str):
    told = ended_by in APART or (ended_by in WROTE and ended_by != "max_continuations")
    assert trial("max_tokens", ended_by).in_vain is not told, "a total may have shortened the first call already"
    assert trial("max_tokens", None).in_vain


@pytest.mark.parametrize("limit", sorted(WROTE))
def test_a_limit_that_was_used_up_when_another_one_ended_the_re_run_was_too_small_as_well(limit: str):
    other = "max_total_tokens" if limit != "max_total_tokens" else "max_total_completion_tokens"
    used = {"output_tokens": 8, "continuations": 8}
    assert trial(limit, other, **used).in_vain
    assert not trial(limit, other, **dict.fromkeys(used, 7)).in_vain
