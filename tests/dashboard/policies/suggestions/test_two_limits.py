"""A re-run that tries one limit is not ended by another: that is raised beside it, or named with its number next."""

import math
import re
from html import unescape
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
from django.template.loader import render_to_string
from django.test import Client

from agentcore.policy import limit_in_words
from agentcore.replay import Certainty, fold
from agentcore.snapshot import Snapshot
from agentcore.values import replace
from dashboard.agents.models import Agent, PolicyVersion
from dashboard.agents.selectors import project_default
from dashboard.policies.policy_creation import policy_create
from dashboard.policies.policy_versions import version_activate
from dashboard.policies.suggestions.exhausted_limits import ExhaustedLimit
from dashboard.policies.suggestions.selectors import suggestion_for
from dashboard.policies.suggestions.services import backtest_found, backtest_of_value
from dashboard.policies.suggestions.suggestion import Basis, Suggestion
from dashboard.policies.suggestions.suggestion_text import because, sentence
from dashboard.replay.rerun_service import turn_rerun
from dashboard.replay.services import turn_what_if
from dashboard.turns.history import recording_of
from dashboard.turns.models import Turn
from tests.dashboard.driving import Play, drive
from tests.dashboard.pages import HTMX, compact, text_of

pytestmark = pytest.mark.django_db(transaction=True)


def told(turn: Turn) -> Suggestion:
    said = suggestion_for(turn)
    assert said is not None
    return said


def recording_last(turn: Turn) -> Snapshot:
    return fold(recording_of(turn))[-1].after


def took(turn: Turn, milliseconds: list[int], **about: Any) -> None:
    """Other turns of the same agent and model that completed in so much time each."""
    same = {"project": turn.project, "agent": turn.agent, "agent_name": turn.agent_name, "provider": turn.provider}
    for each in milliseconds:
        more = {"status": "completed", "model_stop_reason": "end_turn", "attempts": 1, "output_tokens": 50, **about}
        Turn.objects.create(model=turn.model, duration_ms=each, input_text="Another.", **same, **more)


def test_turns_that_took_less_than_a_second_tell_of_a_time_limit_below_one(late: Turn):
    used = max(recording_last(late).spent.seconds, (late.duration_ms or 0) / 1000)
    took(late, [int(1000 * used) + 150 + place * 7 % 30 for place in range(30)])
    said = told(late)
    assert (said.limit, said.basis, said.answers, said.within) == ("max_seconds", Basis.AGENT, 30, 30)
    assert (said.of, said.value) == ("sim-slow", math.ceil(used + 0.179))
    assert because(said).startswith("All 30 turns of agent sim-slow that used more than ")


def test_turns_that_were_faster_are_named_where_none_took_longer(late: Turn):
    took(late, [81] * 12)
    said = told(late)
    assert said.basis is Basis.NONE
    assert because(said).endswith(
        "The 12 completed turns of agent sim-slow took at most 0.1 seconds, so this one "
        "may complete as soon when it is run again."
    )


def test_a_longer_time_is_tried_with_room_for_the_calls_that_it_takes(play: Play):
    """Four calls in half a second: in two seconds there are four times as many."""
    turn = play("sim-essay", max_tokens=60)
    last = recording_last(turn)
    late = ExhaustedLimit(turn, replace(last, spent=replace(last.spent, seconds=0.5)), "max_seconds")
    assert late.beside(2, None) == {"limits": {"max_continuations": 30, "max_total_completion_tokens": 1_920}}
    assert late.beside(0.5, None) is None


@pytest.fixture
def ended_by_steps(late: Turn) -> Turn:
    """Its re-run under a longer time was ended by another limit."""
    again = drive(turn_rerun(turn=late, overrides={"limits": {"max_seconds": 120}}))
    Turn.objects.filter(pk=again.pk).update(status="partial", resource="max_steps", terminal_reason="max_steps")
    return late


