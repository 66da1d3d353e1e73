"""Sweeps: the smallest value that completes is found exactly, and nothing is claimed that was not tried."""

import re
from itertools import pairwise

import pytest
from django.core.exceptions import ValidationError
from django.test import Client

from agentcore.replay import Certainty
from agentcore.replay.work_budget import MOST_WORK
from agentcore.sufficient_max_tokens import END_AT_MOST
from dashboard.agents.models import Agent, PolicyVersion
from dashboard.agents.samples import REPORT_SCHEMA
from dashboard.agents.selectors import project_default
from dashboard.agents.services import connection_create
from dashboard.bench.long_turn import long_turn_store
from dashboard.policies.policy_creation import policy_create
from dashboard.policies.policy_versions import policy_attach
from dashboard.policies.suggestions.selectors import suggestion_for
from dashboard.replay import sweep_service
from dashboard.replay.found_values import Found, found_in
from dashboard.replay.rerun_changes import RerunChanges
from dashboard.replay.rerun_service import turn_rerun
from dashboard.replay.services import turn_what_if
from dashboard.replay.sweep_chart import Band, charts_of
from dashboard.replay.sweep_point import Point, margin_of, recommended
from dashboard.replay.sweep_result import DOUBTFUL, Sweep
from dashboard.replay.sweep_service import SWEPT, turn_sweep
from dashboard.turns.models import Attempt, Turn
from dashboard.turns.provider_words import stored
from tests.dashboard.driving import Play, drive
from tests.dashboard.pages import HTMX, page
from tests.together import together

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def whole(play: Play) -> Turn:
    """Completed at 150 tokens a call, after continuations."""
    return play("sim-essay", max_tokens=150)


@pytest.fixture
def cut(play: Play) -> Turn:
    return play("sim-essay", name="short", max_tokens=60)


def completes(turn: Turn, max_tokens: int) -> bool:
    imagined = turn_what_if(turn=turn, overrides={"max_tokens": max_tokens})
    return not imagined.undecidable and imagined.turn["status"] == "completed"


def test_a_turn_is_tried_up_to_the_maximum_of_its_connection(cut: Turn, simulator_url: str):
    """Another one than its agent's, as a re-run may ask."""
    connection_create(
        project=cut.project, name="other", provider="openai", base_url=simulator_url, max_output_tokens=300
    )
    child = drive(turn_rerun(turn=cut, overrides={}, words=RerunChanges(connection="other")))
    assert turn_what_if(turn=cut, overrides={"max_tokens": 400})
    with pytest.raises(ValidationError, match="other"):
        turn_what_if(turn=child, overrides={"max_tokens": 400})
    with pytest.raises(ValidationError, match="other"):
        turn_sweep(turn=child, name="max_tokens", values=range(100, 500, 100), overrides={})


def test_the_smallest_value_that_completes_is_found_between_the_drawn_values(whole: Turn):
    found = turn_sweep(turn=whole, name="max_tokens", values=range(20, 620, 50), overrides={})
    least = next(value for value in range(20, 620) if completes(whole, value))
    assert found.least is not None
    assert (found.least.value, found.sure) == (least, True)
    told = "All smaller values in the range were tried: "
    unknown = sum(turn_what_if(turn=whole, overrides={"max_tokens": value}).undecidable for value in range(20, least))
    assert unknown
    assert f"{told}for {unknown} of them it is not known how the turn ends." in found.words


@pytest.mark.parametrize("model", ["sim-odd", "sim-no-reason"])
def test_the_sweep_of_an_answer_that_may_be_cut_off_says_so_at_every_value(play: Play, model: str):
    turn = play(model, max_tokens=500)
    assert "answer may be cut off" in turn.verdict
    found = turn_sweep(turn=turn, name="max_tokens", values=range(20, 620, 50), overrides={})
    assert found.least is not None
    assert DOUBTFUL in found.words


def test_from_is_used_only_where_every_larger_tried_value_also_completes(whole: Turn):
    found = turn_sweep(turn=whole, name="max_tokens", values=range(20, 620, 50), overrides={})
    assert found.likely is not None
    assert found.likely.since is not None
    assert all(point.completed for point in found.points if point.value >= found.likely.since)
    assert not completes(whole, found.likely.since - 1)
    assert f"likely from {found.told['likely'].since}" in found.words


