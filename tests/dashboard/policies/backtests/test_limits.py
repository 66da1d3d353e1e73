"""Smallest sufficient limit, as its page says it; a map of two limits; a version made of it."""

import re
from html import unescape
from uuid import uuid4

import pytest
from django.contrib.messages import get_messages
from django.test import Client
from pytest_django.fixtures import DjangoAssertNumQueries as Asserted

from dashboard.accounts.models import User
from dashboard.agents.models import PolicyVersion
from dashboard.agents.selectors import policy_version_active, project_default
from dashboard.bench.recorded_turns import copy_turns
from dashboard.policies import limit_views
from dashboard.policies.backtests import sweep_map
from dashboard.policies.backtests.answer_lengths import estimate_of
from dashboard.policies.backtests.recording_loader import policy_of
from dashboard.policies.backtests.sweep_map import cell_of, map_of, sample_of
from dashboard.policies.policy_creation import policy_create
from dashboard.policies.policy_versions import version_activate
from dashboard.turns.filters import TimelineFilters
from dashboard.turns.models import Turn
from tests.dashboard.driving import Play
from tests.dashboard.own_criteria import NAME
from tests.dashboard.pages import page, text_of
from tests.dashboard.policies.backtests.damaged_turns import base_unknown, event_unknown, policy_unknown
from tests.dashboard.timeline.populations import make_turn

pytestmark = pytest.mark.django_db(transaction=True)

ENDED = {"status": "completed", "model_stop_reason": "end_turn", "attempts": 1, "last_seq": 3}


def make_lengths() -> None:
    """10 to 1,000, in no order."""
    for n in range(100):
        make_turn(output_tokens=10 + n * 370 % 1_000, **ENDED)


def test_the_page_shows_the_median_and_where_almost_all_answers_are_complete(browser: Client):
    make_lengths()
    html = page(browser, "/backtests/limits")
    assert "Median 500 tokens. 96 of these 100 answers ended within 960 tokens. " in html
    assert "An estimated 95\u202f% of further answers like these have at most 960 tokens." in html
    assert html.count('class="curve') == 2


def test_the_page_says_which_of_the_matching_turns_it_uses_and_why_turn_pages_may_name_another_number(browser: Client):
    make_lengths()
    make_turn(output_tokens=100, **{**ENDED, "attempts": 3})
    make_turn(output_tokens=0, **ENDED)
    html = " ".join(text_of(page(browser, "/backtests/limits")).split())
    assert "102 turns match; 100 of them are used here." in html
    assert "Re-runs count once with their original turn." in html
    assert "The page of a truncated turn may name another number: it uses only answers longer than that turn's" in html


def test_the_page_says_of_each_of_its_three_numbers_why_it_differs_from_the_others(browser: Client):
    make_lengths()
    make_turn(output_tokens=100, **{**ENDED, "model_stop_reason": "max_tokens", "status": "partial"})
    html = " ".join(text_of(page(browser, "/backtests/limits")).split())
    assert (
        "960 tokens95&#8239;% of the recorded answers are complete within this. Answers that were cut count as" in html
    )
    assert "960 tokensEstimated to be enough for 95&#8239;% of further answers. Here it is the same length." in html
    assert "965 tokensThe limit to set: that estimate plus 5 tokens" in html


def test_the_page_explains_the_marks_of_an_interval_without_an_upper_end(browser: Client):
    for n in range(12):
        make_turn(output_tokens=100 + n, **ENDED)
    html = " ".join(text_of(page(browser, "/backtests/limits")).split())
    assert "– ?" in html
    assert "?: too few answers are this long to give an upper end. –: too few for an interval." in html


def test_a_truncated_or_possibly_truncated_answer_is_a_lower_bound(browser: Client):
    make_lengths()
    project, anything = project_default(), TimelineFilters()
    before = estimate_of(project=project, filters=anything)
    make_turn(output_tokens=100, **{**ENDED, "model_stop_reason": "max_tokens", "status": "partial"})
    make_turn(output_tokens=100, lint=["output_at_cap"], **ENDED)
    after = estimate_of(project=project, filters=anything)
    assert (before.curve.cut, after.curve.cut) == (0, 2)
    assert after.curve.count == before.curve.count + 2
    make_turn(output_tokens=100, **{**ENDED, "attempts": 3})
    assert estimate_of(project=project, filters=anything).curve.count == after.curve.count


