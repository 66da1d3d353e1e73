"""Tool calls that max_tokens truncated and that were requested again: the max_tokens that would have been enough."""

from typing import Any

import pytest
from django.test import Client

from agentcore.reasons import NormalizedStopReason
from dashboard.agents.selectors import project_default
from dashboard.agents.services import connection_create
from dashboard.policies.predictions import outcome_comparison
from dashboard.policies.predictions.models import Prediction
from dashboard.policies.suggestions.repaired_calls import RepairedCalls, repaired_calls
from dashboard.policies.suggestions.selectors import suggestion_for
from dashboard.policies.suggestions.suggestion import Basis, Goal
from dashboard.policies.suggestions.suggestion_log import tell
from dashboard.policies.suggestions.suggestion_text import because, certainty_word, sentence
from dashboard.replay.rerun_service import turn_rerun
from dashboard.simulator.dialects import BASES
from dashboard.turns.models import Attempt, Turn
from dashboard.turns.read_ahead import reading_ahead
from tests.dashboard.driving import Play, drive
from tests.dashboard.simulator.test_cut_calls import SEEN

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def repaired(play: Play) -> Turn:
    """Its call was truncated at 40 tokens; the one that was requested again used 80."""
    return play("sim-cut-tool", tools=["calculator"], max_tokens=40)


def answer(
    tokens: int | None, *calls: dict[str, Any], text: str = "", reasoning: int = 0, cut: bool = False, kind: str = ""
) -> Attempt:
    usage = None if tokens is None else {"output_tokens": tokens, "reasoning_tokens": reasoning}
    reason = "max_tokens" if cut else "tool_call" if calls else "end_turn"
    about: dict[str, Any] = {"kind": kind, "stop_reason": reason}
    return Attempt(max_tokens=40, text=text, tool_calls=list(calls), usage=usage, **about)


CUT, WHOLE = {"name": "calculator", "raw": '{"e', "issue": "truncated"}, {"name": "calculator", "raw": "{}"}
EMPTY, AS_TEXT = {"name": "calculator", "raw": "{}"}, '{"name": "calculator", "parameters": {"expression": "(17'


def repair(tokens: int) -> Attempt:
    return answer(tokens, WHOLE, kind="tool_repair")


def continued(tokens: int, *calls: dict[str, Any], text: str = "") -> Attempt:
    return answer(tokens, *calls, text=text, kind="continuation")


BROKEN = {**CUT, "issue": "malformed"}


@pytest.mark.parametrize(
    ("answers", "enough"),
    [
        ([answer(40, CUT), answer(70, WHOLE), answer(9)], 70),
        ([answer(40, EMPTY, cut=True), repair(70), answer(9)], 70),
        ([answer(40, text=AS_TEXT, cut=True), repair(70), answer(9)], 70),
        ([answer(40, text=f"Let me see. <tool_call>{AS_TEXT}", cut=True), repair(70)], 110),
        ([answer(40, text=f"<tool_call>{AS_TEXT}", cut=True), repair(70)], 70),
        ([answer(40, EMPTY, cut=True), repair(70), answer(40, EMPTY, cut=True), repair(75)], 75),
        ([answer(40, cut=True), continued(70, WHOLE), answer(9)], 70),
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


@pytest.mark.parametrize(
    "answers",
    [
        [answer(40, text="Let me", cut=True), continued(70, text=" see.")],
        [answer(40, text="Let me", cut=True), continued(70, WHOLE)],
        [answer(40, reasoning=40, cut=True), continued(70, WHOLE)],
        [answer(40, cut=True), continued(70, text="The sum is 42.")],
    ],
)
def test_a_continued_answer_is_no_call_that_was_requested_again(answers: list[Attempt]):
    turn = Turn(continuations=1)
    with reading_ahead() as held:
        held.attempts[turn.id] = answers
        assert repaired_calls(turn) is None


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
    assert sentence(said) == "With Max tokens per call at 85, the tool call would likely have been complete at once."
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
    assert sentence(said) == "With Max tokens per call at 85, the tool call was complete at once."
    kept = Prediction.objects.get(child=again)
    assert (kept.suggested["goal"], kept.suggested_came_true) == ("no_repair", True)


def test_a_re_run_whose_call_is_truncated_again_asks_for_more(repaired: Turn, browser: Client):
    drive(turn_rerun(turn=repaired, overrides={"max_tokens": 60}))
    said = browser.get(f"/api/v1/turns/{repaired.id}").json()["suggestion"]
    assert (said["value"], said["certainty_word"]) == (85, "likely")
    drive(turn_rerun(turn=repaired, overrides={"max_tokens": 79}))
    assert browser.get(f"/api/v1/turns/{repaired.id}").json()["suggestion"]["value"] == 85


#: By dialect, the models whose truncated call is requested again there.
REPAIRED = {(form.dialect, form.model) for form in SEEN if form.reason is NormalizedStopReason.MAX_TOKENS}


@pytest.mark.parametrize(("dialect", "model"), sorted(REPAIRED))
def test_every_form_of_a_truncated_call_that_was_requested_again_gets_a_number(
    play: Play, browser: Client, simulator_url: str, dialect: str, model: str
):
    """Whatever the server shows of the call: it was truncated at 40 tokens, and took 80."""
    address = f"{simulator_url.removesuffix('/v1')}{BASES[dialect]}"
    connection = connection_create(project=project_default(), name=dialect, provider=dialect, base_url=address)
    turn = play(model, tools=["calculator"], max_tokens=40, connection=connection)
    assert (turn.status, turn.attempts) == ("completed", 3)
    said = browser.get(f"/api/v1/turns/{turn.id}").json()["suggestion"]
    assert said is not None
    assert (said["limit"], said["value"], said["certainty_word"]) == ("max_tokens", 85, "likely")
    again = drive(turn_rerun(turn=turn, overrides={"max_tokens": 85}))
    assert again.attempts == 2
    said = browser.get(f"/api/v1/turns/{turn.id}").json()["suggestion"]
    assert (said["value"], said["rerun"]) == (85, str(again.id))
