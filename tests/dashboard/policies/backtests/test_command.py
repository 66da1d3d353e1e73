"""`manage.py backtest`: a policy tried over stored turns, in the terminal."""

import io
import json
import os
import signal

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from dashboard.agents.selectors import project_default
from dashboard.policies.backtests import runner
from dashboard.policies.backtests.models import Backtest
from dashboard.policies.backtests.presenters import backtest_view, signed
from dashboard.policies.backtests.templatetags.backtests import plus
from dashboard.policies.policy_creation import policy_create
from dashboard.runtime.management.commands import backtest as command
from tests.dashboard.driving import Play
from tests.dashboard.pages import page
from tests.dashboard.policies.backtests.test_process_pool import jobs
from tests.together import together

pytestmark = pytest.mark.django_db(transaction=True)


def told(*words: str) -> str:
    out = io.StringIO()
    call_command("backtest", *words, stdout=out)
    return out.getvalue()


def test_it_reports_how_many_turns_would_have_ended_differently_at_what_cost(play: Play):
    turn = play("sim-essay", overrides={"max_tokens": 150})
    lines = told("--max-continuations", "0").splitlines()
    certainty = "1 recorded"
    assert lines[0] == f"A backtest over 1 turn: 1 would have stopped sooner, 0 not known; {certainty}."
    assert lines[1].startswith(f"Of the 1 decided: {turn.continuations} calls fewer, ")
    assert lines[1].endswith("; simulator, free")
    assert lines[2].startswith(f"{turn.id}  completed → retry_limit  would have stopped sooner, ")
    assert len(lines) == 3


def test_a_turn_that_would_continue_to_an_unknown_end_is_not_listed_as_undecidable(play: Play):
    play("sim-essay", overrides={"max_tokens": 60})
    lines = told("--max-continuations", "9", "--max-total-completion-tokens", "9999").splitlines()
    assert lines[0].endswith("1 would have gone on to an end that is not known.")
    assert lines[1].startswith("1 not decided: the recording ends here, and the model would have continued ")
    assert len(lines) == 2


def test_the_json_output_equals_that_of_the_api(play: Play):
    turn = play("sim-essay", overrides={"max_tokens": 150})
    found = json.loads(told("--max-continuations", "0", "--json"))
    assert (found["status"], found["total"], found["flipped_turns"]) == ("done", 1, [str(turn.id)])
    assert found["id"] == str(Backtest.objects.get().id)


def test_differences_of_turns_without_counts_are_marked_as_estimates(play: Play, browser: Client):
    """In the terminal, on the pages, and to programs; of a counted turn the difference is a fact."""
    kinds = {"sim-no-usage": True, "sim-essay": False}
    for model in kinds:
        play(model, overrides={"max_tokens": 150})
    for model, about in kinds.items():
        found = json.loads(told("--max-continuations", "0", "--filter", f"agent={model}", "--json"))
        assert (found["tokens_estimated"], found["flips"][0]["about"]) == (about, about)
        lines = told("--max-continuations", "0", "--filter", f"agent={model}").splitlines()
        backtest = Backtest.objects.latest("id")
        (flip,) = backtest_view(backtest).flips
        assert [" about " in text for text in (*lines[1:3], f", {flip.difference}")] == [about] * 3
        for address in (f"/backtests/{backtest.pk}", "/backtests"):
            html = page(browser, address)
            assert (f"output tokens <b>≈ {plus(backtest.tokens_delta)}" in html) is about
            assert (f"output tokens <b>{plus(backtest.tokens_delta)}" in html) is not about


def test_it_needs_no_worker_and_queues_no_job(play: Play):
    play("sim-essay")
    before = jobs()
    told()
    assert jobs() == before


def test_only_turns_found_by_the_filters_are_tried(play: Play):
    play("sim-essay")
    play("sim-refuse")
    assert told("--filter", "agent=sim-refuse").startswith("A backtest over 1 turn:")
    assert told("--filter", "agent=sim-refuse", "--filter", "agent=sim-essay").startswith("A backtest over 2 turns:")
    assert told("--filter", "agent=nobody") == "A backtest over 0 turns: it found none.\n"


def test_it_starts_from_a_policy_with_the_given_numbers_replaced():
    limits = {"max_continuations": 1, "max_steps": 5}
    policy_create(project=project_default(), name="brief", limits=limits, tool_calls_on_truncation="repair")
    words = ("--policy", "brief", "--max-steps", "9", "--error-policy", "retry_all", "--replaces", "brief")
    told(*words, "--max-tokens", "70")
    made = Backtest.objects.get()
    assert made.policy["limits"] == {"max_continuations": 1, "max_steps": 9}
    assert (made.policy["tool_calls_on_truncation"], made.policy["error_policy"]["preset"]) == ("repair", "retry_all")
    assert (made.stands_for.name, made.max_tokens) == ("brief", 70)


@together
@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--policy", "nobody"], "There is no policy “nobody”; there are "),
        (["--stands-for", "nobody"], "There is no policy “nobody”; there are "),
        (["--filter", "agent"], "--filter agent: write NAME=VALUE, such as agent=sim-essay."),
        (["--filter", "colour=red"], "There is no filter “colour”; there are stop_reason, "),
        (["--filter", "status=blue"], "blue"),
        (["--max-continuations", "-1"], r"\(max_continuations\) must be a whole number from 0 to "),
        (["--max-seconds", "nan"], r"Time limit \(max_seconds\) must be "),
        (["--max-tokens", "0"], "It must be "),
    ],
)
def test_invalid_arguments_are_refused_with_an_explanation_and_nothing_is_created(words: list[str], sentence: str):
    with pytest.raises(CommandError, match=sentence):
        told(*words)
    assert not Backtest.objects.exists()


def test_ctrl_c_cancels_it_and_reports_its_progress(play: Play, monkeypatch: pytest.MonkeyPatch):
    play("sim-essay")

    def interrupted(*_args: object) -> int:
        os.kill(os.getpid(), signal.SIGINT)
        return 0

    monkeypatch.setattr(runner, "work", interrupted)
    out = io.StringIO()
    with pytest.raises(SystemExit, match="1"):
        call_command("backtest", stdout=out)
    assert out.getvalue() == "A backtest that was cancelled.\n"
    assert Backtest.objects.get().status == "cancelled"


def test_parts_judged_by_another_process_are_awaited(play: Play, monkeypatch: pytest.MonkeyPatch):
    play("sim-essay")
    looked: list[int] = []
    judge = runner.work

    def busy_at_first(backtest_id: object, stopped: object) -> int:
        looked.append(1)
        return 0 if len(looked) == 1 else judge(backtest_id, stopped)

    monkeypatch.setattr(command, "LOOK_SECONDS", 0)
    monkeypatch.setattr(runner, "work", busy_at_first)
    assert told().startswith("A backtest over 1 turn: 1 ends as recorded")
    assert len(looked) == 2


def test_a_difference_has_its_sign_directly_before_its_number():
    assert [plus(value) for value in (1_214, -3, 0)] == ["+1,214", "−3", "0"]
    assert [signed(value, lambda amount: f"${amount}") for value in (0.5, -0.5)] == ["+$0.5", "−$0.5"]
