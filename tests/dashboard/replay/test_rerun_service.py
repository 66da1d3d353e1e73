"""Re-runs: from anywhere, under other words, at another connection; and clear words where that cannot be."""

from typing import Any

import pytest
from django.core.exceptions import ValidationError

from agentcore.replay import Certainty, fold, unforkable
from dashboard.agents.models import Agent, Connection
from dashboard.agents.services import connection_create
from dashboard.live.services import turn_start
from dashboard.replay.lineage import changes
from dashboard.replay.rerun_changes import RerunChanges
from dashboard.replay.rerun_service import turn_go_on, turn_rerun
from dashboard.replay.services import turn_verify, turn_what_if
from dashboard.simulator.texts import ESSAY
from dashboard.turns.history import messages_of, recording_of
from dashboard.turns.models import Attempt, Record, Turn
from tests.dashboard.driving import AgentOf, Play, drive

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def cut(play: Play) -> Turn:
    """Cut four times at 60 tokens, partial."""
    return play("sim-essay", overrides={"max_tokens": 60})


@pytest.fixture
def counted(play: Play) -> Turn:
    """It called a calculator twice."""
    return play("sim-tools", tools=["calculator"])


@pytest.fixture
def other(simulator_url: str, connection: Connection) -> Connection:
    address = simulator_url.removesuffix("/v1")
    return connection_create(project=connection.project, name="other", provider="anthropic", base_url=address)


def refused(turn: Turn, overrides: dict[str, Any] | None = None, **more: Any) -> str:
    before = Turn.objects.count()
    with pytest.raises(ValidationError) as said:
        turn_rerun(turn=turn, overrides=overrides or {}, **more)
    assert Turn.objects.count() == before
    return " ".join(said.value.messages)


def test_every_record_of_a_turn_is_a_fork_point_or_gives_the_reason(counted: Turn):
    for span in fold(recording_of(counted)):
        seq = span.record.seq
        if why := unforkable(span.after, seq):
            assert why in refused(counted, from_record=seq)
            continue
        child = drive(turn_rerun(turn=counted, overrides={}, from_record=seq))
        assert (child.status, child.forked_at) == (counted.status, seq)
        assert child.output_text == counted.output_text
        assert turn_verify(turn=child).verified


def test_another_prompt_from_the_start_is_the_childs_prompt(cut: Turn):
    child = drive(turn_rerun(turn=cut, overrides={}, words=RerunChanges(messages={1: "And why do people?"})))
    assert child.input_text == "And why do people?"
    assert "And why do people?" in Attempt.objects.get(turn_id=child.id, index=1).request + _messages(child)
    assert child.overrides["said"] == {"messages": [1]}
    assert turn_verify(turn=child).verified


def _messages(turn: Turn) -> str:
    return " ".join(messages_of(turn.id))


def test_a_message_in_the_middle_may_be_replaced(counted: Turn):
    recording = recording_of(counted)
    at = next(span for span in fold(recording) if any(m.role == "tool" for m in span.after.messages))
    place = next(n for n, m in enumerate(at.after.messages, start=1) if m.role == "tool")
    words = RerunChanges(messages={place: "42"})
    child = drive(turn_rerun(turn=counted, overrides={}, from_record=at.record.seq, words=words))
    assert "42" in _messages(child)
    assert turn_verify(turn=child).verified


def test_a_tool_result_may_be_supplied_instead_of_running_the_tool(counted: Turn):
    at = next(span for span in fold(recording_of(counted)) if span.after.state == "execute_tools")
    call = at.after.calls[0]
    words = RerunChanges(results={call.id: "the tool was never run"})
    child = drive(turn_rerun(turn=counted, overrides={}, from_record=at.record.seq, words=words))
    assert "the tool was never run" in _messages(child)
    assert turn_verify(turn=child).verified
    assert "no call" in refused(counted, from_record=at.record.seq, words=RerunChanges(results={"nobody": "x"}))
    assert "choose a later record" in refused(counted, words=RerunChanges(results={call.id: "x"}))


@pytest.mark.parametrize("from_record", [None, 2])
def test_a_turn_may_be_re_run_at_another_connection_and_in_another_dialect(cut: Turn, other, from_record):
    words = RerunChanges(connection="other")
    child = drive(turn_rerun(turn=cut, overrides={"max_tokens": 400}, from_record=from_record, words=words))
    assert (child.provider, child.status, child.output_text) == ("anthropic", "completed", ESSAY)
    assert "/v1/messages" in Attempt.objects.filter(turn_id=child.id).last().request_url
    assert turn_verify(turn=child).verified
    grandchild = drive(turn_rerun(turn=child, overrides={}))
    assert (grandchild.provider, grandchild.output_text) == ("anthropic", ESSAY)


def test_a_missing_connection_is_reported_with_the_existing_ones(cut: Turn):
    assert refused(cut, words=RerunChanges(connection="far")) == "There is no connection “far”; there are simulator."


def test_a_connection_with_a_lower_ceiling_is_refused_with_an_explanation(cut: Turn, simulator_url: str):
    connection_create(
        project=cut.project, name="small", provider="openai", base_url=simulator_url, max_output_tokens=50
    )
    assert "“small” may request at most 50 tokens" in refused(cut, words=RerunChanges(connection="small"))


