"""From a truncated turn to a changed limit: found by a live re-run, backtested, and used."""

import re
from contextvars import Context
from typing import Any

import pytest
from django.template.loader import render_to_string
from django.test import Client

from dashboard.agents.models import Agent, Policy, PolicyVersion
from dashboard.agents.selectors import policy_version_active
from dashboard.policies.backtests import runner
from dashboard.policies.backtests.models import Backtest
from dashboard.policies.policy_creation import policy_create
from dashboard.policies.policy_versions import version_keep
from dashboard.policies.suggestions import panel, shown_values, views
from dashboard.policies.suggestions.panel import last_of
from dashboard.policies.suggestions.selectors import suggestion_and_less
from dashboard.policies.suggestions.suggestion import Suggestion
from dashboard.replay.rerun_changes import RerunChanges
from dashboard.replay.rerun_service import turn_rerun
from dashboard.turns.models import Turn
from tests.dashboard.driving import Play, drive
from tests.dashboard.pages import HTMX, compact, page, text_of

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def cut(play: Play) -> Turn:
    return play("sim-essay", max_tokens=60)


def test_the_limit_is_found_live_with_a_backtest_and_applied_to_the_agent(browser: Client, cut: Turn):
    pending = find(browser, cut)
    assert "waits until a worker is free" in text_of(pending)
    assert 'hx-trigger="every 1s"' in pending
    again = drive(cut.children.get())
    enough, less = again.max_tokens, again.output_tokens + 2  # some servers count the mark of the end as well
    found = browser.get(f"/turns/{cut.id}/limit", headers=HTMX).content.decode()
    assert f"With Max tokens per call at {enough}, the turn finished." in text_of(found)
    assert f"Use {enough} for sim-essay" in found
    assert not Backtest.objects.exists(), "of the value to begin with nobody needs one"
    beside = find(browser, cut, "backtest")
    assert Backtest.objects.get().max_tokens == enough
    assert f"with Max tokens per call {enough}" in beside
    assert f"Try {less} live" in beside
    told = browser.post(f"/turns/{cut.id}/limit/use", {"value": enough}, follow=True).content.decode()
    assert f"Max tokens per call of sim-essay was changed from 60 to {enough}. " in told
    assert Agent.objects.get(name="sim-essay").max_tokens == enough
    after = browser.get(f"/turns/{cut.id}/limit", headers=HTMX).content.decode()
    assert "Use " not in after
    assert f"sim-essay has Max tokens per call {enough} now." in after


def test_the_value_to_prove_is_backtested_once_and_only_after_its_re_run(browser: Client, cut: Turn):
    drive(turn_rerun(turn=cut, overrides={"max_tokens": 900}))
    find(browser, cut, "less")
    assert not Backtest.objects.exists(), "it could not count what the re-run is about to show"
    again = drive(cut.children.get(max_tokens__lt=900))
    found = compact(browser.get(f"/turns/{cut.id}/limit?found=second", headers=HTMX).content.decode())
    (form,) = re.findall(r'<form[^>]*hx-trigger="load, [^>]*>.*?</form>', found, re.DOTALL)
    assert 'name="only" value="backtest"' in form
    find(browser, cut, "backtest")
    assert Backtest.objects.get().max_tokens == again.max_tokens


