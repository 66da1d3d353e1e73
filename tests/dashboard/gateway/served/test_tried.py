"""What was only watched is tried as what it is: no policy acted on it, and it ends where its provider did."""

import json
import re
from datetime import timedelta
from html import unescape

import pytest
from django.test import Client
from django.utils import timezone

from agentcore.values import replace
from dashboard.accounts.models import User
from dashboard.accounts.services import OPERATOR
from dashboard.agents.models import Agent, Policy
from dashboard.agents.observe_policy import was_watched
from dashboard.policies import shadow_evaluation
from dashboard.policies.backtests import runner
from dashboard.policies.backtests.answer_lengths import estimate_of
from dashboard.policies.backtests.models import Backtest
from dashboard.policies.backtests.result_text import in_words
from dashboard.policies.backtests.services import backtest_create
from dashboard.policies.backtests.sweep_map import map_of, sample_of
from dashboard.policies.ledger import ledger_of
from dashboard.policies.policy_creation import policy_create
from dashboard.policies.selectors import tally_of
from dashboard.policies.services import shadow_start
from dashboard.policies.stop_setting import stop_setting_of
from dashboard.turns.filters import TimelineFilters
from dashboard.turns.history import recording_of
from dashboard.turns.models import Turn
from dashboard.turns.verification import verification_of
from tests.dashboard.gateway.served.conftest import turn_of
from tests.dashboard.gateway.served.upstream import Reply, called, said, whole
from tests.dashboard.pages import compact, text_of
from tests.together import together

BROKEN = Reply([b"{}"], status=500, content_type="application/json")
TOOLS = [{"type": "function", "function": {"name": "look"}}]
ONE_MORE, NONE_MORE = {"limits": {"max_continuations": 1}}, {"limits": {"max_continuations": 0}}
EVERYTHING = TimelineFilters()


@pytest.fixture
def ours(watched: Agent) -> Policy:
    """The policy of the watched agent, which would have its answers go on and its errors tried again."""
    said = {"limits": {"max_continuations": 3}, "error_policy": {"preset": "retry_all"}}
    watched.policy = policy_create(project=watched.project, name="ours", **said).policy
    watched.save()
    return watched.policy


def tried(policy: Policy, draft: dict[str, object], *, stands: bool) -> Backtest:
    made = backtest_create(project=policy.project, policy=draft, filter={}, stands_for=policy if stands else None)
    runner.run(made.pk)
    made.refresh_from_db()
    assert (made.status, made.total) == ("done", 1)
    return made


@together
@pytest.mark.parametrize("stands", [False, True], ids=["alone", "in its place"])
@pytest.mark.parametrize(
    ("answer", "draft", "found"),
    [
        (whole("All of it."), ONE_MORE, "same"),
        (whole("All of it."), {"limits": {"max_total_output_chars": 3}}, "end_turn → output_cap"),
        (whole("Half", "length"), NONE_MORE, "same"),
        (whole("Half", "length"), ONE_MORE, "undecidable"),
        # Nothing would be asked for, though for another of our reasons: the caller is told the same.
        (whole("Half", "length"), {"limits": {"max_continuations": 3, "max_total_completion_tokens": 1}}, "same"),
        (whole("Half", "length"), {"limits": {"max_total_output_chars": 2}}, "max_tokens → output_cap"),
        (whole(None, "tool_calls", tool_calls=called('{"a": 1}')), ONE_MORE, "same"),
        (whole(None, "tool_calls", tool_calls=called('{"a": ')), NONE_MORE, "undecidable"),
        (
            whole(None, "tool_calls", tool_calls=called('{"a": ')),
            {"limits": {"max_tool_repair_attempts": 0}},
            "same",
        ),
        (BROKEN, {"error_policy": {"preset": "stop_on_any_error"}}, "same"),
        (BROKEN, {"error_policy": {"preset": "retry_all"}}, "undecidable"),
    ],
)
def test_a_draft_is_compared_with_what_the_provider_returned(
    gate, upstream, watched, ours, answer, draft, found, stands
):
    upstream.says(answer)
    turn = turn_of(gate.ask(model="watched", tools=TOOLS))
    assert was_watched(recording_of(turn).policy)
    made = tried(ours, draft, stands=stands)
    turn.delete()  # each is tried alone
    told = [f"{flip['ended']} → {flip['ends']}" for flip in made.flips]
    word = next(word for word in ("same", "flipped", "undecidable") if getattr(made, word))
    assert (told[0] if told else word) == found
    assert [group["watched"] for group in made.groups] == [1]
    assert "a backtest over 1 turn (1 only observed): " in in_words(made)


