"""The limit that would have let a turn finish: one value, by the surest thing that tells."""

import pytest
from django.db import connection, transaction
from django.test import Client
from django.utils.timezone import now

from agentcore.replay import Certainty, Experience, Observed
from dashboard.agents.samples import REPORT_SCHEMA
from dashboard.agents.selectors import project_default
from dashboard.agents.services import connection_create
from dashboard.live.services import turn_control
from dashboard.policies.suggestions import limit_trials, usual_limits
from dashboard.policies.suggestions.exhausted_limits import ExhaustedLimit
from dashboard.policies.suggestions.list_suggestions import suggestions_now
from dashboard.policies.suggestions.reruns import LimitTrial, said_the_same
from dashboard.policies.suggestions.selectors import LEAST, suggestion_for, suggestions_for
from dashboard.policies.suggestions.suggestion import Basis, Goal
from dashboard.policies.suggestions.suggestion_text import because, certainty_word, sentence
from dashboard.replay.rerun_changes import RerunChanges
from dashboard.replay.rerun_service import turn_rerun
from dashboard.replay.sweep_service import turn_sweep
from dashboard.turns.models import Attempt, Turn
from tests.dashboard.driving import Play, drive
from tests.dashboard.pages import text_of

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def cut(play: Play) -> Turn:
    """Cut four times at 60 tokens."""
    return play("sim-essay", max_tokens=60)


def lengths(cut: Turn, tokens: list[int]) -> None:
    """Other turns of the same agent and model, each with one answer of so many tokens."""
    about = {"project": cut.project, "agent": cut.agent, "agent_name": cut.agent_name, "provider": cut.provider}
    ended = {"status": "completed", "model_stop_reason": "end_turn", "attempts": 1, "max_tokens": 900}
    for count in tokens:
        Turn.objects.create(model=cut.model, output_tokens=count, input_text="Another.", **about, **ended)


