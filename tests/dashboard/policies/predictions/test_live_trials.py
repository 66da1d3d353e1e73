"""Turns that would have continued, end not known: counted as their own result, and tried live within a budget."""

from collections.abc import Sequence
from dataclasses import asdict
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
from django.core.exceptions import ValidationError
from django.test import Client
from django.utils.html import escape

from agentcore.values import replace
from dashboard.agents.selectors import project_default
from dashboard.policies import shadow_evaluation
from dashboard.policies.backtests import runner
from dashboard.policies.backtests.models import Backtest
from dashboard.policies.backtests.result_text import in_words
from dashboard.policies.backtests.selectors import backtest_shown
from dashboard.policies.backtests.services import backtest_create
from dashboard.policies.policy_creation import policy_create
from dashboard.policies.predictions import live_trials
from dashboard.policies.predictions.calibration_state import Used
from dashboard.policies.predictions.live_trials import (
    ONCE,
    TrialProgress,
    asked_of_backtest,
    asked_of_shadow,
    tried_so_far,
    tries_begin,
)
from dashboard.policies.predictions.models import Calibration
from dashboard.policies.predictions.templatetags import live_tries
from dashboard.policies.predictions.trials import Trial
from dashboard.policies.selectors import tally_of
from dashboard.policies.services import shadow_promote, shadow_start
from dashboard.replay.usage_bounds import usage_bound
from dashboard.turns.models import Turn
from tests.dashboard.driving import Play, drive
from tests.dashboard.pages import compact, page, text_of

pytestmark = pytest.mark.django_db(transaction=True)

ENOUGH = 1_000_000  #: tokens


@pytest.fixture
def cut(play: Play) -> Turn:
    """Cut at its first call's cap, and not gone on with: the recording has no more to tell."""
    return play("sim-essay", overrides={"max_tokens": 60, "limits": {"max_continuations": 0}})


def tried(**limits: int) -> Backtest:
    return tried_under({"limits": limits})


def tried_under(policy: dict[str, Any], **more: Any) -> Backtest:
    made = backtest_create(project=project_default(), policy=policy, filter={}, queued=False, **more)
    runner.run(made.id)
    return Backtest.objects.select_related("project", "stands_for").get(pk=made.pk)


def test_a_truncated_turn_that_a_draft_would_continue_is_a_separate_result(cut: Turn):
    found = tried(max_continuations=9, max_total_completion_tokens=5_000)
    assert (found.undecidable, found.unended_turns) == (1, [str(cut.id)])
    shown = backtest_shown(found)
    assert (shown["unended"], shown["undecidable"], shown["whys"]) == (1, 0, {"more_text": 1}), "as the page counts"
    assert shown["undecided"] == [{"turn": str(cut.id), "why": "more_text"}]
    assert in_words(found).endswith("1 would have gone on to an end that is not known")


def test_a_turn_that_would_not_continue_is_not_counted_as_continuing(cut: Turn, play: Play):
    play("sim-essay", overrides={"max_tokens": 900}, name="whole")
    assert tried(max_continuations=0).unended_turns == []
    assert [str(cut.id)] == tried(max_continuations=9, max_total_completion_tokens=5_000).unended_turns


def test_a_refused_call_that_a_draft_would_retry_would_have_continued(play: Play):
    refused = play("sim-429")
    found = tried_under({"error_policy": {"on_rate_limit_error": "retry", "max_retries": 2}})
    assert (found.undecidable, found.unended_turns) == (1, [str(refused.id)])
    assert [turn["why"] for turn in found.undecided] == ["another_answer"]
    assert tried_under({"error_policy": {"on_tool_error": "retry"}}).unended_turns == []


def test_truncated_tool_calls_under_a_larger_max_tokens_would_have_continued(play: Play):
    one_call = {"limits": {"max_tool_repair_attempts": 0, "max_continuations": 0}}
    cut = play("sim-cut-tool", tools=["calculator"], overrides={"max_tokens": 60, **one_call})
    assert tried_under(one_call, max_tokens=900).unended_turns == [str(cut.id)]
    assert tried_under(one_call, max_tokens=30).unended_turns == []
    assert tried(max_tool_repair_attempts=2).unended_turns == [str(cut.id)]


