"""What-ifs of turns that really ran, each held against the real re-run: sure claims come true, endings are possible."""

from collections import Counter
from typing import Any

import pytest

from agentcore import Certainty, Recording, WhatIf
from agentcore.replay import fork, what_if
from dashboard.agents.policies import overridden
from dashboard.replay.rerun_service import turn_rerun
from dashboard.replay.services import turn_what_if
from dashboard.turns.history import recording_of
from dashboard.turns.models import Turn
from tests.dashboard.driving import Play, drive
from tests.nightly import nightly

pytestmark = pytest.mark.django_db(transaction=True)

SURE = (Certainty.RECORDED, Certainty.CERTAIN)
RETRYING = {"error_policy": {"preset": "retry_all", "max_retries": 3}}
PATIENT = {"limits": {"max_continuations": 9, "max_total_completion_tokens": 5000}}
#: A model of the simulator, what it ran under, and what is asked of it.
CASES: list[tuple[str, dict[str, Any], list[dict[str, Any]]]] = [
    ("sim-essay", {"max_tokens": 400}, [{"max_tokens": cap} for cap in (40, 88, 92, 150, 250, 349, 400, 900)]),
    ("sim-essay", {"max_tokens": 150}, [{"max_tokens": cap} for cap in (100, 149, 300, 390, 600)]),
    ("sim-essay", {"max_tokens": 60, **PATIENT}, [{"max_tokens": 400}, {"limits": {"max_continuations": 2}}]),
    ("sim-essay", {"max_tokens": 60}, [{"limits": {"max_total_output_chars": 200}}, {"limits": {"max_steps": 1}}]),
    (
        "sim-flaky",
        RETRYING,
        [{"max_tokens": 300}, {"max_tokens": 300, "error_policy": {"preset": "stop_on_any_error"}}],
    ),
    ("sim-tools", {"max_tokens": 300}, [{"max_tokens": 400}, {"max_tokens": 20}, {"limits": {"max_steps": 1}}]),
    ("sim-cut-tool", {"max_tokens": 40}, [{"max_tokens": 400}, {"limits": {"max_tool_repair_attempts": 0}}]),
    ("sim-odd", {"max_tokens": 300}, [{"max_tokens": 500}, {"max_tokens": 10}]),
    ("sim-empty", {"max_tokens": 300}, [{"max_tokens": 10}]),
    ("sim-refuse", {"max_tokens": 300}, [{"max_tokens": 500}]),
]


def end_of(turn: Turn) -> tuple[Any, ...]:
    return (turn.status, turn.stop_reason, turn.terminal_reason)


def ends(imagined: WhatIf) -> list[tuple[Any, ...]]:
    found = imagined.endings or (imagined,)
    return [
        (one.final.end.status.value, one.final.end.stop_reason.value, one.final.end.terminal_reason)
        for one in found
        if one.final is not None and one.final.end is not None
    ]


def held_against(imagined: WhatIf, child: Turn) -> bool | None:
    """Whether the claim came true; None where none was made."""
    if imagined.undecidable:
        return None
    assert imagined.final is not None
    right = ends(imagined) == [end_of(child)]
    if imagined.certainty in SURE:
        assert right, (imagined.certainty, ends(imagined), end_of(child))
        assert imagined.final.output_text == child.output_text
    return right


@pytest.mark.parametrize(
    ("model", "ran", "wanted"), CASES, ids=[f"{model}-{i}" for i, (model, _, _) in enumerate(CASES)]
)
def test_the_real_re_run_ends_as_the_what_if_says_where_it_is_certain(play: Play, model, ran, wanted):
    turn = play(model, overrides=ran, tools=["calculator"])
    counts = Counter[bool | None]()
    for overrides in wanted:
        imagined = turn_what_if(turn=turn, overrides=overrides).recording
        counts[held_against(imagined, drive(turn_rerun(turn=turn, overrides=overrides)))] += 1
    assert counts[False] <= counts.total() // 5


@pytest.mark.parametrize("seq", [1, 2, 3])
@pytest.mark.parametrize("cap", [nightly(5), 100, nightly(150), 400])
def test_a_re_run_from_a_record_ends_as_the_what_if_of_that_record_says(play: Play, seq, cap):
    turn = play("sim-essay", overrides={"max_tokens": 60, **PATIENT})
    recording = recording_of(turn)
    policy = overridden(recording.policy, {"max_tokens": cap})
    begun = fork(recording, seq, recording.policy, str(turn.id))
    imagined = what_if(Recording(recording.policy, begun, recording.records[seq:]), policy)
    child = drive(turn_rerun(turn=turn, overrides={"max_tokens": cap}, from_record=seq))
    held_against(imagined, child)
    again = turn_what_if(turn=child, overrides={}).recording
    assert again.certainty is Certainty.RECORDED
    other = turn_what_if(turn=child, overrides={"max_tokens": 90}).recording
    held_against(other, drive(turn_rerun(turn=turn, overrides={"max_tokens": 90}, from_record=seq)))


def test_eighty_eight_tokens_are_not_claimed_to_complete_the_essay(play: Play):
    turn = play("sim-essay", overrides={"max_tokens": 400})
    for cap in (88, 89, 90, 92):
        imagined = turn_what_if(turn=turn, overrides={"max_tokens": cap}).recording
        child = drive(turn_rerun(turn=turn, overrides={"max_tokens": cap}))
        assert end_of(child) == ("partial", "retry_limit", "retry_limit")
        assert imagined.undecidable
        assert end_of(child) in ends(imagined)
