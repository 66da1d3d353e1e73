"""How a turn ended, as one reading of three columns."""

import pytest
from django.template.loader import render_to_string
from django.test import Client

from agentcore.verdict import verdict_of
from dashboard.api.turn_response_schemas import RecordedTurn
from dashboard.live.services import turn_control, turn_start
from dashboard.replay.rerun_service import turn_rerun
from dashboard.turns.end_summary import READ, EndSummary, end_orders, end_summary_of
from dashboard.turns.endings import ENDINGS
from dashboard.turns.glossary import term_of
from dashboard.turns.models import UNFINISHED, Turn
from dashboard.turns.projection import error_of, project
from dashboard.turns.templatetags.reasons import reason_hue
from tests.agentcore.random_turns import random_ends
from tests.agentcore.test_verdict_ends import ENDS
from tests.dashboard.driving import AgentOf, drive
from tests.dashboard.pages import page, text_of

DONE = {"status": "completed", "stop_reason": "completed", "terminal_reason": "completed", "attempts": 1}
CUT = {"status": "partial", "model_stop_reason": "max_tokens", "terminal_reason": "retry_limit"}
EXPIRED = {"resource": "approvals.seconds", "model_stop_reason": "tool_call"}
READINGS = [
    ({"status": "running"}, EndSummary("running", "Running")),
    ({"status": "held"}, EndSummary("held", "Held", "waiting for an operator")),
    ({**DONE, "model_stop_reason": "end_turn"}, EndSummary("completed", "Completed")),
    (
        {**DONE, "model_stop_reason": "end_turn", "continuations": 2},
        EndSummary("completed", "Completed", "after 2 continuations"),
    ),
    (
        {**DONE, "model_stop_reason": "unknown", "raw_stop_reason": "solar_flare"},
        EndSummary("doubtful", "Completed, unknown stop", "“solar_flare”"),
    ),
    (DONE, EndSummary("doubtful", "Completed, unknown stop", "no stop reason given")),
    (
        {**DONE, "model_stop_reason": "end_turn", "lint": ["output_at_cap"]},
        EndSummary("doubtful", "Completed, may be cut", "ended at the cap"),
    ),
    ({**CUT, "resource": "max_continuations"}, EndSummary("max_tokens", "Cut off", "Max continuations reached")),
    (
        {**CUT, "terminal_reason": "repetition", "raw_stop_reason": "length", "lint": ["reasoning_ate_budget"]},
        EndSummary("reasoning_ate_budget", "Cut off", "Reasoning used up Max tokens per call"),
    ),
    (
        {**CUT, "terminal_reason": "repetition"},
        EndSummary("max_tokens", "Cut off", "Max tokens per call used up, no text"),
    ),
    (
        {**CUT, "terminal_reason": "repetition", "raw_stop_reason": "length"},
        EndSummary("max_tokens", "Cut off", "Repetition"),
    ),
    (
        {"status": "partial", "model_stop_reason": "tool_call", "resource": "max_steps"},
        EndSummary("partial", "Stopped", "Max steps reached"),
    ),
    (
        {**EXPIRED, "status": "partial", "stop_reason": "error", "error_type": "tool"},
        EndSummary("partial", "Stopped", "Approval time limit reached"),
    ),
    ({**EXPIRED, "status": "cancelled"}, EndSummary("cancelled", "Cancelled", "Approval time limit reached")),
    ({"status": "cancelled"}, EndSummary("cancelled", "Cancelled")),
    (
        {"status": "partial", "terminal_reason": "provider_error", "error_type": "rate_limit"},
        EndSummary("error", "Failed, partial answer", "Rate limit error"),
    ),
    (
        {"status": "partial", "terminal_reason": "provider_error", "error_type": "timeout", "resource": "max_seconds"},
        EndSummary("time_limit", "Stopped", "Time limit reached"),
    ),
    (
        {"status": "failed", "error_type": "timeout", "resource": "max_seconds"},
        EndSummary("time_limit", "Stopped, no answer", "Time limit reached"),
    ),
    (
        {"status": "partial", "terminal_reason": "forbidden", "stop_reason": "error", "error_type": "tool"},
        EndSummary("partial", "Stopped", "Tool error"),
    ),
    ({"status": "aborted", "terminal_reason": "safety_blocked"}, EndSummary("aborted", "Blocked or refused")),
    ({"status": "failed", "error_type": "rate_limit"}, EndSummary("failed", "Failed", "Rate limit error")),
    ({"status": "failed", "terminal_reason": "envelope_invalid"}, EndSummary("failed", "Failed", "Invalid envelope")),
    ({"status": "cancelled"}, EndSummary("cancelled", "Cancelled")),
]