def test_a_limit_that_ended_the_re_run_is_raised_in_the_next_with_its_number(ended_by_steps: Turn, browser: Client):
    said = told(ended_by_steps)
    assert said.overrides == {"limits": {"max_seconds": said.value, "max_steps": 25}}
    panel = text_of(compact(browser.get(f"/turns/{ended_by_steps.id}/limit", headers=HTMX).content.decode()))
    assert "was stopped by Max steps (max_steps), so it does not show whether this is enough" in panel
    assert f"One live re-run with Time limit {said.value} s and Max steps 25" in panel
    again = drive(turn_rerun(turn=ended_by_steps, overrides={"limits": {"max_seconds": 120, "max_steps": 25}}))
    found = told(ended_by_steps)
    assert (found.basis, found.rerun) == (Basis.RERUN, again.id)
    assert found.overrides == {"limits": {"max_seconds": found.value}}, "it took one step"


def test_a_second_limit_that_was_not_enough_is_raised_further(ended_by_steps: Turn):
    again = drive(turn_rerun(turn=ended_by_steps, overrides={"limits": {"max_seconds": 120, "max_steps": 25}}))
    Turn.objects.filter(pk=again.pk).update(status="partial", resource="max_steps", terminal_reason="max_steps")
    assert told(ended_by_steps).overrides["limits"]["max_steps"] == 30


@pytest.mark.parametrize("bound", ["max_steps", "max_seconds", "max_total_output_chars"])
def test_a_larger_cap_whose_re_run_another_limit_ended_is_not_called_too_small(play: Play, bound: str):
    cut = play("sim-essay", max_tokens=60, overrides={"limits": {"max_seconds": 60}})
    again = drive(turn_rerun(turn=cut, overrides={"max_tokens": 900}))
    Turn.objects.filter(pk=again.pk).update(status="partial", resource=bound)
    said = told(cut)
    assert (said.limit, said.value) == ("max_tokens", 960), "the same value, and not a larger one"
    raised = {"max_steps": 25, "max_seconds": 240, "max_total_output_chars": 480_000}
    assert said.overrides["limits"] == {bound: raised[bound]}


def test_what_the_re_run_did_not_use_of_the_limits_beside_is_not_asked_for(play: Play):
    turn = play("sim-essay", max_tokens=60, overrides={"limits": {"max_total_output_chars": 300}})
    wide = {"max_total_output_chars": 9_000, "max_continuations": 48, "max_total_completion_tokens": 9_000}
    again = drive(turn_rerun(turn=turn, overrides={"limits": wide}))
    assert again.status == "completed"
    said = told(turn)
    assert (said.limit, said.basis, said.value) == ("max_total_output_chars", Basis.RERUN, len(again.output_text))
    needed = {"max_continuations": again.continuations, "max_total_completion_tokens": again.output_tokens + 60}
    assert said.together == {"limits": needed}
    proof = drive(turn_rerun(turn=turn, overrides=said.overrides))
    assert (proof.status, proof.output_text) == ("completed", again.output_text)


@pytest.fixture
def two_limits(play: Play) -> Turn:
    """Cut by its cap, and too long for its characters, too: a re-run has shown both values that are enough."""
    chars = len(play("sim-essay", name="short", max_tokens=60).output_text) + 60
    version = policy_create(project=project_default(), name="brief", limits={"max_total_output_chars": chars})
    turn = play("sim-essay", max_tokens=60, policy=version.policy)
    first = drive(turn_rerun(turn=turn, overrides=told(turn).overrides))
    assert (turn.resource, first.resource) == ("max_continuations", "max_total_output_chars")
    proof = drive(turn_rerun(turn=turn, overrides=told(turn).overrides))
    assert proof.status == "completed"
    return Turn.objects.get(pk=turn.pk)


def panel_shown(browser: Client, turn: Turn) -> str:
    return text_of(compact(browser.get(f"/turns/{turn.id}/limit", headers=HTMX).content.decode()))