def test_a_live_trial_shows_how_such_a_turn_ends(cut: Turn, browser: Client):
    backtest = tried(max_continuations=9, max_total_completion_tokens=5_000)
    address = f"/backtests/{backtest.pk}"
    before = page(browser, address)
    assert "1</b>\u00a0turn would have gone on" in before
    most = tried_so_far(asked_of_backtest(backtest)).most_tokens
    told = text_of(compact(before)).replace("\u00a0", " ")
    likely = cut.input_tokens + cut.output_tokens
    assert f"1 re-run: from {likely:,} input and output tokens, what the recorded turns used; if every call" in told
    assert f"limits allow is made, at most {most:,} (simulator, free)." in told
    answer = browser.post(f"{address}/live", {"tokens": f"{ENOUGH:,}"}).content.decode()
    assert "1</b>\u00a0turn tried live" in answer
    child = Turn.objects.get(parent=cut)
    assert drive(child).status == "completed"
    assert child.overrides["limits"] == {"max_continuations": 9, "max_total_completion_tokens": 5_000}
    shown = page(browser, address)
    assert f'href="/turns/{child.id}"' in shown
    assert "Completed" in shown
    assert 'hx-trigger="every 1s"' not in shown
    assert "Try 1" not in shown
    child.refresh_from_db()
    used = child.input_tokens + child.output_tokens
    words = text_of(compact(shown)).replace("\u00a0", " ")
    assert f"1 turn tried live used {used:,} input and output tokens (simulator, free) 1 of 1 completed" in words
    assert "The recordings do not show how they end; the live re-runs below do." in words
    assert "By the recordings alone, no turn has a known end." in words


@pytest.mark.parametrize(
    ("model", "dollars", "words"),
    [
        ("gpt-4o", Decimal("0.5"), "≈ $0.500"),
        ("no-such-model", None, "price not known"),
        ("sim-essay", None, "simulator, free"),
    ],
)
def test_the_price_of_a_live_trial_is_told_before(
    cut: Turn, browser: Client, monkeypatch: pytest.MonkeyPatch, model: str, dollars: Decimal | None, words: str
):
    backtest = tried(max_continuations=9, max_total_completion_tokens=5_000)
    bound = replace(usage_bound(cut, {}), dollars=dollars)
    monkeypatch.setattr(live_trials, "usage_bound", lambda *_: bound)
    Turn.objects.filter(pk=cut.pk).update(model=model)
    assert f"{words})." in text_of(compact(page(browser, f"/backtests/{backtest.pk}")))


def test_a_simulated_turn_among_others_does_not_hide_their_price(play: Play):
    turns = [play("sim-essay", name=f"a{number}") for number in range(2)]
    Turn.objects.filter(pk=turns[0].pk).update(model="gpt-4o")
    trials = tuple(
        Trial(str(turn.id), {}, "undecidable", {**asdict(usage_bound(turn, {})), "dollars": dollars})
        for turn, dollars in zip(turns, ("0.25", None), strict=True)
    )
    assert live_tries._price(TrialProgress((), Used(), trials)) == "≈ $0.250"
    assert live_tries._price(TrialProgress((), Used(), trials[1:])) == "simulator, free"


def test_a_re_run_leads_back_to_the_backtest_that_it_was_tried_from(cut: Turn, browser: Client):
    backtest, _ = tried(max_continuations=9, max_total_completion_tokens=5_000), tried(max_continuations=8)
    browser.post(f"/backtests/{backtest.pk}/live", {"tokens": f"{ENOUGH:,}"})
    child = drive(Turn.objects.get(parent=cut))
    shown = page(browser, f"/turns/{child.id}")
    assert f'<a href="/backtests/{backtest.pk}">tried live from a backtest</a>' in shown
    assert f'<a href="/turns/{cut.id}">re-run of an earlier turn</a>' in shown
    assert "tried live from" not in page(browser, f"/turns/{cut.id}")
    backtest.delete()
    assert "tried live from" not in page(browser, f"/turns/{child.id}")


def test_no_trial_that_could_exceed_the_budget_is_started(cut: Turn, browser: Client):
    asked = asked_of_backtest(tried(max_continuations=9, max_total_completion_tokens=5_000))
    least = tried_so_far(asked).most_tokens
    with pytest.raises(ValidationError, match=f"up to {least:,} tokens"):
        tries_begin(asked=asked, tokens=least - 1)
    assert not Turn.objects.filter(parent=cut).exists()
    assert not Calibration.objects.exists()
    assert tries_begin(asked=asked, tokens=least) == (1, 0)
    drive(Turn.objects.get(parent=cut))
    assert tried_so_far(asked).used.tokens <= least
    address = f"/backtests/{asked.key.removeprefix('backtest-')}/live"
    for typed in ("", "0", "-5", "12.5", "1,00", "10000001", '">'):
        answer = browser.post(address, {"tokens": typed}).content.decode()
        assert "The budget must be a whole number of tokens from 1 to 10,000,000." in answer
        field = answer.partition(f'id="live-{asked.key}-tokens"')
        assert not field[1] or f'value="{escape(typed)}"' in field[2].partition("tokens</span>")[0] or not typed