@pytest.mark.parametrize(("columns", "reading"), READINGS)
def test_three_columns_give_one_reading(columns: dict[str, object], reading: EndSummary):
    assert end_summary_of(Turn(max_tokens=10, **columns)) == reading


def test_only_a_known_natural_end_is_green():
    hues = {reading.words: reason_hue(reading.look) for _, reading in READINGS}
    assert [words for words, hue in hues.items() if hue == "end"] == ["Completed"]
    assert hues["Completed, unknown stop"] == hues["Completed, may be cut"] == "cut"


def test_each_ending_is_in_the_table_once_with_its_status():
    names = [each.name for each in ENDINGS]
    assert len(set(names)) == len(names)
    by_name = {each.name: each for each in ENDINGS}
    for columns, reading in READINGS:
        if columns["status"] in UNFINISHED:
            continue
        assert by_name[reading.words].status == columns["status"], reading
    assert {reading.words for _, reading in READINGS} >= by_name.keys() - {"Aborted", "Cancelled", "Interrupted"}
    for status in ("aborted", "cancelled", "interrupted"):
        assert end_summary_of(Turn(status=status)).words in by_name


def test_the_glossary_and_the_api_read_the_same_table():
    described = RecordedTurn.model_fields["status"].description or ""
    for each in ENDINGS:
        assert f"*{each.name}*" in described
        assert term_of(each.key).meaning.startswith(each.meaning)


@pytest.mark.django_db
def test_a_list_names_an_ending_without_its_codes():
    turn = Turn(
        status="partial", stop_reason="retry_limit", model_stop_reason="max_tokens", resource="max_continuations"
    )
    told = " ".join(text_of(render_to_string("turns/_ended.html", {"turn": turn})).split())
    assert told == "Cut off Max continuations reached"


#: The beginning of an ending's name, by that of a verdict, where they differ.
NAMES = {"Refused": "Blocked"}


def test_the_head_of_a_page_begins_with_the_ending_that_lists_show():
    """Over every ending that is written down, and those of many random turns: one ending is not “Cut off” here and
    “Stopped” there."""
    for last in (*(book.snapshot for book, _, _ in ENDS), *random_ends(1500)):
        row = project(last, seq=1, started_at=None, at=None)
        turn = Turn(**{name: row[name] for name in READ if name in row})
        turn.error_type = error_of(last.outcome.to_dict()).get("errorType") if last.outcome else None
        told = verdict_of(last)
        assert end_summary_of(turn).words.startswith(NAMES.get(told.lead, told.lead) or "-"), str(told)


@pytest.mark.django_db(transaction=True)
def test_a_turn_that_ended_because_a_person_refused_a_call_names_no_tool_error(agent_of: AgentOf, browser: Client):
    agent = agent_of("sim-tools", tools=["calculator"], approvals={"tools": ["calculator"]})
    turn = drive(turn_start(agent=agent, input_text="Count."))
    turn_control(turn=turn, by="ada", action="refuse")
    turn = drive(turn)
    again = turn_rerun(turn=turn, overrides={})
    for address in ("/", "/?sort=ended", f"/compare?left={turn.id}&right={again.id}"):
        shown = text_of(page(browser, address))
        assert ("ada refused the call" if "compare" in address else "Tool call refused by ada") in shown, address
        assert "Tool error" not in shown, address
    assert "tool failed or refused" in text_of(page(browser, "/"))
    assert end_orders(Turn.objects.filter(id=turn.id))[turn.id].endswith("Tool call refused by ada")