def test_a_map_whose_turns_take_long_is_bounded_in_time_and_says_how_many_it_evaluated(
    browser: Client, play: Play, monkeypatch: pytest.MonkeyPatch
):
    for n in range(3):
        play("sim-essay", name=f"agent-{n}", max_tokens=100, overrides={"limits": {"max_continuations": 0}})
    monkeypatch.setattr(sweep_map, "MOST_SECONDS", 0.0)
    words = " ".join(text_of(page(browser, "/backtests/limits/map?evaluate=page")).split())
    assert "Stopped after 1 turn, because evaluating more would take too long: the 2 older turns of the sample" in words


def test_a_sign_of_truncation_counts_only_if_it_is_the_last_answers():
    continued = {**ENDED, "attempts": 2, "continuations": 1, "lint": ["unclosed_json"]}
    for sign in ("", "unclosed_json", None):
        make_turn(output_tokens=100, cut_sign=sign, **continued)
    curve = estimate_of(project=project_default(), filters=TimelineFilters()).curve
    assert (curve.count, curve.cut) == (3, 2)


def test_the_sentence_counts_ended_and_truncated_answers_and_marks_estimates():
    for n in range(30):
        make_turn(output_tokens=100 + n * 7 % 30, **ENDED)
    make_turn(output_tokens=20, **{**ENDED, "model_stop_reason": "max_tokens", "status": "partial"})
    found = estimate_of(project=project_default(), filters=TimelineFilters())
    assert found.words == (
        "Median 114 tokens. 30 of these 31 answers ended within 129 tokens; 1 was cut earlier. "
        "An estimated 95 % of further answers like these have at most 129 tokens."
    )


def test_too_few_complete_answers_are_counted_beside_those_that_an_estimate_needs():
    for n in range(5):
        make_turn(output_tokens=100 + n, **ENDED)
    make_turn(output_tokens=200, **{**ENDED, "model_stop_reason": "max_tokens", "status": "partial"})
    found = estimate_of(project=project_default(), filters=TimelineFilters())
    assert found.words.endswith(
        "; 5 of these answers are complete, and an estimate for further answers needs at least 10."
    )


def test_the_table_gives_no_number_that_the_sentence_denies(browser: Client):
    for n in range(12):
        make_turn(output_tokens=100 + n, **ENDED)
    found = estimate_of(project=project_default(), filters=TimelineFilters())
    assert "more answers are needed to estimate within how many tokens 95 % are complete" in found.words
    assert [quantile.tokens for quantile in found.quantiles] == [105, 108, 110, None, None]
    html = page(browser, "/backtests/limits")
    assert text_of(html).count("%not known–") == 2
    assert "<b>111</b>" not in html


def test_a_turn_and_its_re_runs_count_once_by_the_first_that_ended(browser: Client):
    cut = {**ENDED, "model_stop_reason": "max_tokens", "status": "partial"}
    first = make_turn(output_tokens=100, **cut)
    again = make_turn(output_tokens=300, parent=first, **ENDED)
    make_turn(output_tokens=310, parent=first, **ENDED)
    make_turn(output_tokens=320, parent=again, **ENDED)
    make_turn(output_tokens=50, **cut)
    found = estimate_of(project=project_default(), filters=TimelineFilters())
    assert found.certainties == {"recorded": 1, "certain": 0, "estimated": 0, "undecidable": 1}
    assert (found.curve.count, found.curve.quantile(0.5).tokens, found.suffices) == (2, 300, None)