def test_using_a_cap_drafts_the_policys_limit_that_it_needs_as_well(two_limits: Turn, browser: Client):
    turn, said = two_limits, told(two_limits)
    chars = said.overrides["limits"]["max_total_output_chars"]
    before = panel_shown(browser, turn)
    assert f"Use {said.value} for sim-essay + draft: {chars:,} output characters" in before.replace("\u00a0", " ")
    assert "An agent has no such limit of its own, so a draft of its policy carries it. Activate it, too." in before
    address, asked = f"/turns/{turn.id}/limit/use", {"value": f"{said.value}", "standing": "60"}
    done = text_of(compact(browser.post(address, asked, follow=True).content.decode()))
    assert f"Max tokens per call of sim-essay was changed from 60 to {said.value}." in done
    assert f"Draft v2 of “brief” created: Max output characters {chars:,}. It is needed, too: activate it." in done
    draft = PolicyVersion.objects.get(policy__name="brief", version=2)
    assert draft.limits == {"max_total_output_chars": chars}
    after = panel_shown(browser, turn).replace("\u00a0", " ")
    assert f"Create draft: {chars:,} output characters" in after
    assert "Use " not in after, "the agent has its cap"
    version_activate(version=draft, by=None, why="")
    active = panel_shown(browser, turn).replace("\u00a0", " ")
    assert "Create draft" not in active
    assert f"The policy already allows {chars:,} output characters, which is needed, too." in active


def test_no_draft_is_created_where_the_policy_allows_what_a_cap_needs_beside_it(two_limits: Turn, browser: Client):
    said = told(two_limits)
    Agent.objects.filter(pk=two_limits.agent_id).update(policy=None)
    assert "draft" not in panel_shown(browser, two_limits)
    browser.post(f"/turns/{two_limits.id}/limit/use", {"value": f"{said.value}", "standing": "60"})
    assert Agent.objects.get(pk=two_limits.agent_id).max_tokens == said.value
    assert PolicyVersion.objects.filter(policy__name="brief").count() == 1


def test_the_backtest_of_a_cap_counts_what_it_needs_beside_it(two_limits: Turn):
    said = told(two_limits)
    made = backtest_of_value(turn=two_limits, suggestion=said, value=said.value)
    assert made is not None
    assert made.max_tokens == said.value
    assert made.policy["limits"] == said.overrides["limits"], "not what the turn had"
    assert backtest_found(turn=two_limits, suggestion=said) == made


def test_a_larger_cap_of_somebody_else_is_kept_while_the_draft_is_created(two_limits: Turn, browser: Client):
    Agent.objects.filter(pk=two_limits.agent_id).update(max_tokens=5_000)
    panel = browser.get(f"/turns/{two_limits.id}/limit", headers=HTMX).content.decode()
    assert '<input type="hidden" name="value" value="5000">' in panel
    browser.post(f"/turns/{two_limits.id}/limit/use", {"value": "5000", "standing": "5000"})
    assert Agent.objects.get(pk=two_limits.agent_id).max_tokens == 5_000
    assert PolicyVersion.objects.filter(policy__name="brief").count() == 2


def test_a_turn_and_its_failed_re_run_name_the_same_next_number_of_retries(play: Play, browser: Client):
    turn = play("sim-429")
    first = told(turn)
    assert first.overrides == {"error_policy": {"on_rate_limit_error": "retry", "max_retries": 3}}
    again = drive(turn_rerun(turn=turn, overrides=first.overrides))
    assert again.status == "failed"
    values = {each.id: told(Turn.objects.get(pk=each.pk)).value for each in (turn, again)}
    assert values == {turn.id: 6, again.id: 6}
    for each in values:
        assert browser.get(f"/api/v1/turns/{each}/verdict").json()["suggestion"]["value"] == 6


WIDE = {"max_continuations": 12, "max_total_completion_tokens": 2_400}
TOTALS = {"max_total_tokens": 300, "max_total_completion_tokens": 150}


@pytest.mark.parametrize("limit", TOTALS)
def test_a_total_that_ended_the_turn_is_what_is_named(play: Play, browser: Client, limit: str):
    turn = play("sim-essay", max_tokens=60, overrides={"limits": {limit: TOTALS[limit]}})
    assert turn.resource == limit
    said = told(turn)
    assert (said.limit, said.recorded) == (limit, TOTALS[limit])
    verdict = browser.get(f"/api/v1/turns/{turn.id}/verdict").json()
    assert f"a higher {limit_in_words(limit)}" in f"{verdict}", "the verdict names it, too"
    again = drive(turn_rerun(turn=turn, overrides=said.overrides))
    assert again.status == "completed", f"{again.resource} ended it"
    found = told(turn)
    assert (found.limit, found.basis, found.rerun) == (limit, Basis.RERUN, again.id)