def overwrite(turn: Turn, column: str) -> None:
    """Store another value with each call of a turn that has ended, which the database refuses else."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = 'replica'")
        cursor.execute(f"UPDATE turns_attempt SET {column} WHERE turn_id = %s", [turn.id])


def test_without_evidence_a_starting_value_is_given(cut: Turn):
    said = suggestion_for(cut)
    assert said is not None
    assert (said.limit, said.basis, said.certainty) == ("max_tokens", Basis.NONE, Certainty.UNDECIDABLE)
    assert said.value > cut.output_tokens
    assert said.overrides == {"max_tokens": said.value}
    assert sentence(said) == "How large Max tokens per call (max_tokens) must be for this turn is not known yet."


def test_only_answers_longer_than_this_one_are_evidence_for_its_length(cut: Turn):
    """A turn that was cut is not one of the short ones: of forty answers 95 % fit in 300 tokens, of its like fewer."""
    lengths(cut, [100] * 200 + [300 + place * 7 % 39 for place in range(39)])
    said = suggestion_for(cut)
    assert said is not None
    assert (said.value, said.basis, said.certainty) == (342, Basis.AGENT, Certainty.ESTIMATED)
    assert (said.answers, said.cut, said.longer_than, said.share) == (39, 0, cut.output_tokens, 0.95)
    assert because(said) == (
        "All 39 answers of agent sim-essay longer than 240 tokens fit in 342 tokens. "
        "The estimate for the next one is 95 %, "
        "because there are only 39."
    )


def test_few_answers_are_given_with_the_share_they_support(cut: Turn):
    lengths(cut, [300 + place for place in range(LEAST)])
    said = suggestion_for(cut)
    assert said is not None
    assert (said.value, round(said.share or 0, 3)) == (314, 0.909)
    counted = "fit in 314 tokens. The estimate for the next one is 91 %, because there are only 10."
    assert because(said).endswith(counted)


def test_counted_but_unreported_tokens_are_added(cut: Turn, monkeypatch: pytest.MonkeyPatch):
    lengths(cut, [300 + place * 7 % 39 for place in range(39)])
    bears_out = Experience(reports_all=False, unreported=Observed(120.0, 20))
    monkeypatch.setattr(usual_limits, "turn_experience", lambda turn: bears_out)
    said = suggestion_for(cut)
    assert said is not None
    assert said.value == 337 + 120
    assert because(said).endswith(
        "38 fit in 337 tokens. This limit is estimated to be enough for 95 % of further answers like these. "
        "The value includes 120 tokens that the model counts but does not report."
    )
    monkeypatch.setattr(usual_limits, "turn_experience", lambda turn: Experience(reports_all=False))
    unknown = suggestion_for(cut)
    assert unknown is not None
    assert unknown.basis is Basis.NONE


def test_only_the_newest_count_where_answers_became_longer(cut: Turn):
    lengths(cut, [300 + place * 7 % 39 for place in range(40)] + [900 + place * 7 % 39 for place in range(40)])
    said = suggestion_for(cut)
    assert said is not None
    assert (said.answers, said.newest, said.value >= 935) == (40, True, True)
    assert "All 40 newest answers of agent sim-essay longer than" in because(said)


def test_after_a_truncated_re_run_only_longer_answers_are_evidence(cut: Turn):
    lengths(cut, [300] * 60 + [600 + place for place in range(LEAST)])
    drive(turn_rerun(turn=cut, overrides={"max_tokens": 70}))
    Turn.objects.filter(parent=cut).update(overrides={"max_tokens": 310}, max_tokens=310)
    said = suggestion_for(cut)
    assert said is not None
    assert (said.value, said.answers, said.longer_than) == (614, LEAST, 310)


def test_a_turn_longer_than_almost_all_others_is_not_given_their_number(cut: Turn):
    lengths(cut, [100] * (LEAST + 10))
    said = suggestion_for(cut)
    assert said is not None
    assert (said.basis, said.value > cut.output_tokens) == (Basis.NONE, True)


def test_a_completed_live_re_run_proves_its_value_and_no_smaller_one(cut: Turn):
    """Nobody knows how many tokens a server counts for the end of an answer."""
    drive(turn_rerun(turn=cut, overrides={"max_tokens": 70}))
    short = suggestion_for(cut)
    assert short is not None
    assert (short.basis, short.value > 280) == (Basis.NONE, True)
    again = drive(turn_rerun(turn=cut, overrides={"max_tokens": 2_000}))
    said = suggestion_for(cut)
    assert said is not None
    assert (said.basis, said.certainty, said.rerun) == (Basis.RERUN, Certainty.CERTAIN, again.id)
    assert (said.value, said.calls, said.used) == (2_000, 1, again.output_tokens)
    less = suggestions_for(cut)[1]
    assert (less.value, less.basis, less.certainty) == (again.output_tokens + 2, Basis.RERUN, Certainty.ESTIMATED)
    assert because(less) == (
        f"A live re-run with Max tokens per call 2,000 completed in 1 call and used {again.output_tokens} tokens. "
        "Some servers also count the end of an answer, which they do not report."
    )
    drive(turn_rerun(turn=cut, overrides=less.overrides))
    proven = suggestion_for(cut)
    assert proven is not None
    assert (proven.value, certainty_word(proven)) == (less.value, "proven")


def test_a_fork_uses_the_number_shown_by_a_re_run_of_its_parent(cut: Turn):
    fork = drive(turn_rerun(turn=cut, overrides={}, from_record=3))
    lengths(cut, [890] * (LEAST + 10))
    before = suggestion_for(fork)
    assert before is not None
    assert before.basis is Basis.AGENT
    drive(turn_rerun(turn=cut, overrides={"max_tokens": 900}))
    said = [suggestion_for(turn) for turn in (cut, fork)]
    assert [(one.value, certainty_word(one)) for one in said if one] == [(900, "proven")] * 2
    drive(turn_rerun(turn=fork, overrides={"max_tokens": 800}))
    said = [suggestion_for(turn) for turn in (cut, fork)]
    assert [(one.value, certainty_word(one)) for one in said if one] == [(800, "proven")] * 2


def test_a_re_run_under_a_lower_limit_uses_the_number_shown_by_the_original_turn(play: Play):
    whole = play("sim-essay", max_tokens=900)
    short = drive(turn_rerun(turn=whole, overrides={"max_tokens": 60}))
    said = suggestion_for(short)
    assert said is not None
    assert (said.value, certainty_word(said), said.rerun) == (900, "proven", whole.id)
    assert because(said).startswith("The original turn completed in 1 call and used ")
    other = drive(turn_rerun(turn=whole, overrides={"max_tokens": 800}))
    said = suggestion_for(short)
    assert said is not None
    assert (said.value, said.rerun, because(said)[:13]) == (800, other.id, "A live re-run")


def test_a_value_under_which_the_original_turn_was_truncated_is_not_likely(cut: Turn):
    shorter = drive(turn_rerun(turn=cut, overrides={"max_tokens": 30}))
    lengths(cut, [40] * (LEAST + 10))
    said = suggestion_for(shorter)
    assert said is not None
    assert said.value > cut.max_tokens


def test_a_re_run_counts_even_if_the_connection_has_changed_since(cut: Turn):
    """A caller of the gateway may have said more than the connection does, which a re-run takes its settings from."""
    setup = {**cut.setup, "setup": {**cut.setup["setup"], "extra": {"temperature": 0}, "ceiling": 5_000}}
    Turn.objects.filter(pk=cut.pk).update(setup=setup)
    cut.refresh_from_db()
    drive(turn_rerun(turn=cut, overrides={"max_tokens": 900}))
    said = suggestion_for(cut)
    assert said is not None
    assert (said.value, said.basis) == (900, Basis.RERUN)


def test_re_runs_with_another_prompt_are_no_evidence(cut: Turn):
    drive(turn_rerun(turn=cut, overrides={"max_tokens": 400}))
    reworded = RerunChanges(messages={1: "Something else."})
    for record in (None, 2):
        again = drive(turn_rerun(turn=cut, overrides={}, words=reworded, from_record=record))
        said = suggestion_for(again)
        assert said is not None
        assert said.basis is Basis.NONE


def test_an_empty_first_answer_does_not_show_that_the_provider_repeated_itself(cut: Turn):
    """Its tokens were used for reasoning, of which nobody knows the words."""
    overwrite(cut, "text = ''")
    drive(turn_rerun(turn=cut, overrides={"max_tokens": 2_000}))
    said = suggestion_for(cut)
    assert said is not None
    assert (said.basis, certainty_word(said)) == (Basis.RERUN, "likely")
    assert because(said).endswith("It is not known to be the same answer.")


def test_an_initial_failed_call_does_not_make_the_answer_a_different_one(cut: Turn):
    """The same where a worker was killed during the call, which is then made again."""
    again = drive(turn_rerun(turn=cut, overrides={"max_tokens": 2_000}))
    overwrite(again, "index = 2")
    about = {"turn_id": again.id, "index": 1, "kind": "initial", "iteration": 1, "max_tokens": 2_000}
    error = {"kind": "interrupted", "type": "model", "message": "The worker of this call is gone."}
    Attempt.objects.create(**about, provider="openai", model="m", request={}, error=error, started_at=now())
    said = suggestion_for(cut)
    assert said is not None
    assert (said.value, certainty_word(said)) == (2_000, "proven")


def test_complete_answers_before_the_truncated_one_must_also_match(play: Play):
    cut = play("sim-tools", tools=["calculator"], max_tokens=60, overrides={"limits": {"max_steps": 1}})
    case = ExhaustedLimit(cut, None, "max_tokens")  # type: ignore[arg-type]
    again = drive(turn_rerun(turn=cut, overrides={"max_tokens": 70}))
    assert not said_the_same(case, LimitTrial(70, again, "max_tokens")), "none of its answers was cut"


def test_a_re_run_with_more_than_this_limit_raised_is_no_evidence_for_it_alone(play: Play):
    cut = play("sim-essay", max_tokens=60, overrides={"limits": {"max_continuations": 0}})
    again = drive(turn_rerun(turn=cut, overrides={"max_tokens": 100, "limits": {"max_continuations": 9}}))
    assert again.status == "completed"
    said = suggestion_for(cut)
    assert said is not None
    assert said.basis is Basis.NONE
    proven = drive(turn_rerun(turn=cut, overrides={"max_tokens": 2_000, "limits": {"max_continuations": 0}}))
    said = suggestion_for(cut)
    assert said is not None
    assert (said.basis, said.rerun) == (Basis.RERUN, proven.id), "what stood before is not given otherwise"


def test_a_value_that_completed_once_and_failed_later_is_not_used(cut: Turn):
    drive(turn_rerun(turn=cut, overrides={"max_tokens": 2_000}))
    said = suggestion_for(cut)
    assert said is not None
    Turn.objects.filter(pk=drive(turn_rerun(turn=cut, overrides={"max_tokens": said.value})).pk).update(
        status="partial"
    )
    again = suggestion_for(cut)
    assert again is not None
    assert again.value > said.value


def test_a_re_run_with_a_different_answer_makes_its_value_likely(cut: Turn):
    again = drive(turn_rerun(turn=cut, overrides={"max_tokens": 2_000}))
    overwrite(again, "text = 'Other words'")
    said = suggestion_for(cut)
    assert said is not None
    assert (said.basis, said.certainty, certainty_word(said)) == (Basis.RERUN, Certainty.ESTIMATED, "likely")
    assert "the turn would likely have finished" in sentence(said)
    assert "It is not known to be the same answer." in because(said)


def test_a_re_run_with_different_tool_calls_makes_its_value_likely(play: Play):
    stopped = play("sim-tools", tools=["calculator"], overrides={"limits": {"max_steps": 1}})
    again = drive(turn_rerun(turn=stopped, overrides={"limits": {"max_steps": 9}}))
    assert again.status == "completed"
    first = suggestion_for(stopped)
    overwrite(again, """tool_calls = '[{"name": "other", "raw": "{}"}]'""")
    said = suggestion_for(stopped)
    assert first is not None
    assert said is not None
    assert (first.certainty, said.certainty) == (Certainty.CERTAIN, Certainty.ESTIMATED)
    assert "Its answers are not the recorded ones." in because(said)


def test_a_structured_answer_that_stayed_invalid_counts_as_tried():
    failed = Turn(status="failed", error_code="envelope_invalid")
    assert LimitTrial(5, failed, "schema_rounds").in_vain
    assert not LimitTrial(5, Turn(status="failed", error_code="server"), "schema_rounds").in_vain, (
        "a provider's failure tells of no limit"
    )


def test_a_re_run_with_more_continuations_proves_the_number_it_used(cut: Turn):
    """The verdict names this limit and asks for a re-run: what that has shown is not kept back for a larger cap."""
    lengths(cut, [300 + place for place in range(39)])
    more = {"limits": {"max_continuations": 40, "max_total_completion_tokens": 4_000}}
    again = drive(turn_rerun(turn=cut, overrides=more))
    said = suggestion_for(cut)
    assert said is not None
    assert (said.limit, said.basis, certainty_word(said)) == ("max_continuations", Basis.RERUN, "proven")
    assert (said.value, said.given, said.rerun) == (again.continuations, 40, again.id)
    total = said.overrides["limits"]["max_total_completion_tokens"]
    assert again.output_tokens <= total < 4_000, "what it used is enough, and no more is asked for"
    both = (
        f"With Max continuations at {said.value} and Max completion tokens per turn "
        f"at {total}, the turn would have finished."
    )
    assert sentence(said) == both, "one of the two alone is not enough"
    assert suggestions_now([cut.id], cut.project)[0][1] == said
    one_call = drive(turn_rerun(turn=cut, overrides={"max_tokens": 2_000}))
    proven = suggestion_for(cut)
    assert proven is not None
    assert (proven.limit, proven.rerun) == ("max_tokens", one_call.id), "one call is the better answer once it is known"


def test_a_re_run_with_a_larger_token_total_alone_proves_it(play: Play):
    total = {"limits": {"max_total_completion_tokens": 100, "max_continuations": 40}}
    stopped = play("sim-essay", max_tokens=60, overrides=total)
    drive(turn_rerun(turn=stopped, overrides={"limits": {"max_total_completion_tokens": 2_000}}))
    said = suggestion_for(stopped)
    assert said is not None
    assert (said.limit, said.basis, said.value <= 2_000) == ("max_total_completion_tokens", Basis.RERUN, True)


def test_a_truncated_envelope_that_was_retried_shows_the_size_of_one_call(play: Play):
    completed = play("sim-json", max_tokens=60, envelope_schema=REPORT_SCHEMA)
    assert (completed.status, completed.continuations, completed.envelope_retries > 0) == ("completed", 0, True)
    said = suggestion_for(completed)
    assert said is not None
    assert (said.limit, said.goal, said.basis) == ("max_tokens", Goal.ONE_CALL, Basis.RECORDING)
    assert (said.value > 60, said.calls) == (True, 1)
    assert suggestions_now([completed.id], completed.project)[0][1] == said


def test_a_single_call_shown_by_a_re_run_is_proven_instead_of_likely(play: Play):
    turn = play("sim-essay", max_tokens=150)
    likely = suggestion_for(turn)
    assert likely is not None
    assert certainty_word(likely) == "likely"
    again = drive(turn_rerun(turn=turn, overrides=likely.overrides))
    assert again.attempts == 1
    proven = suggestion_for(turn)
    assert proven is not None
    assert (proven.value, proven.goal, proven.rerun) == (likely.value, Goal.ONE_CALL, again.id)
    assert certainty_word(proven) == "proven"
    assert sentence(proven) == f"With Max tokens per call at {likely.value}, one call was enough."
    assert suggestions_now([turn.id], turn.project)[0][1] == proven
    less = suggestions_for(turn)[1]
    assert (certainty_word(less), less.value) == ("likely", again.output_tokens + 2), "and it used less than was given"
    assert drive(turn_rerun(turn=turn, overrides=less.overrides)).attempts == 1


def test_a_single_call_disproved_by_a_re_run_is_no_longer_suggested(play: Play):
    """Asked in one go, this model says more than it did after a hint."""
    turn = play("sim-hint-differs", max_tokens=60)
    likely = suggestion_for(turn)
    assert likely is not None
    assert drive(turn_rerun(turn=turn, overrides=likely.overrides)).attempts == 2
    assert suggestion_for(turn) is None
    enough = drive(turn_rerun(turn=turn, overrides={"max_tokens": 900}))
    proven = suggestion_for(turn)
    assert proven is not None
    assert (enough.attempts, proven.rerun, proven.value > likely.value) == (1, enough.id, True)


def test_an_envelope_that_violated_its_schema_needs_no_limit(play: Play):
    completed = play("sim-schema", envelope_schema=REPORT_SCHEMA)
    assert (completed.status, completed.envelope_retries) == ("completed", 1)
    assert suggestion_for(completed) is None


def test_a_re_run_in_one_call_ranks_before_a_smaller_value_with_several(cut: Turn):
    drive(turn_rerun(turn=cut, overrides={"max_tokens": 2_000}))
    one_call = suggestion_for(cut)
    assert drive(turn_rerun(turn=cut, overrides={"max_tokens": 150})).attempts > 1
    assert suggestion_for(cut) == one_call
    assert one_call is not None
    assert (one_call.basis, one_call.calls) == (Basis.RERUN, 1)


def test_a_call_ended_by_the_time_limit_needs_a_longer_time(play: Play):
    stopped = play("sim-slow", overrides={"limits": {"max_seconds": 0.1}})
    assert (stopped.terminal_reason, stopped.resource) == ("provider_error", "max_seconds")
    said = suggestion_for(stopped)
    assert said is not None
    assert (said.limit, said.recorded, said.basis) == ("max_seconds", 0.1, Basis.NONE)
    assert said.overrides == {"limits": {"max_seconds": said.value}}


def test_a_longer_time_that_ended_before_any_text_counts_as_tried():
    late = Turn(status="failed", terminal_reason="provider_error", resource="max_seconds")
    assert LimitTrial(5, late, "max_seconds").in_vain
    assert not LimitTrial(5, Turn(status="failed", terminal_reason="provider_error"), "max_seconds").in_vain


def test_a_time_that_sufficed_once_is_likely_and_not_rounded_down(play: Play, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(limit_trials, "exhausted_limit_of", lambda *of: ExhaustedLimit(*of, "max_seconds"))
    stopped = play("sim-tools")
    drive(turn_rerun(turn=stopped, overrides={"limits": {"max_seconds": 90.5}}))
    said = suggestion_for(stopped)
    assert said is not None
    assert (said.basis, said.certainty, said.value) == (Basis.RERUN, Certainty.ESTIMATED, 91)
    assert because(said).endswith("Another run may take longer.")


@pytest.mark.parametrize(("change", "basis"), [({"max_tokens": 2_000}, Basis.NONE), ({}, Basis.RERUN)])
def test_a_re_run_changed_by_an_operator_proves_nothing(cut: Turn, change: dict[str, int], basis: Basis):
    again = turn_rerun(turn=cut, overrides={"max_tokens": 100 if change else 2_000})
    turn_control(turn=again, by="ann", action="hold")
    assert drive(again).status == "held"
    turn_control(turn=again, by="ann", action="release", **change)
    assert drive(again).status == "completed"
    said = suggestion_for(cut)
    assert said is not None
    assert said.basis is basis


def test_other_answers_suggest_no_number_that_exceeds_the_turns_text_limit(play: Play):
    cut = play(
        "sim-essay", max_tokens=60, overrides={"limits": {"max_continuations": 0, "max_total_output_chars": 500}}
    )
    lengths(cut, [370] * (LEAST + 10))
    said = suggestion_for(cut)
    assert said is not None
    assert said.basis is Basis.NONE


@pytest.mark.parametrize("limits", [{"max_total_tokens": 200}, {"max_total_tokens": 200, "max_continuations": 9}])
def test_a_truncated_answer_ended_by_the_total_of_input_and_output_needs_a_larger_total(
    play: Play, limits: dict[str, int]
):
    cut = play("sim-essay", max_tokens=60, overrides={"limits": limits})
    assert cut.resource == "max_total_tokens"
    said = suggestion_for(cut)
    assert said is not None
    assert said.limit == "max_total_tokens"
    again = drive(turn_rerun(turn=cut, overrides=said.overrides))
    proven = suggestion_for(cut)
    assert proven is not None
    assert (again.status, proven.basis, proven.limit) == ("completed", Basis.RERUN, "max_total_tokens")


@pytest.mark.parametrize("limits", [{"max_total_tokens": 200}, {}])
def test_at_the_maximum_of_a_call_the_re_run_raises_all_continuation_limits(
    play: Play, simulator_url: str, limits: dict[str, int]
):
    connection = connection_create(
        project=project_default(), name="small", provider="openai", base_url=simulator_url, max_output_tokens=60
    )
    cut = play("sim-essay", connection=connection, max_tokens=60, overrides={"limits": limits})
    said = suggestion_for(cut)
    assert said is not None
    assert said.limit == ("max_total_tokens" if limits else "max_continuations")
    assert drive(turn_rerun(turn=cut, overrides=said.overrides)).status == "completed"


def test_the_number_for_one_call_is_the_same_in_the_verdict_the_sweep_and_here(play: Play, simulator_url: str):
    address = simulator_url.removesuffix("/v1")
    exact = connection_create(
        project=project_default(), name="exact", provider="anthropic", base_url=address, prefill=True
    )
    for turn in (play("sim-essay", max_tokens=150), play("sim-essay", name="exact", max_tokens=150, connection=exact)):
        said = suggestion_for(turn)
        assert said is not None
        assert (said.limit, said.goal, said.calls) == ("max_tokens", Goal.ONE_CALL, 1)
        swept = turn_sweep(turn=turn, name="max_tokens", values=range(20, 720, 20), overrides={})
        assert swept.best is not None
        assert (swept.best.value, swept.best.calls, swept.best.certainty) == (said.value, 1, said.certainty)
        assert (f"Max tokens per call (max_tokens) ≥ {said.value}" in turn.verdict) == (
            said.certainty is Certainty.CERTAIN
        )


def test_for_a_fork_that_started_with_a_continuation_one_call_is_not_claimed_to_suffice(cut: Turn):
    fork = drive(turn_rerun(turn=cut, overrides={"max_tokens": 2_000}, from_record=2))
    assert (fork.status, fork.attempts, fork.continuations) == ("completed", 1, 1)
    assert suggestion_for(fork) is None


def test_characters_recorded_beyond_the_limit_make_its_number_certain(play: Play):
    turn = play("sim-essay", max_tokens=900, overrides={"limits": {"max_total_output_chars": 200}})
    said = suggestion_for(turn)
    assert said is not None
    assert (said.limit, said.basis, said.recorded) == ("max_total_output_chars", Basis.RECORDING, 200)
    assert said.certainty.rank <= Certainty.CERTAIN.rank
    completed = turn_sweep(
        turn=turn, name="max_total_output_chars", values=range(int(said.value) - 1, int(said.value) + 1), overrides={}
    )
    assert [point.completed for point in completed.points if point.value != 200] == [False, True]


def test_no_more_tokens_are_expected_than_the_other_limits_allow(play: Play):
    limits = {"max_total_output_chars": 300, "max_continuations": 20}
    said = suggestion_for(play("sim-endless", max_tokens=40, overrides={"limits": limits}))
    assert said is not None
    assert said.costs is not None
    assert (said.limit, said.costs.output_tokens <= said.costs.most_tokens) == ("max_total_output_chars", True)


@pytest.mark.parametrize(
    ("model", "asked", "told"),
    [
        (
            "sim-endless",
            {"max_tokens": 40},
            "and too few longer answers are recorded for an estimate: 0 complete ones of model sim-endless, where an "
            "estimate needs 10. A turn and its re-runs count as one.",
        ),
        (
            "sim-tools",
            {"tools": ["calculator"], "overrides": {"limits": {"max_steps": 1}}},
            "and too few turns that used more of it are recorded for an estimate: 0 "
            "complete ones of model sim-tools, where "
            "an estimate needs 10. A turn and its re-runs count as one.",
        ),
    ],
)
def test_an_unknown_limit_says_what_is_missing_for_an_estimate(play: Play, model: str, asked: dict, told: str):
    said = suggestion_for(play(model, **asked))
    assert said is not None
    assert (said.basis, because(said).endswith(told)) == (Basis.NONE, True)


def test_a_rate_limit_names_the_settings_that_would_have_retried(play: Play):
    turn = play("sim-flaky")
    said = suggestion_for(turn)
    assert said is not None
    assert (said.limit, said.basis) == ("max_retries", Basis.SETTING)
    assert said.overrides == {"error_policy": {"on_rate_limit_error": "retry", "max_retries": said.value}}
    unknown = "Whether the provider would then have answered is not known."
    why = "3 allows 2 retries: a temporary error often outlasts one."
    assert because(said) == f"The provider asked to try again in 1 s. {why} {unknown}"


def test_a_re_run_answered_after_a_retry_is_likely_because_another_may_need_more(play: Play):
    failed = play("sim-flaky")
    asked = suggestion_for(failed)
    assert asked is not None
    assert drive(turn_rerun(turn=failed, overrides=asked.overrides)).status == "completed"
    said = suggestion_for(failed)
    assert said is not None
    assert (said.basis, said.certainty) == (Basis.RERUN, Certainty.ESTIMATED)
    assert because(said).endswith("Another run may need more retries."), "the failed turn has no answer to compare"


@pytest.mark.parametrize("model", ["sim-refuse", "sim-odd", "sim-tools"])
def test_no_limit_is_named_where_none_would_have_helped(play: Play, model: str):
    assert suggestion_for(play(model)) is None


def test_exhausted_steps_are_estimated_from_other_turns(play: Play):
    turn = play("sim-tools", tools=["calculator"], overrides={"limits": {"max_steps": 1}})
    said = suggestion_for(turn)
    assert said is not None
    assert (said.limit, said.recorded, said.overrides) == ("max_steps", 1, {"limits": {"max_steps": said.value}})


def test_the_api_gives_the_same_as_the_page(browser: Client, cut: Turn):
    said = suggestion_for(cut)
    assert said is not None
    told = browser.get(f"/api/v1/turns/{cut.id}/verdict").json()["suggestion"]
    assert (told["limit"], told["value"], told["basis"]) == (said.limit, said.value, said.basis)
    assert told["words"] == f"{sentence(said)} {because(said)}"
    assert sentence(said) in text_of(browser.get(f"/turns/{cut.id}").content.decode())


def asked_with(turn: Turn, **extra: object) -> None:
    """Store that the turn was asked with these fields beside."""
    setup = turn.setup["setup"]
    told = {**turn.setup, "setup": {**setup, "extra": {**setup["extra"], **extra}}}
    Turn.objects.filter(pk=turn.pk).update(setup=told)
    turn.refresh_from_db()


@pytest.mark.parametrize("extra", [{"temperature": 1}, {"tool_choice": "none"}, {"caller_headers": {"a": "b"}}])
def test_a_turn_run_with_other_settings_proves_nothing(cut: Turn, extra: dict[str, object]):
    """So it is with re-runs of earlier releases, which left out what the caller had set."""
    again = drive(turn_rerun(turn=cut, overrides={"max_tokens": 900}))
    proven = suggestion_for(cut)
    assert proven is not None
    assert proven.basis is Basis.RERUN
    asked_with(again, **extra)
    said = suggestion_for(cut)
    assert said is not None
    assert said.basis is Basis.NONE


def test_the_re_run_of_a_turn_with_further_caller_settings_proves_its_value(cut: Turn):
    asked_with(cut, temperature=0, first_call={"prefill": True})
    again = drive(turn_rerun(turn=cut, overrides={"max_tokens": 900}))
    assert again.setup["setup"]["extra"]["temperature"] == 0
    said = suggestion_for(cut)
    assert said is not None
    assert (said.value, said.basis) == (900, Basis.RERUN)


def test_more_characters_are_suggested_with_the_tokens_and_continuations_they_need(play: Play):
    """A live try under the value alone would be ended by the token total, and show nothing."""
    turn = play("sim-essay", max_tokens=40, overrides={"limits": {"max_total_output_chars": 300}})
    said = suggestion_for(turn)
    assert said is not None
    assert (said.limit, turn.terminal_reason) == ("max_total_output_chars", "output_cap")
    limits = said.overrides["limits"]
    assert limits["max_total_completion_tokens"] >= 4 * turn.output_tokens
    assert limits["max_continuations"] >= 4 * turn.continuations