def test_the_model_and_the_system_prompt_may_be_replaced(cut: Turn):
    child = drive(turn_rerun(turn=cut, overrides={"model": "sim-odd", "system_prompt": "Be odd."}))
    assert child.model == "sim-odd"
    assert "Be odd." in _messages(child) + Attempt.objects.get(turn_id=child.id, index=1).request


@pytest.mark.parametrize("from_record", [None, 1])
def test_a_rerun_may_have_breakpoints(cut: Turn, from_record):
    words = RerunChanges(breakpoints=[{"state": "continue_pending"}])
    child = drive(turn_rerun(turn=cut, overrides={}, from_record=from_record, words=words))
    assert child.status == "held"
    assert "there is no state" in refused(cut, words=RerunChanges(breakpoints=[{"state": "nowhere"}]))


def test_a_live_continuation_starts_where_the_recording_ends(cut: Turn):
    more = {"limits": {"max_continuations": 9, "max_total_completion_tokens": 2_000}}
    imagined = turn_what_if(turn=cut, overrides=more)
    assert imagined.undecidable
    child = drive(turn_go_on(turn=cut, overrides=more))
    assert (child.status, child.output_text) == ("completed", ESSAY)
    assert child.parent_id == cut.id
    assert Attempt.objects.filter(turn_id=child.id).count() == child.attempts
    assert "continued live where the recording ends" in list(changes(child, cut))
    assert turn_verify(turn=child).verified


def test_a_live_continuation_uses_recorded_text_and_not_estimated_text(cut: Turn):
    more = {"max_tokens": 45, "limits": {"max_continuations": 19, "max_total_completion_tokens": 4_000}}
    imagined = turn_what_if(turn=cut, overrides=more)
    assert (imagined.undecidable, imagined.recording.endings) == (True, ())
    assert imagined.estimates
    child = turn_go_on(turn=cut, overrides=more)
    known = [one.certainty for one in imagined.without_estimates.records]
    assert Certainty.ESTIMATED not in known
    assert child.base_snapshot["spent"]["attempts"] < imagined.recording.final.spent.attempts
    text = child.base_snapshot.get("answer", {}).get("text", "")
    assert cut.output_text.startswith(text)
    child = drive(child)
    assert (child.status, turn_verify(turn=child).verified) == ("completed", True)
    steps = f"{imagined.estimates} likely record{'s' if imagined.estimates > 1 else ''}"
    assert f"without {steps} of the what-if" in list(changes(child, cut))


def test_a_fully_recorded_turn_needs_no_live_continuation(cut: Turn):
    with pytest.raises(ValidationError, match="nothing to continue live"):
        turn_go_on(turn=cut, overrides={})


def test_a_turn_whose_agent_was_deleted_supports_what_if_and_no_re_run(cut: Turn):
    Agent.objects.all().delete()
    cut.refresh_from_db()
    assert turn_verify(turn=cut).verified
    assert turn_what_if(turn=cut, overrides={"max_tokens": 30}).turn["status"]
    assert "This turn has no agent, or its agent was deleted" in refused(cut)
    assert "This turn has no agent, or its agent was deleted" in refused(cut, from_record=2)


def test_a_changed_agent_is_re_run_with_its_former_settings(cut: Turn):
    Agent.objects.update(system_prompt="Something else.", max_tokens=10)
    child = drive(turn_rerun(turn=Turn.objects.get(pk=cut.pk), overrides={}))
    assert child.output_text == cut.output_text
    assert "Something else." not in _messages(child)


def test_a_running_turn_may_be_re_run_beside_itself(agent_of: AgentOf):
    turn = turn_start(agent=agent_of("sim-essay"), input_text="Why do agents stop?")
    child = drive(turn_rerun(turn=turn, overrides={}))
    assert child.status == "completed"
    assert refused(turn, from_record=1) == "Nothing has been recorded for this turn yet. Start from the beginning."


def test_overrides_of_several_generations_accumulate(cut: Turn):
    child = turn_rerun(turn=cut, overrides={"limits": {"max_continuations": 1}})
    grandchild = drive(turn_rerun(turn=child, overrides={"limits": {"max_steps": 2}}))
    assert grandchild.overrides == {"max_tokens": 60, "limits": {"max_continuations": 1, "max_steps": 2}}
    assert grandchild.continuations == 1
    assert Record.objects.filter(turn_id=grandchild.id).exists()


def _parents_named(turn: Turn) -> set[str | None]:
    observed = [o for record in Record.objects.filter(turn_id=turn.id) for o in record.observed]
    return {o["parentAgentId"] for o in observed if o["type"] == "continuation_evaluated"}


def test_evaluations_of_a_derived_turn_name_its_parent(cut: Turn):
    anew = drive(turn_rerun(turn=cut, overrides={}))
    forked = drive(turn_rerun(turn=cut, overrides={}, from_record=2))
    again = drive(turn_rerun(turn=forked, overrides={}))
    told = [_parents_named(turn) for turn in (cut, anew, forked, again)]
    assert told == [{None}, {str(cut.id)}, {str(cut.id)}, {str(forked.id)}]
    assert all(turn_verify(turn=turn).verified for turn in (anew, forked, again))