def test_the_certainty_of_the_lengths_is_shown_with_all_four_counts(browser: Client):
    exact = {"setup": {"setup": {"extra": {"prefill": True}}}}
    continued = {**ENDED, "attempts": 2, "continuations": 1}
    make_turn(output_tokens=10, **ENDED)
    make_turn(output_tokens=20, **ENDED, tokens_estimated=True)
    make_turn(output_tokens=30, **continued)
    make_turn(output_tokens=40, **continued, **exact)
    make_turn(output_tokens=45, lint=["ambiguous_seam"], **continued, **exact)
    make_turn(output_tokens=50, **{**ENDED, "model_stop_reason": "max_tokens", "status": "partial"})
    found = estimate_of(project=project_default(), filters=TimelineFilters())
    assert found.certainties == {"recorded": 1, "certain": 1, "estimated": 3, "undecidable": 1}
    assert 'id="certainties"' in page(browser, "/backtests/limits")


def test_the_estimate_reads_no_messages_of_the_turns(django_assert_num_queries: Asserted):
    """Each would be a query, and a caller of the gateway says how long they are."""
    setup = {"setup": {"extra": {"prefill": True}}, "messages": str(uuid4())}
    for _ in range(3):
        make_turn(output_tokens=40, **{**ENDED, "attempts": 2, "continuations": 1}, setup=setup)
    project = project_default()
    with django_assert_num_queries(1):
        found = estimate_of(project=project, filters=TimelineFilters())
    assert found.certainties["certain"] == 3


def test_complete_handed_out_calls_end_an_answer_and_blocked_ones_do_not():
    called = {**ENDED, "model_stop_reason": "tool_call"}
    make_turn(output_tokens=35, **called)
    make_turn(output_tokens=35, **{**called, "status": "partial"})
    make_turn(output_tokens=35, lint=["output_at_cap"], **called)
    curve = estimate_of(project=project_default(), filters=TimelineFilters()).curve
    assert (curve.count, curve.cut, curve.quantile(0.3).tokens) == (3, 2, 35)


def test_without_turns_the_page_says_so(browser: Client):
    assert "None of these turns shows the length of an answer" in page(browser, "/backtests/limits?model=none")
    assert (
        "None of these turns has a recording"
        in browser.get("/backtests/limits/map?evaluate=page&model=none").content.decode()
    )


def test_a_sufficient_value_becomes_a_version_that_keeps_the_rest(browser: Client):
    make_lengths()
    policy_create(project=project_default(), name="chat", limits={"max_continuations": 7})
    answer = browser.post("/backtests/limits/keep", {"name": "chat", "query": "status=completed"})
    assert "Draft created: version 2" in str(next(iter(get_messages(answer.wsgi_request))))
    latest = PolicyVersion.objects.order_by("-version").first()
    assert (latest.limits["max_continuations"], latest.limits["max_total_completion_tokens"]) == (7, 965)
    assert latest.why.startswith("Median 500")
    assert latest.backtest is not None
    assert (latest.backtest.filter, latest.backtest.stands_for) == ({"status": ["completed"]}, latest.policy)
    active = policy_version_active(policy=latest.policy)
    assert active is not None
    assert active.version == 1
    nameless = browser.post("/backtests/limits/keep", {"name": "", "query": ""})
    assert "Give the policy a name" in str(list(get_messages(nameless.wsgi_request))[-1])


def test_a_user_who_may_not_change_policies_is_offered_no_draft(browser: Client, client: Client):
    make_lengths()
    client.force_login(User.objects.create_user("vera"))
    assert ["Create draft" in page(who, "/backtests/limits") for who in (browser, client)] == [True, False]


def test_an_unreadable_filter_selects_nothing_instead_of_every_turn(browser: Client):
    make_lengths()
    answer = browser.post("/backtests/limits/keep", {"name": "chat", "query": "since=yesterdayish"})
    (told,) = get_messages(answer.wsgi_request)
    assert str(told).startswith("No draft was created.")
    assert not PolicyVersion.objects.exists()
    assert answer["location"] == "/backtests/limits?since=yesterdayish"
    assert browser.get(answer["location"]).status_code == 400