def test_an_error_that_means_truncation_of_an_observed_answer_names_no_continuation_limit(gate, upstream, watched):
    message = "Could not finish the message because max_tokens or model output limit was reached. Please try again."
    error = {"error": {"message": message, "type": "invalid_request_error", "param": None, "code": None}}
    upstream.says(Reply([json.dumps(error).encode()], status=400, content_type="application/json"))
    turn = turn_of(gate.ask(model="watched"))
    assert (turn.stop_reason, turn.terminal_reason, turn.resource) == ("finish_reason", "max_tokens", "max_tokens")
    assert "0 of 0" not in turn.verdict


def test_a_truncation_of_a_call_without_a_cap_names_no_cap(gate, upstream, watched):
    upstream.says(whole("Half", "length"), whole(" and more", "length"), whole(".", "length"), whole("", "length"))
    turn = turn_of(gate.ask(model=f"{watched.connection.name}/m"))
    assert [sorted(body.keys() & {"max_tokens", "max_completion_tokens"}) for body in upstream.asked] == [[]] * 4
    assert "with Max tokens per call (max_tokens) not set" in turn.verdict
    assert "16,384" not in turn.verdict


def test_the_map_has_columns_for_usage_of_turns_without_a_cap(gate, upstream, watched):
    """One turn with a small cap does not make the whole map as narrow as that."""
    model = f"{watched.connection.name}/m"
    upstream.says(whole("word " * 300).replace(b'_tokens": 5', b'_tokens": 400'))
    alone = turn_of(gate.ask(model=model))
    found = map_of(sample_of(project=alone.project, filters=EVERYTHING))
    assert (found.columns, found.unset) == ((100, 200, 400, 800, 1_600), 1)
    assert {column: cell.complete for column, cell in zip(found.columns, found.rows[0][1], strict=True)}[800] == "100 %"
    upstream.says(whole("Short."))
    turn_of(gate.ask(model=model, max_tokens=50))
    both = map_of(sample_of(project=alone.project, filters=EVERYTHING))
    assert (both.columns, both.unset) == ((50, 100, 200, 400, 800, 1_600), 1), "the newest turn's cap beside them"
    browser = Client()
    browser.force_login(User.objects.get(username=OPERATOR))
    html = browser.get("/backtests/limits/map?evaluate=page").content.decode()
    assert "For 1 turn, Max tokens per call was not set." in " ".join(text_of(html).split())


def test_an_error_of_a_turn_without_an_agent_has_its_links(gate, upstream, watched):
    """Its connection is known, so that it can be re-run."""
    error = {"error": {"message": "No such model.", "type": "invalid_request_error", "code": "model_not_found"}}
    upstream.says(Reply([json.dumps(error).encode()], status=404, content_type="application/json"))
    turn = turn_of(gate.ask(model=f"{watched.connection.name}/m"))
    browser = Client()
    browser.force_login(User.objects.get(username=OPERATOR))
    html = browser.get(f"/turns/{turn.id}").content.decode()
    assert f"Check the model m and the base URL of connection {watched.connection.name}." in html
    assert "Re-run with changes…" in html


def test_no_page_shows_a_cap_that_was_not_set(gate, upstream, watched):
    upstream.says(whole("Half", "length"), whole(" and more", "stop"))
    turn = turn_of(gate.ask(model=f"{watched.connection.name}/m"))
    browser = Client()
    browser.force_login(User.objects.get(username=OPERATOR))
    shown = {
        address: " ".join(re.sub(r"<[^>]+>", " ", unescape(browser.get(address).content.decode())).split())
        for address in ("/", f"/turns/{turn.id}", f"/turns/{turn.id}/replay", f"/turns/{turn.id}/replay?max_tokens=20")
    }
    told = {address: re.search(r"16,384|instead of 16,384", text) for address, text in shown.items()}
    assert "max tokens per call no limit set" in shown[f"/turns/{turn.id}"]
    assert "20 tokens; no limit was set before" in shown[f"/turns/{turn.id}/replay?max_tokens=20"]
    assert told == dict.fromkeys(told)
    json_ = browser.get(f"/api/v1/turns/{turn.id}/attempts").json()
    assert [attempt["max_tokens"] for attempt in json_] == [None, None]
    assert verification_of(turn).verified