def test_a_larger_cap_is_named_for_a_total_only_where_a_re_run_completed_with_it(play: Play):
    turn = play("sim-essay", max_tokens=60, overrides={"limits": {"max_total_tokens": 300}})
    again = drive(turn_rerun(turn=turn, overrides={"max_tokens": 900}))
    found = told(turn)
    assert (again.status, found.limit, found.value, found.basis) == ("completed", "max_tokens", 900, Basis.RERUN)


@pytest.fixture
def one_character_short(play: Play) -> Turn:
    """A re-run whose recording holds the whole answer, and which nothing else than the number of characters ended."""
    turn = play("sim-essay", max_tokens=60, overrides={"limits": {"max_total_output_chars": 300}})
    whole = drive(turn_rerun(turn=turn, overrides={"limits": {**WIDE, "max_total_output_chars": 9_000}}))
    short = {"max_total_output_chars": len(whole.output_text) - 1}
    again = drive(turn_rerun(turn=turn, overrides={"limits": {**WIDE, **short}}))
    assert (whole.status, again.resource) == ("completed", "max_total_output_chars")
    return again


def test_a_value_that_is_certain_alone_is_named_alone(one_character_short: Turn):
    said = told(one_character_short)
    assert said.basis is Basis.RECORDING
    stood = one_character_short.overrides["limits"]["max_total_output_chars"]
    assert said.overrides == {"limits": {"max_total_output_chars": stood + 1}}
    imagined = turn_what_if(turn=one_character_short, overrides=said.overrides)
    assert (imagined.turn["status"], imagined.recording.certainty) == ("completed", said.certainty)


def test_a_value_that_is_not_known_to_be_enough_alone_is_named_with_the_rest(play: Play):
    turn = play("sim-essay", max_tokens=60, overrides={"limits": {"max_total_output_chars": 300}})
    assert told(turn).overrides["limits"].keys() > {"max_total_output_chars"}


def test_a_total_of_a_re_run_is_the_least_that_its_recording_shows_to_be_enough(play: Play):
    turn = play("sim-essay", max_tokens=60, overrides={"limits": {"max_total_tokens": 300}})
    drive(turn_rerun(turn=turn, overrides=told(turn).overrides))
    said = told(turn)
    again = Turn.objects.get(pk=said.rerun)
    used = recording_last(again).spent.total_tokens
    assert (said.basis, said.spent) == (Basis.RERUN, used)
    assert said.value < used
    ends = {
        more: turn_what_if(turn=again, overrides={"limits": {"max_total_tokens": said.value + more}})
        for more in (-1, 0)
    }
    assert (ends[0].turn["status"], ends[0].recording.certainty) == ("completed", Certainty.RECORDED)
    assert ends[-1].turn["status"] != "completed"
    assert because(said).endswith(
        f"and used {used:,} input and output tokens. "
        "This limit is checked before each call, so less than was used is enough. "
        f"{said.value:,} is 1 more than the {said.value - 1:,} used before its last call."
    )
    proof = drive(turn_rerun(turn=turn, overrides=said.overrides))
    assert (proof.status, proof.output_text) == ("completed", again.output_text)


def test_what_a_re_run_used_is_told_in_the_unit_of_the_limit(play: Play):
    turn = play("sim-essay", max_tokens=60, overrides={"limits": {"max_total_output_chars": 300}})
    again = drive(turn_rerun(turn=turn, overrides={"limits": {**WIDE, "max_total_output_chars": 9_000}}))
    value = len(again.output_text)
    assert because(told(turn)).endswith(f" and used {value:,} characters.")
    drive(turn_rerun(turn=turn, overrides={"limits": {**WIDE, "max_total_output_chars": value}}))
    assert because(told(turn)).endswith(f" and used {value:,} characters."), "also where it was given no more"