def test_a_rolled_back_version_is_not_part_of_the_draft(browser: Client):
    make_lengths()
    project = project_default()
    first = policy_create(project=project, name="chat", limits={"max_continuations": 7})
    policy_create(project=project, name="chat", limits={"max_continuations": 2, "max_steps": 1})
    version_activate(version=first, why="too tight")
    answer = browser.post("/backtests/limits/keep", {"name": "chat", "query": ""})
    (told,) = get_messages(answer.wsgi_request)
    assert "version 3 of “chat”. All other settings are those of version 1, which is active." in str(told)
    assert PolicyVersion.objects.get(version=3).limits == {"max_continuations": 7, "max_total_completion_tokens": 965}


def test_the_map_counts_every_turn_in_every_cell_and_links_to_them(browser: Client):
    assert list(copy_turns(project=project_default(), turns=20)) == [20]
    sample = sample_of(project=project_default(), filters=TimelineFilters())
    found = map_of(sample)
    assert all(sum(cell.counts.values()) == 20 for _, cells in found.rows for cell in cells)
    assert all(sum(cell.certainties.values()) == 20 for _, cells in found.rows for cell in cells)
    for _, cells in found.rows:
        assert all(cell.certainties["undecidable"] == cell.counts["undecidable"] for cell in cells)
    as_recorded = cell_of(sample, 3, 60)
    completed = sum(told.status == "completed" for told, _ in sample)
    assert as_recorded.counts["complete"] == completed
    fewest, most = found.rows[0][1][0], found.rows[-1][1][-1]
    assert fewest.counts["complete"] <= as_recorded.counts["complete"]
    assert completed <= most.counts["complete"] + most.counts["undecidable"], "in one go it may be longer than by hints"
    html = page(browser, "/backtests/limits/map?evaluate=part")
    assert "<html" not in html
    assert html.strip() in page(browser, "/backtests/limits/map?evaluate=page")
    cell = re.search(r'href="(/backtests/limits/map\?[^"]*continuations=3[^"]*max_tokens=60)"', html)
    turns = page(browser, cell[1].replace("&amp;", "&"))
    assert turns.count("/replay?max_continuations=3&amp;max_tokens=60") == 20


def test_the_url_of_a_cell_lists_the_same_turns_after_others_arrive(browser: Client):
    list(copy_turns(project=project_default(), turns=5))
    html = page(browser, "/backtests/limits/map?evaluate=page")
    address = re.search(r'href="(/backtests/limits/map[?][^"]*continuations=3[^"]*)"', html)[1].replace("&amp;", "&")
    before = page(browser, address)
    newest = Turn.objects.latest("id")
    make_turn(agent_name="later", max_tokens=7_000, last_seq=1, status="completed")
    assert Turn.objects.latest("id") != newest
    assert page(browser, address).split("<main")[1] == before.split("<main")[1]
    assert "6 turns" in bare(page(browser, "/backtests/limits/map?evaluate=page"))


def bare(html: str) -> str:
    return re.sub("<[^>]+>", "", html).replace("\u00a0", " ")


def test_any_limit_may_be_requested_and_an_invalid_one_is_reported(browser: Client):
    list(copy_turns(project=project_default(), turns=3))
    asked = page(browser, "/backtests/limits/map?continuations=3&max_tokens=7777")
    assert re.search("Max continuations 3 and Max tokens per call 7.777", bare(asked))
    for said, words in (
        ("continuations=4&max_tokens=60", "Max continuations must be one of 0, 1, 2, 3, 5, 8."),
        ("continuations=3&max_tokens=0", "Max tokens per call must be a whole number from 1 to "),
        ("continuations=3", "Max tokens per call is required."),
        ("continuations=3&max_tokens=60&newest=x", "Newest must be an ID of 32 hexadecimal digits."),
        ("continuations=3&max_tokens=60&status=odd", "Status must be one of "),
        ("since=whenever", "From (since) must be a date or time"),
    ):
        answer = browser.get(f"/backtests/limits/map?{said}")
        html = unescape(answer.content.decode())
        assert answer.status_code == 400
        assert words in text_of(html.split('role="alert">')[1])
        assert html.startswith("<!doctype html>")