def test_the_budget_of_live_tries_is_a_field_that_says_what_is_wrong_with_it(cut: Turn, browser: Client):
    asked = asked_of_backtest(tried(max_continuations=9, max_total_completion_tokens=5_000))
    address = f"/backtests/{asked.key.removeprefix('backtest-')}"
    name = f"live-{asked.key}"
    shown = {"page": page(browser, address), "fault": page_after(browser, f"{address}/live", tokens="1,00")}
    fields = {at: html.partition(f'id="{name}-tokens"')[2].partition(">")[0] for at, html in shown.items()}
    assert all('inputmode="numeric"' in field and 'type="text"' in field for field in fields.values())
    assert ("aria-invalid" in fields["page"], 'aria-invalid="true"' in fields["fault"]) == (False, True)
    assert f'aria-describedby="{name}-help"' in fields["page"]
    assert f'aria-describedby="{name}-error {name}-help"' in fields["fault"]
    assert all(f'id="{name}-{part}"' in shown["fault"] for part in ("error", "help"))
    assert "The budget counts input and output tokens" in compact(shown["page"])


def page_after(browser: Client, address: str, **posted: str) -> str:
    return browser.post(address, posted).content.decode()


def test_a_typed_budget_survives_polling(cut: Turn, play: Play, browser: Client):
    play("sim-essay", name="other", overrides={"max_tokens": 60, "limits": {"max_continuations": 0}})
    backtest = tried(max_continuations=9, max_total_completion_tokens=5_000)
    budget = tried_so_far(asked_of_backtest(backtest)).most_tokens - 1
    answer = browser.post(f"/backtests/{backtest.pk}/live", {"tokens": f"{budget}"}).content.decode()
    assert ("Try 1 more" in answer, 'hx-trigger="every 1s"' in answer) == (True, True)
    assert "<b>1</b>\u00a0re-run started. The others were not" in compact(answer)
    assert "hx-vals='{\"begun\": 1}'" in answer
    assert "The others were not" in browser.get(f"/backtests/{backtest.pk}?begun=1").content.decode()
    assert "The others were not" not in browser.get(f"/backtests/{backtest.pk}").content.decode()
    field = f'id="live-backtest-{backtest.pk}-tokens"'
    assert f'hx-include="#live-backtest-{backtest.pk}-tokens"' in answer
    polled = browser.get(f"/backtests/{backtest.pk}", {"tokens": f"{budget}"}).content.decode()
    for html in (answer, polled):
        assert f'value="{budget}"' in html.partition(field)[2].partition(">")[0]


def test_one_click_tries_five_turns_and_the_next_one_the_others(play: Play):
    for number in range(ONCE + 1):
        play("sim-essay", name=f"a{number}", overrides={"max_tokens": 60, "limits": {"max_continuations": 0}})
    asked = asked_of_backtest(tried(max_continuations=1))
    assert [tries_begin(asked=asked, tokens=ENOUGH) for _ in range(2)] == [(ONCE, 0), (1, 0)]
    assert Turn.objects.exclude(parent=None).values("parent").distinct().count() == ONCE + 1
    with pytest.raises(ValidationError, match="None of these turns"):
        tries_begin(asked=asked, tokens=ENOUGH)


def test_a_turn_whose_agent_has_tools_is_not_tried_and_this_is_reported(play: Play, browser: Client):
    play("sim-essay", tools=["calculator"], overrides={"max_tokens": 60, "limits": {"max_continuations": 0}})
    backtest = tried(max_continuations=1)
    shown = page(browser, f"/backtests/{backtest.pk}")
    assert "turn whose agent has tools, which would run again" in shown
    assert "Try 1" not in shown


def test_as_many_turns_with_tools_are_left_out_before_a_click_as_after_it(play: Play, monkeypatch: pytest.MonkeyPatch):
    short = {"max_tokens": 60, "limits": {"max_continuations": 0}}
    for number, tools in enumerate((["calculator"], [], [], ["calculator"], ["calculator"])):
        play("sim-essay", name=f"a{number}", tools=tools, overrides=short)
    asked = asked_of_backtest(tried(max_continuations=1))
    why = "whose agent has tools, which would run again"
    monkeypatch.setattr(live_trials, "ONCE", 1)
    assert tried_so_far(asked).left_out == {why: 3}
    assert tries_begin(asked=asked, tokens=ENOUGH) == (1, 0)
    assert tried_so_far(asked).left_out == {why: 3}
    monkeypatch.setattr(live_trials, "LOOKED_AT", 4)
    counts = [tried_so_far(asked).left_out]
    assert tries_begin(asked=asked, tokens=ENOUGH) == (1, 0)
    assert [*counts, tried_so_far(asked).left_out] == [{why: tools_among(asked.turns[:4])}] * 2