def test_asking_whether_a_re_run_has_ended_evaluates_nothing(
    browser: Client, cut: Turn, monkeypatch: pytest.MonkeyPatch
):
    find(browser, cut)
    again = cut.children.get()

    def evaluated(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr(views, "panel_of", evaluated)
    asked = f"/turns/{cut.id}/limit?waits={again.id}&was=queued"
    waiting = browser.get(asked, headers=HTMX)
    assert (waiting.status_code, waiting.headers.get("HX-Trigger")) == (204, None)
    drive(again)
    ended = browser.get(asked, headers=HTMX)
    assert (ended.status_code, ended.headers.get("HX-Trigger")) == (204, "rerun-changed")


@pytest.mark.parametrize("gone", ["no-id", "01a2235c-a6bc-719f-b0ac-895f491b3434"])
def test_a_page_that_waits_for_a_re_run_that_is_gone_is_shown_anew(browser: Client, cut: Turn, gone: str):
    told = browser.get(f"/turns/{cut.id}/limit?waits={gone}&was=queued", headers=HTMX)
    assert told.headers["HX-Trigger"] == "rerun-changed"


def test_a_backtest_in_progress_asks_for_its_own_line_alone(browser: Client, cut: Turn):
    drive(turn_rerun(turn=cut, overrides={"max_tokens": 900}))
    find(browser, cut, "backtest")
    backtest = Backtest.objects.get()
    asked = f"/turns/{cut.id}/limit?waits={backtest.pk}"
    assert asked in find(browser, cut, "backtest")
    line = browser.get(asked, headers=HTMX).content.decode()
    assert "Backtest that has not started with Max tokens per call 900." in text_of(compact(line))
    Backtest.objects.update(status="done")
    assert "every 1s" not in browser.get(asked, headers=HTMX).content.decode()


@pytest.mark.parametrize(
    ("status", "words"),
    [("queued", "waits until a worker is free…"), ("held", "waits for an operator…"), ("running", "in progress…")],
)
def test_what_a_re_run_waits_for_is_told(browser: Client, cut: Turn, status: str, words: str):
    find(browser, cut)
    cut.children.update(status=status)
    assert words in text_of(compact(browser.get(f"/turns/{cut.id}/limit", headers=HTMX).content.decode()))


def test_a_cap_changed_by_somebody_else_in_the_meantime_is_kept(browser: Client, cut: Turn):
    drive(turn_rerun(turn=cut, overrides={"max_tokens": 900}))
    assert 'name="standing" value="60"' in browser.get(f"/turns/{cut.id}/limit", headers=HTMX).content.decode()
    assert 'name="standing" value="60"' in page(browser, f"/turns/{cut.id}/replay/sweep?limit=max_tokens")
    Agent.objects.filter(name="sim-essay").update(max_tokens=5000)
    asked = {"value": "900", "standing": "60"}
    told = text_of(browser.post(f"/turns/{cut.id}/limit/use", asked, follow=True).content.decode())
    assert (
        "Max tokens per call of sim-essay was changed from 60 to 5,000 in the meantime. Your value was not set" in told
    )
    assert Agent.objects.get(name="sim-essay").max_tokens == 5000


def test_a_second_click_says_that_the_cap_is_already_set(browser: Client, cut: Turn):
    asked = {"value": "900", "standing": "60", "limit": "max_tokens"}
    first, second = (
        text_of(browser.post(f"/turns/{cut.id}/limit/use", asked, follow=True).content.decode()) for _ in range(2)
    )
    assert "changed from 60 to 900." in first
    assert "Max tokens per call of sim-essay is already 900." in second


@pytest.mark.parametrize("other", [0, 100], ids=["the suggested value", "another value"])
def test_a_cap_that_is_used_has_its_backtest_on_the_page_of_the_turn(browser: Client, cut: Turn, other: int):
    again = drive(turn_rerun(turn=cut, overrides={"max_tokens": 900}))
    value = again.max_tokens + other
    told = browser.post(f"/turns/{cut.id}/limit/use", {"value": value, "limit": "max_tokens"}, follow=True)
    backtest = Backtest.objects.get()
    assert (backtest.max_tokens, backtest.filter) == (value, {"agent": ["sim-essay"], "model": [cut.model]})
    assert told.redirect_chain[-1][0] == f"/turns/{cut.id}"
    assert f'href="/backtests/{backtest.pk}"' in told.content.decode()
    browser.post(f"/turns/{cut.id}/limit/use", {"value": value, "limit": "max_tokens"})
    assert Backtest.objects.get() == backtest, "a second click starts no other one"


def test_a_cap_that_no_panel_suggests_leads_to_its_backtest(browser: Client, play: Play):
    whole = play("sim-essay", max_tokens=2_000)
    address = browser.post(f"/turns/{whole.id}/limit/use", {"value": 3_000, "limit": "max_tokens"})["location"]
    assert address == f"/backtests/{Backtest.objects.get().pk}"


def test_a_smaller_likely_value_is_proven_next(browser: Client, cut: Turn):
    drive(turn_rerun(turn=cut, overrides={"max_tokens": 900}))
    find(browser, cut, "less")
    again = drive(cut.children.get(max_tokens__lt=900))
    found = browser.get(f"/turns/{cut.id}/limit", headers=HTMX).content.decode()
    assert f"With Max tokens per call at {again.max_tokens}, the turn finished." in text_of(found)
    assert " live</button>" not in found, "there is no smaller one to try"


def test_no_value_is_offered_for_use_while_a_re_run_looks_for_a_smaller_one(browser: Client, cut: Turn):
    find(browser, cut)
    drive(cut.children.get())
    follows = compact(browser.get(f"/turns/{cut.id}/limit?found=first", headers=HTMX).content.decode())
    assert "Use " not in follows, "the second re-run is about to start"
    running = find(browser, cut, "less")
    again = cut.children.latest("id")
    assert "Use " not in running
    assert "Backtest" not in running
    second = f"A second re-run with Max tokens per call {again.max_tokens:,} checks whether less is enough"
    assert second in text_of(compact(running))
    drive(again)
    found = compact(browser.get(f"/turns/{cut.id}/limit?found=second", headers=HTMX).content.decode())
    assert f"Use {again.max_tokens} for sim-essay" in found


def test_a_smaller_value_is_offered_to_an_agent_that_uses_the_larger_proven_one(browser: Client, cut: Turn):
    drive(turn_rerun(turn=cut, overrides={"max_tokens": 900}))
    browser.post(f"/turns/{cut.id}/limit/use", {"value": "900"})
    assert "Use " not in browser.get(f"/turns/{cut.id}/limit", headers=HTMX).content.decode()
    drive(turn_rerun(turn=cut, overrides={"max_tokens": 500}))
    assert "Use 500 for sim-essay" in browser.get(f"/turns/{cut.id}/limit", headers=HTMX).content.decode()
    Agent.objects.filter(name="sim-essay").update(max_tokens=5000)
    assert "Use " not in browser.get(f"/turns/{cut.id}/limit", headers=HTMX).content.decode(), "somebody else set that"


def test_one_click_tries_the_larger_and_the_smaller_value_as_announced(browser: Client, cut: Turn):
    before = text_of(compact(browser.get(f"/turns/{cut.id}/limit", headers=HTMX).content.decode()))
    (told,) = re.findall(r"Up to two live re-runs: with Max tokens per call ([\d,]+)\. If", before)
    value = int(told.replace(",", ""))
    most = f"at most {2 * 5 * value:,} with all allowed calls."
    assert f"From {cut.output_tokens} output tokens (simulator, free), what this turn used; {most}" in before
    begun = find(browser, cut)
    assert f'hx-get="/turns/{cut.id}/limit?found=first"' in begun
    drive(cut.children.get())
    assert 'hx-trigger="load' not in compact(browser.get(f"/turns/{cut.id}/limit", headers=HTMX).content.decode())
    found = compact(browser.get(f"/turns/{cut.id}/limit?found=first", headers=HTMX).content.decode())
    (form,) = re.findall(r'<form[^>]*hx-trigger="load, [^>]*>.*?</form>', found, re.DOTALL)
    assert 'name="only" value="less"' in form, "the backtest is of the value that is left"
    find(browser, cut, "less")
    again = drive(cut.children.get(max_tokens__lt=value))
    found = compact(browser.get(f"/turns/{cut.id}/limit?found=second", headers=HTMX).content.decode())
    (form,) = re.findall(r'<form[^>]*hx-trigger="load, [^>]*>.*?</form>', found, re.DOTALL)
    assert 'name="only" value="backtest"' in form
    assert not Backtest.objects.exists()
    assert f"With Max tokens per call at {again.max_tokens}, the turn finished." in text_of(found)
    assert sum(child.output_tokens for child in cut.children.all()) <= 2 * value


def test_a_re_run_that_does_not_show_whether_less_suffices_says_so(
    browser: Client, cut: Turn, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setitem(shown_values._LESS, "max_tokens", lambda *_: None)  # few calls of the model are recorded
    before = text_of(browser.get(f"/turns/{cut.id}/limit", headers=HTMX).content.decode())
    assert ". If that shows that a lower value is likely enough, the second uses it." in before
    find(browser, cut)
    drive(cut.children.get())
    found = browser.get(f"/turns/{cut.id}/limit?found=first", headers=HTMX).content.decode()
    assert " live</button>" not in found
    told = f"No second re-run was started: this one reported {cut.children.get().output_tokens} tokens, "
    assert f"{told}but that does not show whether a limit near it is enough." in text_of(found)


def test_a_smaller_value_whose_re_run_failed_is_not_retried_automatically(browser: Client, cut: Turn):
    find(browser, cut)
    first = drive(cut.children.get())
    find(browser, cut, "less")
    cut.children.exclude(id=first.id).update(status="failed", terminal_reason="provider_error")
    for asked in ("first", "second", "1", ""):
        found = browser.get(f"/turns/{cut.id}/limit?found={asked}", headers=HTMX).content.decode()
        assert 'name="only" value="less"' not in "".join(
            re.findall(r'<form[^>]*hx-trigger="load, [^>]*>.*?</form>', found, re.DOTALL)
        )


def test_a_second_re_run_is_not_started_while_one_is_in_progress(browser: Client, cut: Turn):
    find(browser, cut)
    html = find(browser, cut)
    assert "A re-run is in progress already." in text_of(html)
    assert cut.children.count() == 1


def test_a_limit_shown_by_another_re_run_in_the_meantime_is_not_paid_for_again(browser: Client, cut: Turn):
    told = value_of(browser, cut)
    drive(turn_rerun(turn=cut, overrides={"max_tokens": 900}))
    html = browser.post(f"/turns/{cut.id}/limit/find", {"value": told}, headers=HTMX).content.decode()
    assert "Another re-run has found a limit in the meantime. No re-run was started." in text_of(html)
    assert cut.children.count() == 1


def test_a_value_other_than_the_one_priced_is_not_paid_for(browser: Client, play: Play):
    turn = play("sim-endless", max_tokens=20)
    told = value_of(browser, turn)
    assert drive(turn_rerun(turn=turn, overrides={"max_tokens": int(told)})).status == "partial"
    html = browser.post(f"/turns/{turn.id}/limit/find", {"value": told}, headers=HTMX).content.decode()
    now = value_of(browser, turn)
    assert f"The value to try is now {int(now):,}. No re-run was started. Check the price." in text_of(html)
    assert turn.children.count() == 1
    browser.post(f"/turns/{turn.id}/limit/find", {"value": now}, headers=HTMX)
    assert turn.children.count() == 2


@pytest.mark.parametrize("only", ["", "less", "backtest"])
def test_a_form_without_a_value_starts_nothing_and_is_shown_again(browser: Client, cut: Turn, only: str):
    if only:
        drive(turn_rerun(turn=cut, overrides={"max_tokens": 900}))
    ran, value = cut.children.count(), value_of(browser, cut, only)
    html = browser.post(f"/turns/{cut.id}/limit/find", {"only": only}, headers=HTMX).content.decode()
    assert "This page is out of date. Nothing was started. Reload it and check the price." in text_of(html)
    assert (cut.children.count(), Backtest.objects.exists()) == (ran, False)
    assert value_in(html, only) == value


def test_a_backtest_uses_the_value_named_on_its_button(browser: Client, cut: Turn):
    drive(turn_rerun(turn=cut, overrides={"max_tokens": 900}))
    told = value_of(browser, cut, "backtest")
    drive(turn_rerun(turn=cut, overrides={"max_tokens": 500}))
    asked = {"only": "backtest", "value": told}
    html = browser.post(f"/turns/{cut.id}/limit/find", asked, headers=HTMX).content.decode()
    assert "The value to backtest is now 500. No backtest was started." in text_of(html)
    assert not Backtest.objects.exists()


def test_an_existing_backtest_is_shown_instead_of_refused(browser: Client, cut: Turn):
    drive(turn_rerun(turn=cut, overrides={"max_tokens": 900}))
    told = value_of(browser, cut, "backtest")
    drive(turn_rerun(turn=cut, overrides={"max_tokens": 500}))
    browser.post(f"/turns/{cut.id}/limit/find", {"only": "backtest", "value": "500"}, headers=HTMX)
    asked = {"only": "backtest", "value": told}
    html = browser.post(f"/turns/{cut.id}/limit/find", asked, headers=HTMX).content.decode()
    assert "No backtest was started." not in text_of(html)
    assert Backtest.objects.count() == 1


def find(browser: Client, turn: Turn, only: str = "") -> str:
    """The panel after a click on one of its buttons, also where they are gone from it by now."""
    asked = {"only": only, "value": value_of(browser, turn, only)}
    return browser.post(f"/turns/{turn.id}/limit/find", asked, headers=HTMX).content.decode()


def value_of(browser: Client, turn: Turn, only: str = "") -> str:
    """The value that a form of the page names beside its price."""
    return value_in(browser.get(f"/turns/{turn.id}/limit", headers=HTMX).content.decode(), only)


def value_in(html: str, only: str) -> str:
    """Any number where the panel has no such form."""
    forms = re.findall(r'<form[^>]*/limit/find"[^>]*>.*?</form>', html, re.DOTALL)
    named = [form for form in forms if f'name="only" value="{only}"' in form or not (only or 'name="only"' in form)]
    return re.findall(r'name="value" value="(\d+)"', named[0])[0] if named else "1"


def test_no_re_run_from_the_start_is_offered_for_a_later_changed_conversation(browser: Client, cut: Turn):
    words = RerunChanges(messages={1: "Something else."})
    fork = drive(turn_rerun(turn=cut, overrides={}, from_record=2, words=words))
    panel = text_of(browser.get(f"/turns/{fork.id}/limit", headers=HTMX).content.decode())
    assert "The conversation of this fork was changed, so a re-run from the start does not find its limit." in panel
    assert "Find the limit" not in panel
    html = browser.post(f"/turns/{fork.id}/limit/find", {"value": "960"}, headers=HTMX).content.decode()
    assert "a re-run from the start would ask the original one. No re-run was started." in text_of(html)
    assert not fork.children.exists()


def test_two_operators_at_a_turn_and_its_fork_pay_once(browser: Client, cut: Turn):
    fork = drive(turn_rerun(turn=cut, overrides={}, from_record=2))
    find(browser, cut)
    shown = text_of(compact(browser.get(f"/turns/{fork.id}/limit", headers=HTMX).content.decode()))
    assert "waits until a worker is free" in shown
    find(browser, fork)
    assert not fork.children.exists()


@pytest.mark.parametrize(
    ("status", "words"),
    [("failed", "failed"), ("cancelled", "was cancelled"), ("interrupted", "was interrupted")],
)
def test_a_re_run_that_ended_without_an_answer_is_reported(browser: Client, cut: Turn, status: str, words: str):
    browser.post(f"/turns/{cut.id}/limit/find", {"value": value_of(browser, cut)}, headers=HTMX)
    cut.children.update(status=status, terminal_reason="provider_error" if status == "failed" else "cancelled")
    value = cut.children.get().max_tokens
    shown = text_of(compact(browser.get(f"/turns/{cut.id}/limit?found=first", headers=HTMX).content.decode()))
    assert (
        f"The last re-run, with Max tokens per call {value}, {words}, so it does not show whether this is enough."
        in shown
    )
    assert "Find the limit" in shown
    drive(turn_rerun(turn=cut, overrides={"max_tokens": value}))
    assert "The last re-run" not in text_of(
        compact(browser.get(f"/turns/{cut.id}/limit", headers=HTMX).content.decode())
    )


def test_a_re_run_costs_no_more_than_announced(browser: Client, play: Play):
    turn = play("sim-endless", max_tokens=20)
    costs = browser.get(f"/api/v1/turns/{turn.id}/verdict").json()["suggestion"]["costs"]
    find(browser, turn)
    again = drive(turn.children.get())
    assert again.attempts == 4, "each was cut again and continued"
    assert costs["output_tokens"] < again.output_tokens <= costs["most_output_tokens"]


def test_a_re_run_with_tools_may_use_every_step_at_its_cap(browser: Client, play: Play):
    turn = play("sim-tools", tools=["calculator"], max_tokens=50, overrides={"limits": {"max_steps": 1}})
    costs = browser.get(f"/api/v1/turns/{turn.id}/verdict").json()["suggestion"]["costs"]
    assert costs["most_output_tokens"] == 50 * (6 * 5 + 1)
    assert costs["most_price"] is None


def test_no_larger_value_is_tried_where_the_smaller_one_is_gone(browser: Client, cut: Turn):
    asked = {"only": "less", "value": "400"}
    html = browser.post(f"/turns/{cut.id}/limit/find", asked, headers=HTMX).content.decode()
    assert "The smaller value is no longer suggested." in text_of(html)
    assert not cut.children.exists()


def test_a_limit_of_a_policy_becomes_a_draft_of_it(browser: Client, play: Play):
    turn = play("sim-flaky")
    browser.post(f"/turns/{turn.id}/limit/use", {"value": "3"})
    draft = PolicyVersion.objects.order_by("-created_at").first()
    assert draft is not None
    assert (draft.error_policy["on_rate_limit_error"], draft.error_policy["max_retries"]) == ("retry", 3)
    agent = Agent.objects.get(name="sim-flaky")
    assert agent.policy == draft.policy
    assert policy_version_active(policy=draft.policy) != draft


def test_a_second_click_finds_the_draft_of_the_first(browser: Client, play: Play):
    turn = play("sim-flaky")
    first, second = (
        text_of(browser.post(f"/turns/{turn.id}/limit/use", {"value": "3"}, follow=True).content.decode())
        for _ in range(2)
    )
    settings = "rate limit errors set to retry and Max failures in a row 3."
    assert f"Draft v1 of “sim-flaky” created: {settings}" in first
    assert f"Draft v1 of “sim-flaky” already exists: {settings}" in second
    browser.post(f"/turns/{turn.id}/limit/use", {"value": "4"})
    assert PolicyVersion.objects.filter(policy__name="sim-flaky").count() == 2


def test_a_draft_made_before_its_backtest_began_has_it_beside_it(browser: Client, play: Play):
    turn = play("sim-flaky")
    told = text_of(browser.post(f"/turns/{turn.id}/limit/use", {"value": "3"}, follow=True).content.decode())
    draft, backtest = PolicyVersion.objects.get(), Backtest.objects.get()
    assert draft.backtest == backtest
    assert "Saved with a backtest that has not started" in compact(told)
    assert "The backtest of this version is still running." in told
    runner.run(backtest.pk)
    line = browser.get(f"/policies/versions/{draft.pk}", headers=HTMX).content.decode()
    assert "Saved with a backtest over 1 turn: 1 would have gone on to an end" in compact(text_of(line))
    assert "every 1s" not in line


def test_the_page_of_a_version_asks_how_far_its_backtest_is(browser: Client, play: Play):
    turn = play("sim-flaky")
    browser.post(f"/turns/{turn.id}/limit/use", {"value": "3"})
    draft = PolicyVersion.objects.get()
    Backtest.objects.update(status="running", total=12, done=5, same=5, recorded=5)
    for asked in (f"/policies/{draft.policy_id}", f"/policies/{draft.policy_id}/diff"):
        html = page(browser, asked)
        assert f'hx-get="/policies/versions/{draft.pk}"' in html
        assert '<progress max="12" value="5"' in html
        assert "Saved with a backtest in progress, so far over 5 of 12 turns" in compact(text_of(html))


def test_a_draft_takes_the_backtest_that_is_in_progress(browser: Client, play: Play):
    turn = play("sim-flaky")
    find(browser, turn, "backtest")
    running = Backtest.objects.get()
    browser.post(f"/turns/{turn.id}/limit/use", {"value": "3"})
    assert PolicyVersion.objects.get().backtest == running


@pytest.mark.parametrize("status", ["cancelled", "failed"])
def test_a_backtest_that_was_broken_off_is_started_anew_with_the_draft(browser: Client, play: Play, status: str):
    turn = play("sim-flaky")
    find(browser, turn, "backtest")
    Backtest.objects.update(status=status)
    browser.post(f"/turns/{turn.id}/limit/use", {"value": "3"})
    backtest = PolicyVersion.objects.get().backtest
    assert backtest is not None
    assert backtest.status == "queued"


def test_a_draft_of_another_value_than_the_suggested_is_backtested_too(browser: Client, play: Play):
    turn = play("sim-flaky")
    browser.post(f"/turns/{turn.id}/limit/use", {"value": "4"})
    backtest = PolicyVersion.objects.get().backtest
    assert backtest is not None
    assert backtest.policy["error_policy"]["max_retries"] == 4


def test_the_next_version_of_a_policy_is_backtested_in_its_place(browser: Client, cut: Turn):
    turn = continued(cut, {"max_continuations": 40})
    browser.post(f"/turns/{turn.id}/limit/use", {"value": "40"})
    draft = PolicyVersion.objects.get(policy__name="longer", version=2)
    assert draft.backtest is not None
    assert draft.backtest.stands_for == draft.policy


def test_a_draft_of_a_policy_that_only_has_the_name_of_its_agent_has_no_backtest(browser: Client, play: Play):
    turn = play("sim-flaky")
    policy_create(project=turn.project, name="sim-flaky", limits={"max_steps": 3})
    browser.post(f"/turns/{turn.id}/limit/use", {"value": "3"})
    assert PolicyVersion.objects.get(version=2).backtest is None, "it would have run alone, not in place of that policy"


def continued(cut: Turn, limits: dict[str, int]) -> Turn:
    """A turn that a re-run has completed with more of two limits, of an agent whose policy has these by now."""
    more = {"limits": {"max_continuations": 40, "max_total_completion_tokens": 4_000}}
    assert drive(turn_rerun(turn=cut, overrides=more)).status == "completed"
    about: dict[str, Any] = {"by": None, "why": "", "counts": "now", "backtest": None}
    policy = version_keep(project=cut.project, name="longer", said={"limits": limits}, **about).policy
    Agent.objects.filter(pk=cut.agent_id).update(policy=policy)
    return Turn.objects.get(pk=cut.pk)


def test_a_draft_is_offered_until_all_related_settings_are_active(browser: Client, cut: Turn):
    turn = continued(cut, {"max_continuations": 40})
    panel = text_of(compact(browser.get(f"/turns/{turn.id}/limit", headers=HTMX).content.decode()))
    assert "Create draft: Max continuations" in panel
    told = text_of(compact(browser.post(f"/turns/{turn.id}/limit/use", {"value": "40"}, follow=True).content.decode()))
    draft = PolicyVersion.objects.get(policy__name="longer", version=2)
    used = draft.limits["max_total_completion_tokens"]
    assert draft.limits == {"max_continuations": 40, "max_total_completion_tokens": used}
    assert turn.output_tokens < used < 4_000, "as much as the re-run used"
    assert f"Draft v2 of “longer” created: Max continuations 40 and Max completion tokens per turn {used}." in told


def test_a_draft_lowers_nothing_that_the_policy_already_allows(browser: Client, cut: Turn):
    turn = continued(cut, {"max_total_completion_tokens": 9_000})
    browser.post(f"/turns/{turn.id}/limit/use", {"value": "40"})
    draft = PolicyVersion.objects.get(policy__name="longer", version=2)
    assert draft.limits == {"max_continuations": 40, "max_total_completion_tokens": 9_000}


def test_no_draft_that_would_lower_current_limits_is_offered(browser: Client, play: Play):
    turn = play("sim-tools", tools=["calculator"], overrides={"limits": {"max_steps": 1}})
    find(browser, turn)
    assert drive(turn.children.get()).status == "completed"
    panel = text_of(browser.get(f"/turns/{turn.id}/limit", headers=HTMX).content.decode())
    assert "With Max steps at 2, the turn would have finished." in panel, "what the re-run used, not what it was given"
    assert "with Max steps 6 completed in 2 calls and used 2 steps." in panel
    assert "Create draft: Max steps" not in panel
    assert "The policy already allows 20 steps; this turn set its own limit." in panel


def test_a_turn_that_overrode_its_policys_retries_says_so(browser: Client, play: Play):
    turn = play("sim-flaky")
    turn.agent.policy = policy_with(turn, {"on_rate_limit_error": "retry", "max_retries": 5})
    turn.agent.save()
    Turn.objects.filter(pk=turn.pk).update(overrides={"error_policy": {"on_rate_limit_error": "stop"}})
    panel = browser.get(f"/turns/{turn.id}/limit", headers=HTMX).content.decode()
    assert "Create draft: Max failures in a row" not in panel
    assert "The policy already allows 5 failures in a row; this turn set its own limit." in panel


def policy_with(turn: Turn, error_policy: dict[str, object]) -> Policy:
    about: dict[str, Any] = {"by": None, "why": "", "counts": "now", "backtest": None}
    return version_keep(project=turn.project, name="patient", said={"error_policy": error_policy}, **about).policy


def test_a_turn_of_another_program_says_that_it_cannot_be_re_run(browser: Client, play: Play):
    turn = play("sim-flaky")
    Turn.objects.filter(pk=turn.pk).update(agent=None)
    panel = text_of(browser.get(f"/turns/{turn.id}/limit", headers=HTMX).content.decode())
    assert (
        "With rate limit errors set to retry and Max failures in a row at 3, the call would have been tried "
        "again." in panel
    )
    assert "Another program made these calls, so Whystop cannot re-run them. Change the setting in that" in panel
    assert "Prove it live" not in panel


def test_a_forbidden_retry_is_planned_with_its_setting_and_its_price(browser: Client, play: Play):
    panel = text_of(browser.get(f"/turns/{play('sim-flaky').id}/limit", headers=HTMX).content.decode())
    assert "One live re-run with rate limit errors set to retry and Max failures in a row 3." in panel
    assert "output tokens (simulator, free) with all allowed calls." in panel


def test_a_persistent_rate_limit_says_that_the_re_run_failed_too(browser: Client, play: Play):
    turn = play("sim-429")
    before = compact(browser.get(f"/turns/{turn.id}/limit", headers=HTMX).content.decode())
    assert "Rate limit errors were set to stop." in text_of(before)
    assert ">Max failures in a row</label>" in before
    drive(turn_rerun(turn=turn, overrides={"error_policy": {"on_rate_limit_error": "retry", "max_retries": 1}}))
    panel = compact(browser.get(f"/turns/{turn.id}/limit", headers=HTMX).content.decode())
    assert "with Max failures in a row 1 failed, too." in text_of(panel)
    assert "likely" not in panel.replace("or likely.", "")  # what the badge explains
    assert "How large Max failures in a row (max_retries) must be for this turn is not known yet." in text_of(panel)
    told = browser.get(f"/api/v1/turns/{turn.id}/verdict").json()["suggestion"]
    assert told["certainty_word"] == "not known"


def test_row_panel_and_api_treat_the_answer_to_a_retry_as_unknown(browser: Client, play: Play):
    turn = play("sim-flaky")
    told = browser.get(f"/api/v1/turns/{turn.id}/verdict").json()["suggestion"]
    assert (told["certainty"], told["certainty_word"]) == ("undecidable", "not known")
    panel = browser.get(f"/turns/{turn.id}/limit", headers=HTMX).content.decode()
    row = render_to_string("suggestions/_cell.html", {"said": suggestion_and_less(turn, last_of(turn))[0]})
    for shown in (panel, row):
        assert "not known" in text_of(shown)
        assert re.findall('data-certainty="([a-z]+)"', shown) == ["undecidable"]


def test_only_a_re_run_under_a_raised_limit_is_called_insufficient(browser: Client, cut: Turn):
    for max_tokens, told in ((30, False), (61, True)):
        assert drive(turn_rerun(turn=cut, overrides={"max_tokens": max_tokens})).status == "partial"
        shown = text_of(compact(browser.get(f"/turns/{cut.id}/limit", headers=HTMX).content.decode()))
        assert (f"A re-run with Max tokens per call {max_tokens} was cut off, too." in shown) is told


def test_a_re_run_that_ends_while_its_panel_is_built_is_requested_again(cut: Turn, monkeypatch: pytest.MonkeyPatch):
    child = turn_rerun(turn=cut, overrides={"max_tokens": 400})

    def suggest(*given: Any) -> tuple[Suggestion | None, Suggestion | None]:
        said = suggestion_and_less(*given)
        assert Context().run(drive, child).status == "completed"
        return said

    monkeypatch.setattr(panel, "suggestion_and_less", suggest)
    shown = panel.panel_of(cut)
    assert shown is not None
    assert shown.by_rerun or shown.running


def test_an_unusable_value_is_reported_and_nothing_changes(browser: Client, cut: Turn, play: Play):
    whole = play("sim-odd")
    for address, given, said in (
        (f"/turns/{cut.id}", {"value": "1,2"}, "Max tokens per call must be a whole number."),
        (f"/turns/{cut.id}", {"value": "-1"}, "must be a whole number from 1 to 10,000,000."),
        (f"/turns/{cut.id}", {"value": "99999999999"}, "must be a whole number from 1 to 10,000,000."),
        (f"/turns/{whole.id}", {"value": "9"}, "No limit would have let this turn finish"),
    ):
        assert said in text_of(browser.post(f"{address}/limit/use", given, follow=True).content.decode())
    assert Agent.objects.get(name="sim-essay").max_tokens == 60
    none = find(browser, whole)
    assert "No limit would have let this turn finish." in none


def test_without_scripts_finding_returns_to_the_page_of_the_turn(browser: Client, cut: Turn):
    response = browser.post(f"/turns/{cut.id}/limit/find", {"value": value_of(browser, cut)})
    assert response["Location"] == f"/turns/{cut.id}"
    assert "waits until a worker is free" in compact(page(browser, f"/turns/{cut.id}"))