def a_point(value: int, certainty: Certainty | None) -> Point:
    """None: it does not complete, for certain."""
    completed = certainty not in (None, Certainty.UNDECIDABLE)
    return Point(value, "completed" if completed else "x", completed, 1, 1, None, certainty or Certainty.CERTAIN)


@pytest.mark.parametrize(
    ("certain", "likely", "words"),
    [
        (Found(9, 9), Found(9, 9), "certain to complete from 9"),
        (Found(9, 9), Found(7, 7), "certain to complete from 9, likely from 7"),
        (None, Found(7, 7), "likely to complete from 7, certain at no value that was tried"),
        (
            Found(7, 9),
            Found(7, 7),
            "certain to complete from 9 and at 7 (not for all values between), likely from 7",
        ),
        (
            Found(7, None),
            Found(7, 7),
            "certain to complete at 7 (not for all larger values that were tried), likely from 7",
        ),
    ],
)
def test_two_values_are_named_and_gaps_are_described(certain: Found | None, likely: Found, words: str):
    points = tuple(a_point(value, Certainty.CERTAIN) for value in (7, 9))
    found = Sweep("max_tokens", 60, points, certain, likely, sure=True, tried=2)
    assert found.finding == f"Max tokens per call (max_tokens): {words}"


@pytest.mark.parametrize(
    ("larger", "words"),
    [
        (
            (Certainty.UNDECIDABLE, Certainty.UNDECIDABLE),
            "at 7 (not known for some larger values)",
        ),
        ((Certainty.UNDECIDABLE, None), "at 7 (not for all larger values that were tried)"),
        ((Certainty.ESTIMATED, Certainty.ESTIMATED), "at 7 (only likely for some larger values)"),
        ((Certainty.UNDECIDABLE, Certainty.CERTAIN), "from 9 and at 7 (not known for some values between)"),
        ((None, Certainty.CERTAIN), "from 9 and at 7 (not for all values between)"),
        ((Certainty.CERTAIN, Certainty.CERTAIN), "from 7"),
    ],
)
def test_a_value_of_which_nothing_is_known_does_not_count_as_one_that_fails(
    larger: tuple[Certainty | None, ...], words: str
):
    points = (a_point(7, Certainty.CERTAIN), *(a_point(8 + place, sure) for place, sure in enumerate(larger)))
    found = found_in(points, lambda point: point.completes_certainly)
    assert found is not None
    assert found.words == words


def test_a_limit_that_changes_nothing_recorded_is_certain_from_its_usage(whole: Turn):
    found = turn_sweep(turn=whole, name="max_continuations", values=range(11), overrides={})
    assert found.certain == found.likely == Found(whole.continuations, whole.continuations)
    assert found.best is not None
    assert found.best.value == whole.continuations


def test_every_point_ends_like_the_what_if_of_its_value(whole: Turn):
    found = turn_sweep(turn=whole, name="max_tokens", values=range(30, 400, 60), overrides={})
    for point in found.points:
        imagined = turn_what_if(turn=whole, overrides={"max_tokens": point.value})
        assert point.undecidable is imagined.undecidable
        assert point.tokens == imagined.turn["output_tokens"]
        assert point.undecidable or point.word == imagined.turn["terminal_reason"]


def test_continuations_are_swept_one_by_one(whole: Turn):
    found = turn_sweep(turn=whole, name="max_continuations", values=range(11), overrides={})
    assert found.least is not None
    assert found.least.value == whole.continuations
    assert [point.word for point in found.points[: whole.continuations]] == ["retry_limit"] * whole.continuations
    assert found.tried == 11


def test_an_ending_missing_from_the_recording_is_not_called_complete(cut: Turn):
    found = turn_sweep(turn=cut, name="max_tokens", values=range(20, 420, 20), overrides={})
    assert found.least is None
    values = "any value of Max tokens per call (max_tokens) from 20 to 400"
    assert f"The turn is not known to complete with {values}" in found.words
    assert "tokens on, it is not known how the turn ends at some values. Re-run live to find out." in found.words