def test_a_time_limit_stands_with_its_unit_in_sentences_and_in_the_row_of_a_list(late: Turn, browser: Client):
    again = drive(turn_rerun(turn=late, overrides={"limits": {"max_seconds": 120}}))
    said = told(late)
    assert (said.basis, said.rerun) == (Basis.RERUN, again.id)
    assert f"With Time limit at {said.value} s, the turn " in sentence(said)
    assert because(said).startswith("A live re-run with Time limit 120 s completed in ")
    panel = text_of(compact(browser.get(f"/turns/{late.id}/limit", headers=HTMX).content.decode()))
    assert "Time limit was 0.2 s." in panel.replace("\u00a0", " ")
    cell = render_to_string("suggestions/_cell.html", {"said": said}).replace("\u00a0", " ")
    assert "was 0.2 s" in text_of(compact(cell))
    assert f"{said.value} s" in text_of(compact(cell))


def asked_by_the_sweep(browser: Client, turn: Turn) -> dict[str, str]:
    """What the address of the sweep's re-run asks for."""
    html = browser.get(f"/turns/{turn.id}/replay/sweep").content.decode()
    (address,) = re.findall(r'href="(/turns/[^"]+/replay/again\?[^"]+)"', html)
    return dict(parse_qsl(urlsplit(unescape(address)).query))


@pytest.mark.parametrize(
    ("limits", "limit"),
    [
        ({"max_total_output_chars": 300}, "max_total_output_chars"),
        ({"max_total_tokens": 300}, "max_total_tokens"),
    ],
)
def test_the_sweep_re_runs_with_all_that_the_page_of_the_turn_suggests(
    play: Play, browser: Client, limits: dict[str, int], limit: str
):
    turn = play("sim-essay", max_tokens=60, overrides={"limits": limits})
    said = told(turn)
    assert (said.limit, said.known) == (limit, False)
    asked = {name: int(value) for name, value in asked_by_the_sweep(browser, turn).items()}
    assert asked == said.overrides["limits"]
    assert len(asked) > 1
    form = browser.get(f"/turns/{turn.id}/replay/again", asked).content.decode()
    for name, value in asked.items():
        assert re.search(rf'name="{name}"[^>]*value="{value}"', form), f"{name} is sent on"


def test_characters_are_not_called_too_few_where_max_continuations_ended_the_re_run(play: Play, browser: Client):
    turn = play("sim-essay", max_tokens=60, overrides={"limits": {"max_total_output_chars": 300}})
    first = told(turn)
    again = drive(turn_rerun(turn=turn, overrides={"limits": {"max_total_output_chars": first.value}}))
    assert again.resource == "max_continuations"
    said = told(turn)
    assert (said.limit, said.value, said.basis) == (first.limit, first.value, Basis.NONE)
    assert said.overrides == first.overrides, "the same once more, with what the re-run lacked"
    panel = panel_shown(browser, turn)
    assert "was stopped by Max continuations (max_continuations), so it does not show" in panel
    assert "not enough" not in panel


def test_what_ended_the_re_run_is_raised_further_beside_the_characters(play: Play):
    turn = play("sim-essay", max_tokens=60, overrides={"limits": {"max_total_output_chars": 300}})
    asked = told(turn).overrides
    again = drive(turn_rerun(turn=turn, overrides=asked))
    spent = asked["limits"]["max_continuations"]
    Turn.objects.filter(pk=again.pk).update(status="partial", resource="max_continuations", continuations=spent)
    said = told(turn)
    assert said.value == asked["limits"]["max_total_output_chars"]
    assert said.overrides["limits"]["max_continuations"] > spent


def test_a_re_run_that_time_ended_again_is_not_said_to_be_cut_off(late: Turn, browser: Client):
    again = drive(turn_rerun(turn=late, overrides={"limits": {"max_seconds": 120}}))
    Turn.objects.filter(pk=again.pk).update(status="partial", resource="max_seconds", terminal_reason="max_seconds")
    panel = panel_shown(browser, late)
    assert "with Time limit 120 s ran out of time, too." in panel.replace("\u00a0", " ")
    assert "cut off" not in panel