def test_a_criterion_that_no_longer_loads_leaves_its_turn_undecided(settings, play: Play):
    settings.CRITERIA_MODULES = (NAME,)
    patient = policy_create(project=project_default(), name="own", criteria=[{"path": f"{NAME}.Patience"}]).policy
    play("sim-essay", max_tokens=150, policy=patient)
    found = []
    for settings.CRITERIA_MODULES in ((NAME,), ()):
        policy_of.cache_clear()
        sample = sample_of(project=project_default(), filters=TimelineFilters())
        found.append(cell_of(sample, 0, 150).counts)
    policy_of.cache_clear()
    assert [counts["undecidable"] for counts in found] == [0, 1]


def test_a_cell_says_how_many_turns_its_price_covers(browser: Client):
    list(copy_turns(project=project_default(), turns=6))
    Turn.objects.filter(pk__in=list(Turn.objects.values_list("pk", flat=True)[:2])).update(model="nobodys")
    sample = sample_of(project=project_default(), filters=TimelineFilters())
    cells = [cell for _, row in map_of(sample).rows for cell in row]
    assert all(cell.priced <= 6 - max(2, cell.counts["undecidable"]) for cell in cells)
    assert max(cell.priced for cell in cells) == 4
    html = page(browser, "/backtests/limits/map?evaluate=page")
    assert bare(html).count("for 4 turns") >= sum(cell.priced == 4 for cell in cells)
    assert 'for 4 turns"' in html


def test_a_map_that_needs_too_much_work_omits_older_turns_and_counts_them(
    browser: Client, monkeypatch: pytest.MonkeyPatch
):
    list(copy_turns(project=project_default(), turns=6))
    monkeypatch.setattr(sweep_map, "MOST_WORK", 8)
    found = map_of(sample_of(project=project_default(), filters=TimelineFilters()))
    assert (found.turns, found.left_out) == (1, 5)
    assert all(len(cell.ended) == 1 for _, cells in found.rows for cell in cells)
    assert found.rows[-1][1][-1].ended[0].word == "undecidable", "not evaluated, so nothing is claimed"
    assert "<b>5</b>\u00a0older turns of the sample were not evaluated" in page(
        browser, "/backtests/limits/map?evaluate=page"
    )
    monkeypatch.setattr(sweep_map, "MOST_WORK", 2)
    cell = page(browser, "/backtests/limits/map?continuations=3&max_tokens=60")
    assert "of the sample were not evaluated" in cell


def test_a_first_map_shows_what_is_evaluated_so_far_and_asks_for_the_whole_one(
    browser: Client, monkeypatch: pytest.MonkeyPatch
):
    list(copy_turns(project=project_default(), turns=6))
    so_far, whole = "These are the results so far: more turns are being evaluated.", "evaluate=part&amp;status=partial"
    address = "/backtests/limits/map?evaluate={}&status=partial"
    assert so_far not in page(browser, address.format("first")), "it is the whole one"
    monkeypatch.setattr(sweep_map, "FIRST_WORK", 8)
    html = page(browser, address.format("first"))
    assert (so_far in html, whole in html, 'hx-trigger="load"' in html) == (True, True, True)
    assert "not evaluated" not in html
    html = page(browser, address.format("part"))
    assert (so_far in html, whole in html) == (False, False)


