"""Tool calls that max_tokens truncated and that were requested again: the max_tokens that would have been enough."""

from typing import Any

import pytest
from django.test import Client

from dashboard.policies.predictions import outcome_comparison
from dashboard.policies.predictions.models import Prediction
from dashboard.policies.suggestions.repaired_calls import RepairedCalls, repaired_calls
from dashboard.policies.suggestions.selectors import suggestion_for
from dashboard.policies.suggestions.suggestion import Basis, Goal
from dashboard.policies.suggestions.suggestion_log import tell
from dashboard.policies.suggestions.suggestion_text import because, certainty_word, sentence
from dashboard.replay.rerun_service import turn_rerun
from dashboard.turns.models import Attempt, Turn
from dashboard.turns.read_ahead import reading_ahead
from tests.dashboard.driving import Play, drive

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def repaired(play: Play) -> Turn:
    """Its call was truncated at 40 tokens; the one that was requested again used 80."""
    return play("sim-cut-tool", tools=["calculator"], max_tokens=40)


def answer(tokens: int | None, *calls: dict[str, Any], text: str = "", reasoning: int = 0) -> Attempt:
    usage = None if tokens is None else {"output_tokens": tokens, "reasoning_tokens": reasoning}
    return Attempt(max_tokens=40, text=text, tool_calls=list(calls), usage=usage)


CUT, WHOLE = {"name": "calculator", "raw": '{"e', "issue": "truncated"}, {"name": "calculator", "raw": "{}"}
BROKEN = {**CUT, "issue": "malformed"}


@pytest.mark.parametrize(
    ("answers", "enough"),
    [
        ([answer(40, CUT), answer(70, WHOLE), answer(9)], 70),
        ([answer(40, CUT), answer(80, CUT), answer(90, WHOLE)], 90),
        ([answer(40, CUT, text="Let me see."), answer(70, WHOLE)], 110),
        ([answer(40, CUT, reasoning=12), answer(70, WHOLE)], 110),
        ([answer(40, WHOLE, CUT), answer(70, WHOLE)], 110),
        ([answer(40, CUT), answer(70, WHOLE), answer(40, CUT), answer(75, WHOLE)], 75),
        ([answer(40, CUT), answer(30, WHOLE)], None),
        ([answer(40, CUT), answer(None, WHOLE)], None),
    ],
)
def test_the_complete_call_shows_how_many_tokens_are_enough(answers: list[Attempt], enough: int | None):
    turn = Turn(tool_repairs=1)
    with reading_ahead() as held:
        held.attempts[turn.id] = answers
        found = repaired_calls(turn)
    assert found is not None
    assert found.enough == enough


def test_a_malformed_call_needs_no_more_tokens():
    turn = Turn(tool_repairs=1)
    with reading_ahead() as held:
        held.attempts[turn.id] = [answer(20, BROKEN), answer(70, WHOLE)]
        assert repaired_calls(turn) is None


def test_a_call_that_was_requested_again_names_the_limit_it_likely_needed(repaired: Turn):
    assert repaired_calls(repaired) == RepairedCalls(cut=1, spent=40, wasted=40, enough=80)
    said = suggestion_for(repaired)
    assert said is not None
    assert (said.limit, said.value, certainty_word(said)) == ("max_tokens", 85, "likely")
    assert (said.basis, said.goal) == (Basis.RECORDING, Goal.NO_REPAIR)
    assert (said.calls, said.used) == (2, 89)
    assert (
        sentence(said)
        == "With Max tokens per call (max_tokens) 85, the tool call would likely have been complete at once."
    )
    assert because(said) == (
        "By this recording, one call would have taken at most 80 tokens. A tool call was truncated and requested "
        "again, and the model may write it differently when asked once. The limit leaves a margin, because this is an "
        "estimate."
    )


def test_a_live_re_run_proves_it_and_the_track_record_counts_it(repaired: Turn):
    told = suggestion_for(repaired)
    assert told is not None
    tell(repaired, told)
    again = drive(turn_rerun(turn=repaired, overrides=told.overrides))
    outcome_comparison.sweep()
    assert (again.status, again.tool_repairs) == ("completed", 0)
    assert again.lint == [], "the call did not use up the value that is recommended"
    said = suggestion_for(repaired)
    assert said is not None
    assert (said.value, certainty_word(said), said.rerun) == (85, "proven", again.id)
    assert sentence(said) == "With Max tokens per call (max_tokens) 85, the tool call was complete at once."
    kept = Prediction.objects.get(child=again)
    assert (kept.suggested["goal"], kept.suggested_came_true) == ("no_repair", True)


def test_a_re_run_whose_call_is_truncated_again_asks_for_more(repaired: Turn, browser: Client):
    drive(turn_rerun(turn=repaired, overrides={"max_tokens": 60}))
    said = browser.get(f"/api/v1/turns/{repaired.id}").json()["suggestion"]
    assert (said["value"], said["certainty_word"]) == (85, "likely")
    drive(turn_rerun(turn=repaired, overrides={"max_tokens": 79}))
    assert browser.get(f"/api/v1/turns/{repaired.id}").json()["suggestion"]["value"] == 85