def tools_among(turns: Sequence[UUID]) -> int:
    return sum(bool(turn.setup["setup"].get("tools")) for turn in Turn.objects.filter(id__in=turns))


def test_a_shadow_lists_such_turns_and_tries_them(play: Play, browser: Client):
    project = project_default()
    policy_create(project=project, name="own", limits={"max_continuations": 0})
    draft = policy_create(project=project, name="own", limits={"max_continuations": 1}, activate=False)
    shadow = shadow_start(version=draft)
    turn = play("sim-essay", max_tokens=60, policy=draft.policy)
    shadow_evaluation.sweep()
    tally = tally_of(shadow)
    assert (tally.unended, tally.undecidable, tally.judged) == (1, 1, 1)
    assert tried_so_far(asked_of_shadow(shadow)).next[0].overrides == {"limits": {"max_continuations": 1}}
    assert "1</b>\u00a0turn would have gone on" in page(browser, f"/policies/{draft.policy_id}")
    browser.post(f"/policies/shadows/{shadow.pk}/live", {"tokens": f"{ENOUGH:,}"})
    child = drive(Turn.objects.get(parent=turn))
    assert child.continuations == 1
    way_back = f'<a href="/policies/{draft.policy_id}">tried live from a shadow</a>'
    assert way_back in page(browser, f"/turns/{child.id}")
    words = text_of(compact(page(browser, f"/policies/{draft.policy_id}"))).replace("\u00a0", " ")
    assert "0 of 1 completed" in words
    assert "output tokens 0" not in words, "no turn has a known end, so no sum is shown"
    shadow_promote(shadow=shadow)
    shown = " ".join(text_of(page(browser, f"/policies/{draft.policy_id}")).split())
    assert "not known). Before, 0 of 1 live re-runs of such turns completed." in shown


def test_the_overrides_of_a_turn_decide_in_backtest_and_what_if_alike(cut: Turn, browser: Client):
    backtest = tried_under({"limits": {"max_continuations": 9}}, keeps_overrides=True)
    assert (backtest.same, backtest.unended_turns) == (1, [])
    assert backtest.groups[0]["overridden"] == 1
    assert backtest.groups[0]["overridden_turns"] == [str(cut.id)]
    shown = page(browser, f"/backtests/{backtest.pk}")
    assert "the turn's own overrides decide" in shown
    assert f'href="/turns/{cut.id}"' in shown
    assert "each turn keeps its own overrides" in shown
    assert tried_so_far(asked_of_backtest(backtest)).next == ()


def test_a_draft_alone_replaces_the_overrides_unless_they_are_kept(play: Play):
    turn = play("sim-essay", overrides={"max_tokens": 60, "limits": {"max_total_completion_tokens": 100}})
    draft = {"limits": {"max_continuations": 9, "max_total_completion_tokens": 5_000}}
    backtest = tried_under(draft, keeps_overrides=True)
    found = [group["overridden"] for group in backtest.groups]
    assert found == [1]
    assert backtest.same == 1
    replaced = tried_under(draft)
    assert replaced.unended_turns == [str(turn.id)]
    assert [group["overridden"] for group in replaced.groups] == [0]


def test_a_turn_whose_overrides_change_nothing_is_not_counted_as_decided_by_them(play: Play):
    play("sim-essay", overrides={"max_tokens": 900, "limits": {"max_steps": 7}})
    backtest = tried_under({"limits": {"max_continuations": 9}}, keeps_overrides=True)
    assert (backtest.same, [group["overridden"] for group in backtest.groups]) == (1, [0])


def test_a_draft_that_a_re_run_cannot_be_given_whole_is_not_tried(cut: Turn, browser: Client):
    draft = {"limits": {"max_continuations": 9}, "finish_reasons": ["max_tokens"]}
    backtest = tried_under(draft)
    backtest.unended_turns = [str(cut.id)]
    found = tried_so_far(asked_of_backtest(backtest))
    assert found.next == ()
    assert [why for why in found.left_out if "final stop reasons" in why]