def test_a_cell_has_the_same_turns_as_its_map_even_where_it_was_limited(
    browser: Client, monkeypatch: pytest.MonkeyPatch
):
    """A single cell had work left for more turns, and the share on its page was another one than the map's."""
    list(copy_turns(project=project_default(), turns=6))
    project, anything = project_default(), TimelineFilters()
    whole = map_of(sample_of(project=project, filters=anything))
    of_each = [sum(cell.ended[place].work for _, row in whole.rows for cell in row) for place in range(6)]
    monkeypatch.setattr(sweep_map, "MOST_WORK", sum(of_each[-3:]) - of_each[-3] // 2)
    found = map_of(sample_of(project=project, filters=anything))
    assert (found.turns, found.left_out) == (2, 4)
    sample = sample_of(project=project, filters=anything, newest=found.newest, oldest=found.oldest)
    for cell in (cell for _, row in found.rows for cell in row):
        alone = cell_of(sample, cell.continuations, cell.max_tokens)
        assert (alone.counts, alone.certainties, alone.left_out) == (cell.counts, cell.certainties, 0)
    html = page(browser, "/backtests/limits/map?evaluate=page")
    leads = re.search(r'href="(/backtests/limits/map[?][^"]*continuations=8[^"]*)" aria-label="([^"]+) complete', html)
    shown = page(browser, leads[1].replace("&amp;", "&"))
    assert f">{leads[2]} complete with Max continuations 8 and " in shown
    assert "of 2</span>" in shown


def test_the_map_has_a_column_for_the_limits_of_the_newest_turn_and_marks_their_cell(browser: Client, play: Play):
    own = policy_create(project=project_default(), name="own", limits={"max_continuations": 5}).policy
    play("sim-essay", max_tokens=300)
    play("sim-essay", name="limited", max_tokens=60, policy=own)
    found = map_of(sample_of(project=project_default(), filters=TimelineFilters()))
    assert found.used == (5, 60)
    html = page(browser, "/backtests/limits/map?evaluate=page")
    assert html.count("Limits of the newest turn:") == 1
    assert re.search(r'continuations=5&amp;max_tokens=60" aria-label="Limits of the newest turn: ', html)
    assert "The outlined cell has the limits of the newest turn." in bare(html)


def test_the_page_of_the_map_answers_before_anything_is_evaluated(browser: Client, monkeypatch):
    list(copy_turns(project=project_default(), turns=3))

    def evaluated(*_args, **_kwargs):
        raise AssertionError("The map was evaluated.")

    monkeypatch.setattr(limit_views, "map_of", evaluated)
    html = page(browser, "/backtests/limits/map?model=sim-essay")
    assert "Evaluating the newest turns under each pair of limits. The first" in html
    assert 'hx-get="/backtests/limits/map?evaluate=first&amp;model=sim-essay"' in html
    assert 'href="/backtests/limits/map?evaluate=page&amp;model=sim-essay"' in html
    assert "None of these turns" not in html
    assert "Evaluating the newest turns" in page(browser, "/backtests/limits")


def test_the_map_is_a_separate_page_and_a_fragment_of_it(browser: Client):
    assert "<h1" in page(browser, "/backtests/limits/map?evaluate=page")
    assert page(browser, "/backtests/limits/map?evaluate=part").lstrip().startswith('<div id="map"')


@pytest.mark.parametrize("damage", [event_unknown, policy_unknown, base_unknown])
def test_an_unreadable_turn_is_undecided_in_every_cell(browser: Client, damage):
    assert list(copy_turns(project=project_default(), turns=5)) == [5]
    for turn in Turn.objects.all()[:2]:
        damage(turn)
    sample = sample_of(project=project_default(), filters=TimelineFilters())
    assert all(cell.counts["undecidable"] >= 2 for _, cells in map_of(sample).rows for cell in cells)
    html = page(browser, "/backtests/limits/map?evaluate=page")
    cell = re.search(r'href="(/backtests/limits/map[?][^"]*continuations=8[^"]*)"', html)
    assert "Not known" in page(browser, cell[1].replace("&amp;", "&"))


def test_a_refused_turn_is_listed_as_refused_and_not_as_truncated(play: Play):
    play("sim-refuse")
    cell = cell_of(sample_of(project=project_default(), filters=TimelineFilters()), 3, 60)
    assert [(words, [each.look for each in turns]) for words, turns in cell.sorts] == [
        ("Refused, or stopped before an answer", ["aborted"])
    ]


def test_an_estimate_for_further_answers_that_is_larger_says_why(browser: Client):
    for n in range(40):
        make_turn(output_tokens=400 + n * 7 % 40, **ENDED)
    html = " ".join(text_of(page(browser, "/backtests/limits")).split())
    assert "437 tokens95&#8239;% of the recorded answers are complete within this." in html
    assert "It is larger, because the next answer may be longer than all recorded ones." in html