@pytest.mark.parametrize("limit", ["max_total_tokens", "max_total_completion_tokens"])
def test_no_token_total_of_a_policy_ends_an_observed_call(gate, upstream, watched, policy_named, limit):
    watched.policy = policy_named(limits={limit: 1})
    watched.save()
    upstream.says(Reply(said("A long enough beginning.")[:2], breaks=True))
    turn = turn_of(gate.ask(model="watched", stream=True))
    assert (turn.stop_reason, turn.resource) == ("error", None)
    policy = recording_of(turn).policy
    assert was_watched(policy)
    assert was_watched(replace(policy, limits=replace(policy.limits, **{limit: 1}))), "as it was stored before"


def test_continued_calls_are_judged_by_our_reasons_as_before(gate, upstream, continued, policy_named):
    continued.policy = policy_named(**NONE_MORE)
    continued.save()
    upstream.says(whole("Half", "length"))
    assert not was_watched(recording_of(turn_of(gate.ask(model="continued"))).policy)
    made = tried(continued.policy, {"limits": {"max_continuations": 3, "max_total_completion_tokens": 1}}, stands=True)
    assert [(flip["ended"], flip["ends"]) for flip in made.flips] == [("retry_limit", "budget_exhausted")]
    assert "watched" not in in_words(made)


@pytest.mark.parametrize(("draft", "word"), [(NONE_MORE, "flipped"), (ONE_MORE, "same"), ({}, "undecidable")])
def test_a_resumed_pause_is_not_attributed_to_a_policy(gate, upstream, watched, ours, draft, word):
    upstream.says(whole("Half, ", "pause_turn"), whole("and more", "length"))
    turn = turn_of(gate.ask(model="watched"))
    assert (turn.continuations, turn.terminal_reason) == (1, "cut_below_cap")
    made = tried(ours, draft, stands=False)
    assert getattr(made, word) == 1
    assert stop_setting_of(turn) is None
    now = timezone.now()
    assert ledger_of(watched.project, since=now - timedelta(days=1), now=now).lines == ()


def test_a_call_for_several_choices_is_undecidable_and_gives_no_answer_length(gate, upstream, watched, ours):
    upstream.says(whole("All of it."))
    gate.ask(model="watched", n=2)
    made = tried(ours, ONE_MORE, stands=True)
    assert (made.undecidable, made.total) == (1, 1)
    assert estimate_of(project=watched.project, filters=EVERYTHING).curve.count == 0
    gate.ask(model="watched")
    assert estimate_of(project=watched.project, filters=EVERYTHING).curve.count == 1


def test_the_shadow_omits_turns_its_policy_did_not_act_on(gate, upstream, watched, continued, ours):
    continued.policy = ours
    continued.save()
    draft = policy_create(project=ours.project, name="ours", activate=False, **NONE_MORE)
    shadow = shadow_start(version=draft)
    upstream.says(whole("All of it."))
    acted_on = [turn_of(gate.ask(model=model)) for model in ("watched", "continued")][1]
    assert tally_of(shadow).waiting == 1
    assert shadow_evaluation.sweep() == 1
    assert list(shadow.verdicts.values_list("turn", "word")) == [(acted_on.id, "same")]


def test_the_pages_show_how_many_turns_were_only_observed(gate, upstream, watched, ours):
    upstream.says(whole("Half", "length"))
    gate.ask(model="watched")
    client = Client()
    client.force_login(User.objects.get(username=OPERATOR))
    shown = map_of(sample_of(project=watched.project, filters=EVERYTHING))
    assert shown.watched == 1
    cut = {(cell.continuations, cell.max_tokens) for _, cells in shown.rows for cell in cells if cell.counts["partial"]}
    assert cut == {(0, watched.max_tokens)}, "under all others more would have been asked for"
    sooner = tried(ours, {"limits": {"max_total_output_chars": 2}}, stands=True)
    row = compact(client.get(f"/backtests/{sooner.pk}").content.decode()).split("<tbody>")[1].split("</tbody>")[0]
    turns, *parts = [int(cell) for cell in re.findall(r'<td class="num"[^>]*>(\d+)', row)[:8]]
    assert (turns, parts) == (1, [0, 0, 0, 0, 0, 1, 0]), "every turn is in one of the columns"
    made = tried(ours, ONE_MORE, stands=True)
    for page in (f"/backtests/{made.pk}", "/backtests/limits/map?evaluate=page"):
        html = unescape(compact(client.get(page).content.decode()))
        assert "<b>1</b>\u00a0turn of these was only observed by the gateway" in html
    assert Turn.objects.count() == 1