def test_the_text_says_so_where_not_every_smaller_value_was_tried(whole: Turn, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sweep_service, "THOROUGH_WORK", 1)
    found = turn_sweep(turn=whole, name="max_tokens", values=range(20, 620, 50), overrides={})
    assert found.least is not None
    assert found.least.completed
    assert not found.sure
    assert "Not all smaller values" in found.words
    assert found.left_out == 0
    assert found.tried <= 12 + 7 + 7 + 20


def test_a_sweep_that_needs_too_much_work_reports_omitted_values_and_claims_nothing_about_them(
    whole: Turn, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(sweep_service, "MOST_WORK", 40)
    found = turn_sweep(turn=whole, name="max_tokens", values=range(20, 620, 50), overrides={})
    assert 0 < len(found.points) == found.tried < 12
    assert (found.sure, found.shown()["left_out"]) == (False, found.left_out)
    assert f"{found.left_out} values in the range were not evaluated." in found.words
    assert found.points[-1].value == 570, "the ends of the range and the recorded value come first"
    assert found.recorded in [point.value for point in found.points]
    assert charts_of(found)


def test_a_sweep_of_an_almost_unlimited_turn_is_bounded_by_work_and_says_so(
    browser: Client, monkeypatch: pytest.MonkeyPatch
):
    turn = long_turn_store(project=project_default(), attempts=1, stream_bytes=1_000)
    run = sweep_service.run_of(turn=turn, name="max_tokens", overrides={})
    monkeypatch.setattr(sweep_service, "MOST_WORK", 500)
    found = run.sweep(range(20, 820, 20), turn.max_tokens)
    assert run.work < 500 + 2 * MOST_WORK, "a last what-if is whole"
    assert (found.left_out > 0, found.sure) == (True, False)
    html = page(browser, f"/turns/{turn.id}/replay/sweep/")
    assert "in the range were not evaluated." in html
    assert "stopped after " in page(browser, f"/turns/{turn.id}/replay/?max_tokens=399")


def test_a_sweep_applies_the_other_overrides(whole: Turn):
    held = {"limits": {"max_continuations": 0}}
    found = turn_sweep(turn=whole, name="max_tokens", values=range(50, 450, 50), overrides=held)
    assert found.least is not None
    assert found.least.value > 300


@together
@pytest.mark.parametrize(
    ("name", "values", "words"),
    [
        ("truncation_budget_multiplier", range(1, 5), "There is no limit “truncation_budget_multiplier” to sweep"),
        ("max_tokens", range(10, 5), "The range is empty"),
        ("max_tokens", range(1, 1000), "the maximum is 120"),
        ("max_tokens", range(1, 10**20, 9), "The range has 11,111,111,111,111,111,111 values; the maximum is 120"),
        ("max_tokens", range(5), "max_tokens) must be a whole number from 1"),
        ("max_continuations", range(0, 5000, 100), "from 0 to 1,000"),
    ],
)
def test_an_impossible_range_is_refused_with_an_explanation(whole: Turn, name, values, words):
    with pytest.raises(ValidationError, match=re.escape(words)):
        turn_sweep(turn=whole, name=name, values=values, overrides={})


@together
@pytest.mark.parametrize("name", SWEPT)
def test_every_limit_can_be_swept_with_the_suggested_range(browser: Client, whole: Turn, name: str):
    html = page(browser, f"/turns/{whole.id}/replay/sweep?limit={name}")
    assert 'role="alert"><' not in html.replace('role="alert"></div>', "")
    assert "All values in the chart" in html


def test_a_sweep_over_failures_in_a_row_is_decided_as_far_as_failures_are_recorded(play: Play):
    """Two failures and an answer: fewer failures end the turn, more change nothing."""
    policy = {"error_policy": {"on_rate_limit_error": "retry", "max_retries": 4}}
    turn = play("sim-flaky", overrides=policy)
    assert (turn.status, turn.attempts) == ("completed", 2)
    found = turn_sweep(turn=turn, name="max_retries", values=range(5), overrides={})
    told = [(point.value, point.word, point.calls, point.certainty.value) for point in found.points]
    assert told == [
        (0, "provider_error", 1, "recorded"),
        (1, "provider_error", 1, "recorded"),
        *((value, "completed", 2, "recorded") for value in (2, 3, 4)),
    ]
    assert [point.value for point in found.recommended] == [2]


def test_more_failures_in_a_row_than_were_recorded_are_not_known(play: Play):
    turn = play("sim-429", overrides={"error_policy": {"on_rate_limit_error": "retry", "max_retries": 2}})
    assert (turn.status, turn.attempts) == ("failed", 2)
    found = turn_sweep(turn=turn, name="max_retries", values=range(5), overrides={})
    assert [point.undecidable for point in found.points] == [False, False, False, True, True]
    assert found.recommended == ()


def test_the_bands_of_the_chart_cover_the_range_without_gaps(whole: Turn, cut: Turn):
    for turn in (whole, cut):
        found = turn_sweep(turn=turn, name="max_tokens", values=range(20, 620, 50), overrides={})
        for chart in charts_of(found):
            for one, other in pairwise(chart.bands):
                assert other.x == pytest.approx(one.x + one.width, abs=0.2)
                assert one.word != other.word
            assert chart.bands[0].x == chart.left
            assert chart.bands[-1].x + chart.bands[-1].width == pytest.approx(chart.right, abs=0.2)


def test_the_chart_is_told_in_words_too():
    ranges = [Band("completed", "completed", 0, 1, 50, 50), Band("retry_limit", "retry limit", 1, 9, 60, 1_200)]
    assert [band.said for band in ranges] == ["completed at 50", "retry limit from 60 to 1,200"]


def test_the_chart_draws_no_line_where_the_recording_ends(cut: Turn):
    found = turn_sweep(turn=cut, name="max_tokens", values=range(20, 420, 20), overrides={})
    panel = charts_of(found)[0].panels[0]
    known = [point for point in found.points if not point.undecidable]
    guessed = [point for point in known if point.certainty is Certainty.ESTIMATED]
    assert panel.estimated.count("H") == len(guessed)
    assert panel.path.count("H") + panel.estimated.count("H") == len(known) < len(found.points)


def test_the_page_names_the_smallest_value_and_links_to_its_what_if(browser: Client, whole: Turn):
    html = page(browser, f"/turns/{whole.id}/replay/sweep?begin=20&end=600&step=20&max_steps=5")
    found = turn_sweep(turn=whole, name="max_tokens", values=range(20, 601, 20), overrides={"limits": {"max_steps": 5}})
    assert found.best is not None
    assert all(words in html for _, _, words in found.named)
    assert f"?max_steps=5&amp;max_tokens={found.best.value}" in html
    assert "simulator, free" in html


def test_htmx_gets_only_the_chart_and_the_url_keeps_the_query(browser: Client, whole: Turn):
    address = f"/turns/{whole.id}/replay/sweep?limit=max_continuations&begin=0&end=5&step=1"
    response = browser.get(address, headers={**HTMX, "HX-Target": "sweep"})
    assert response["HX-Replace-Url"] == address
    assert b"<html" not in response.content


def test_the_axis_says_a_unit_that_the_name_of_the_limit_does_not(whole: Turn):
    axes = {name: turn_sweep(turn=whole, name=name, values=range(1, 3), overrides={}).axis for name in SWEPT}
    assert axes["max_tokens"] == "Max tokens per call"
    assert axes["max_retries"] == "Max failures in a row"
    assert axes["max_seconds"] == "Time limit, in seconds"


def test_another_limit_is_swept_over_its_own_default_range(browser: Client, whole: Turn):
    address = f"/turns/{whole.id}/replay/sweep"
    asked = f"{address}?limit=max_continuations&begin=20&end=720&step=20&range_of=max_tokens&max_steps=5"
    answer = browser.get(asked, headers={**HTMX, "HX-Target": "sweep"})
    html = answer.content.decode()
    assert "completes from 2</li>" in html
    assert 'id="sweep-fields" hx-swap-oob="true"' in html
    assert 'name="range_of" value="max_continuations"' in html
    assert answer["HX-Replace-Url"] == f"{address}?limit=max_continuations&max_steps=5"


def test_an_invalid_range_is_reported_beside_its_field_and_the_input_is_kept(browser: Client, whole: Turn):
    html = page(browser, f"/turns/{whole.id}/replay/sweep?begin=90&end=20&step=x")
    assert 'value="90"' in html
    assert 'value="x"' in html
    assert "Step must be a whole number of at least 1." in html


def test_an_error_of_a_range_is_named_as_its_field_is(browser: Client, whole: Turn):
    html = page(browser, f"/turns/{whole.id}/replay/sweep?begin=some&end=more")
    assert "From must be a whole number of at least 0." in html
    assert "To must be a whole number of at least 0." in html


def test_the_result_can_be_saved_as_a_policy(browser: Client, whole: Turn):
    address = f"/turns/{whole.id}/replay/policy"
    response = browser.post(address, {"name": "longer", "max_continuations": "7", "max_tokens": "99"}, follow=True)
    version = PolicyVersion.objects.get(policy__name="longer")
    assert (version.version, version.limits) == (1, {"max_continuations": 7}), "only what differs from the defaults"
    assert not any(getattr(version, name) for name in ("error_policy", "criteria", "finish_reasons"))
    assert response.content.decode().count('class="way added"') == 1
    assert "Draft v1 of “longer” created" in response.content.decode()
    assert "Give the policy a name" in browser.post(address, {"name": ""}, follow=True).content.decode()


@pytest.mark.parametrize("name", ["longer", "longest"], ids=["the agent's own policy", "a new policy"])
def test_a_draft_of_a_sweep_is_backtested_over_the_turns_of_its_agent(browser: Client, whole: Turn, name: str):
    policy = policy_create(project=whole.project, name="longer", limits={"max_continuations": 2})
    Agent.objects.filter(pk=whole.agent_id).update(policy=policy.policy)
    answer = browser.post(f"/turns/{whole.id}/replay/policy", {"name": name, "max_continuations": "7"}, follow=True)
    draft = PolicyVersion.objects.order_by("-id").first()
    assert draft is not None
    assert draft.backtest is not None
    assert draft.backtest.filter == {"agent": [whole.agent_name], "model": [whole.model]}
    assert draft.backtest.policy["limits"]["max_continuations"] == 7
    assert (draft.backtest.stands_for == draft.policy) is (name == "longer")
    assert f'href="/backtests/{draft.backtest.pk}"' in answer.content.decode()


def test_a_draft_of_a_policy_of_others_is_backtested_over_their_turns(browser: Client, whole: Turn):
    version = policy_create(project=whole.project, name="longer", limits={"max_continuations": 2})
    policy_attach(project=whole.project, policy=version.policy, provider="anthropic")
    browser.post(f"/turns/{whole.id}/replay/policy", {"name": "longer", "max_continuations": "7"})
    draft = PolicyVersion.objects.get(policy__name="longer", version=2)
    assert draft.backtest is not None
    assert (draft.backtest.filter, draft.backtest.stands_for) == ({"provider": [stored("anthropic")]}, version.policy)


def test_a_turn_whose_agent_was_deleted_can_still_be_swept(browser: Client, whole: Turn):
    Agent.objects.all().delete()
    html = page(browser, f"/turns/{whole.id}/replay/sweep")
    assert "at 150 (not known for some larger values)" in html


def test_a_live_re_run_is_offered_where_no_recorded_value_completes(cut: Turn, browser: Client):
    found = turn_sweep(turn=cut, name="max_tokens", values=range(20, 420, 20), overrides={})
    assert (found.least, found.asks) == (None, 400)
    html = page(browser, f"/turns/{cut.id}/replay/sweep?begin=20&end=400&step=20&max_continuations=2")
    assert f'href="/turns/{cut.id}/replay/again?max_continuations=2&amp;max_tokens=400"' in html


def test_no_re_run_is_offered_where_more_of_the_limit_does_not_help(cut: Turn):
    found = turn_sweep(turn=cut, name="max_continuations", values=range(11), overrides={})
    assert (found.least, found.asks) == (None, None)


def test_fewer_calls_than_recorded_are_recommended_from_where_they_are_certain():
    """As the verdict does: with less, a call that thinks again might be cut."""
    guess = dict.fromkeys(range(89, 100), Certainty.ESTIMATED)
    points = [Point(60, "completed", True, 98, 2, None), *(_one_call(value, sure) for value, sure in guess.items())]
    points += [_one_call(100, Certainty.CERTAIN), _one_call(101, Certainty.CERTAIN)]
    assert [point.value for point in recommended(points, 60)] == [100, 60]
    assert recommended(points[1:], 120)[0].value == 89, "the recorded call was larger itself"
    assert recommended(points[1:-2], 60)[0].value == 89, "where none is certain"


def test_an_estimate_is_recommended_with_the_margin_that_the_end_of_an_answer_may_take():
    """Of a structured answer or a tool call no value is certain, and one without a margin would be used up."""
    points = [_one_call(value, Certainty.ESTIMATED) for value in range(89, 120)]
    assert [point.value for point in recommended(points, 60, margin=margin_of("max_tokens"))] == [94]
    assert [point.value for point in recommended(points, 60, margin=margin_of("max_steps"))] == [89]


def test_a_value_that_takes_fewer_calls_with_its_margin_is_recommended_once():
    """At 20 in four calls; with the margin in three, as the value that was named for three."""
    calls = {**dict.fromkeys(range(15, 20), 4), **dict.fromkeys(range(20, 30), 3)}
    points = [Point(value, "completed", True, 80, many, None, Certainty.ESTIMATED) for value, many in calls.items()]
    advised = recommended(points, 10, margin=margin_of("max_tokens"))
    assert [(point.value, point.calls) for point in advised] == [(25, 3)]


def test_a_structured_answer_in_one_call_has_a_margin(play: Play):
    turn = play("sim-json", max_tokens=60, envelope_schema=REPORT_SCHEMA)
    assert (turn.status, turn.envelope_retries > 0) == ("completed", True)
    used = Attempt.objects.filter(turn_id=turn.id).latest("index").usage["output_tokens"]
    found = turn_sweep(turn=turn, name="max_tokens", values=range(20, 200, 20), overrides={})
    best, said = found.best, suggestion_for(turn)
    assert best is not None
    assert said is not None
    assert said.value == best.value >= used + 5
    again = drive(turn_rerun(turn=turn, overrides={"max_tokens": best.value}))
    assert (again.status, again.attempts, again.lint) == ("completed", 1, [])


def _one_call(value: int, certainty: Certainty) -> Point:
    return Point(value, "completed", True, 80, 1, None, certainty)


@pytest.mark.parametrize(
    ("values", "wide", "narrow"),
    [
        (range(20, 740, 20), ["100", "200", "300", "400", "500", "600", "700"], ["200", "400", "600"]),
        (range(1, 7), ["1", "2", "3", "4", "5", "6"], ["2", "4", "6"]),
    ],
)
def test_the_values_below_the_chart_are_round_and_equally_far_apart(
    whole: Turn, values: range, wide: list[str], narrow: list[str]
):
    """The values that were tried also stand where the outcome changes."""
    name = "max_tokens" if len(values) > 9 else "max_continuations"
    charts = charts_of(turn_sweep(turn=whole, name=name, values=values, overrides={}))
    assert [[tick.words for tick in chart.ticks] for chart in charts] == [wide, narrow]


def test_the_words_name_one_number_and_the_margin_that_it_leaves(whole: Turn):
    found = turn_sweep(turn=whole, name="max_tokens", values=range(20, 620, 50), overrides={})
    assert found.best is not None
    assert found.likely is not None
    margin = found.best.value - (found.likely.since or 0)
    assert (found.best.certainty, margin) == (Certainty.ESTIMATED, END_AT_MOST)
    assert (
        f"at most {found.likely.since}. The limit leaves a margin of {margin} tokens above that, because" in found.words
    )
    assert f"from {found.best.value}" in found.words
    assert f"from {found.likely.since}" not in found.words
    named = [words for _, _, words in found.named]
    assert named
    assert not [words for words in named if f" {found.likely.since}" in words]
    assert found.shown()["likely"]["since"] == found.likely.since, "the data of the API stay as they are"


def test_what_was_tried_below_a_value_names_the_value_it_speaks_of(whole: Turn):
    found = turn_sweep(turn=whole, name="max_tokens", values=range(20, 620, 50), overrides={})
    assert found.best is not None
    assert found.least is not None
    assert found.least.value < found.best.value
    said = f"The smallest value that completes is {found.least.value}. All smaller values in the range were tried"
    assert said in found.proof
    low = turn_sweep(turn=whole, name="max_tokens", values=range(found.least.value, 620, 50), overrides={})
    assert f"It also completes with {found.least.value}, where the range begins." in low.proof
