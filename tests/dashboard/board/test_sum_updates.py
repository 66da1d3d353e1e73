"""Sums are exact: whatever is stored, changed, erased and folded, they say what counting the rows says."""

from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dashboard.agents import selectors as agents
from dashboard.agents.samples import REPORT_SCHEMA
from dashboard.bench.long_turn import long_turn_store
from dashboard.board import measures, sum_updates
from dashboard.board.metrics import METRICS
from dashboard.board.models import Sum
from dashboard.board.selectors import Scope, totals_of
from dashboard.policies.predictions.models import Prediction
from dashboard.timeline import rollups
from dashboard.timeline.models import ChangedMinute
from dashboard.turns.models import Attempt, Turn
from tests.dashboard.driving import Play
from tests.dashboard.timeline.populations import COLUMNS, MOMENTS, NOW, make_turn, undone

pytestmark = pytest.mark.django_db

DEEDS = st.lists(
    st.one_of(
        st.tuples(st.just("store"), MOMENTS, COLUMNS),
        st.tuples(st.just("change"), st.integers(0, 9), COLUMNS),
        st.tuples(st.just("delete"), st.integers(0, 9), st.none()),
        st.tuples(st.just("sum"), st.none(), st.none()),
    ),
    max_size=20,
)
EVER = (datetime(2020, 1, 1, tzinfo=UTC), datetime(2030, 1, 1, tzinfo=UTC))


def brought_up_to_date() -> None:
    rollups.fold_all()
    sum_updates.sum_all()


def do(deed: str, value: Any, columns: Any) -> None:
    ids = list(Turn.objects.order_by("id").values_list("id", flat=True))
    if deed == "store":
        make_turn(value, **columns)
    elif deed == "sum":
        brought_up_to_date()
    elif ids:
        turn = Turn.objects.filter(id=ids[value % len(ids)])
        turn.update(**columns) if deed == "change" else turn.delete()


def counted(turns: list[Turn]) -> dict[str, float]:
    """By looking at each turn."""
    sums = Counter[str]()
    for turn in turns:
        cut = turn.continuations > 0 or turn.model_stop_reason == "max_tokens"
        again = not cut and any(_is_cut(each) for each in Attempt.objects.filter(turn_id=turn.id))
        sums.update({"turns": 1, "ended": 1, "failed": turn.status == "failed", "cut": cut})
        sums.update({"cut_calls": again and turn.tool_repairs > 0})
        sums.update({"cut_envelopes": again and not turn.tool_repairs and turn.envelope_retries > 0})
        sums.update({"continued": turn.continuations > 0, "continuations": turn.continuations})
        sums.update({"input_tokens": turn.input_tokens, "output_tokens": turn.output_tokens})
        sums.update({"linted": bool(turn.lint), **{f"lint:{code}": 1 for code in turn.lint}})
        for name in ("model_stop_reason", "stop_reason"):
            if getattr(turn, name):
                sums[f"{name}:{getattr(turn, name)}"] += 1
        if turn.continuations and turn.took_ms is not None:
            place = sum(turn.took_ms >= bound * 1000 for bound in measures.BOUNDS)
            sums[f"took:{place}"] += 1
    return {name: value for name, value in sums.items() if value}


def _is_cut(said: Attempt) -> bool:
    return said.stop_reason == "max_tokens" or any(call.get("issue") == "truncated" for call in said.tool_calls)


def totals(scope: Scope = Scope()) -> dict[str, float]:
    since, until = EVER
    found = totals_of(project=agents.project_default(), scope=scope, since=since, until=until)
    return {name: value for name, value in found.items() if value and name != "dollars"}


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=25)
@given(deeds=DEEDS, agent=st.sampled_from(["", "a"]))
def test_after_any_sequence_of_changes_the_sums_equal_those_of_the_rows(deeds: Any, agent: str):
    with undone():
        for deed in deeds:
            do(*deed)
        brought_up_to_date()
        rows = [turn for turn in Turn.objects.all() if agent in ("", turn.agent_name)]
        assert totals(Scope(agent=agent)) == counted(rows)
        assert not ChangedMinute.objects.exists()


def test_every_level_gives_the_same_sums():
    for minutes in (0, 1, 70, 400, 2_000):
        make_turn(NOW - timedelta(minutes=minutes), status="completed", output_tokens=7)
    brought_up_to_date()
    by_level = {
        level: sum(row.sums["output_tokens"] for row in Sum.objects.filter(seconds=level)) for level in rollups.LEVELS
    }
    assert set(by_level.values()) == {35}


def test_a_turn_changed_after_its_end_is_summed_again():
    turn = make_turn(NOW, status="completed", input_tokens=1)
    brought_up_to_date()
    Turn.objects.filter(id=turn.id).update(input_tokens=5)  # its trace comes in pieces
    brought_up_to_date()
    assert totals()["input_tokens"] == 5
    assert rollups.counts(project=turn.project) == {Turn.objects.get().cohort: 1}


def test_cached_tokens_and_failed_predictions_are_summed_with_their_turn():
    turn = long_turn_store(project=agents.project_default(), attempts=1, stream_bytes=1_000)
    brought_up_to_date()
    assert "failed_predictions" not in totals()
    attempt = Attempt.objects.get(turn_id=turn.id)
    assert attempt.usage is not None
    prediction = Prediction.objects.create(
        project=turn.project, parent=turn, child=turn, kind="rerun", provider="openai", model="m", connection="c",
        certainty="certain",
    )  # fmt: skip
    Prediction.objects.filter(id=prediction.id).update(came_true=False)
    brought_up_to_date()
    assert totals()["failed_predictions"] == 1
    assert totals().get("cached_tokens", 0) == attempt.usage.get("cached_tokens", 0)


@pytest.mark.parametrize(
    ("model", "agent", "cut"),
    [
        ("sim-cut-tool", {"tools": ["calculator"], "max_tokens": 40}, "cut_calls"),
        ("sim-json", {"envelope_schema": REPORT_SCHEMA, "max_tokens": 60}, "cut_envelopes"),
        ("sim-malformed", {"tools": ["calculator"]}, None),
    ],
)
@pytest.mark.django_db(transaction=True)
def test_a_truncated_answer_that_was_requested_again_counts_as_truncated_and_a_malformed_one_does_not(
    play: Play, browser: Client, model: str, agent: dict[str, Any], cut: str | None
):
    turn = play(model, **agent)
    assert (turn.status, turn.continuations, turn.tool_repairs + turn.envelope_retries > 0) == ("completed", 0, True)
    brought_up_to_date()
    assert totals() == counted([turn])
    rate = 0.0 if cut is None else 1.0
    assert [totals().get(name, 0) for name in ("cut_calls", "cut_envelopes")] == [
        float(name == cut) for name in ("cut_calls", "cut_envelopes")
    ]
    assert METRICS["truncation_rate"].of(totals()) == rate
    assert browser.get("/api/v1/metrics").json()["total"]["truncation_rate"] == rate


def test_counts_of_any_size_are_summed_and_block_no_other_turn():
    most = 2**63 - 1
    for name in ("input_tokens", "input_tokens", "output_tokens"):
        make_turn(NOW, status="completed", **{name: most})
    other = make_turn(NOW - timedelta(days=3), status="completed")
    turn = long_turn_store(project=other.project, attempts=2, stream_bytes=1_000)
    with connection.cursor() as cursor:  # as a file may tell it
        cursor.execute("SET session_replication_role = 'replica'")
        cursor.execute(
            "UPDATE turns_attempt SET usage = %s WHERE turn_id = %s", [f'{{"cached_tokens": {most}}}', turn.id]
        )
        cursor.execute("SET session_replication_role = 'origin'")
    brought_up_to_date()
    assert (totals()["input_tokens"], totals()["cached_tokens"]) >= (2 * most, 2 * most)
    assert totals()["turns"] == Turn.objects.count()


def test_names_of_any_length_are_summed():
    make_turn(NOW, status="completed", model="m" * 9_000, agent_name="ä" * 9_000)
    brought_up_to_date()
    assert totals()["turns"] == 1


@pytest.mark.parametrize(
    ("counts", "share", "seconds"),
    [({}, 0.95, None), ({0: 2}, 0.5, 0.25), ({3: 10}, 0.5, 2.5), ({2: 1, 17: 1}, 0.95, 1800.0), ({1: 5, 5: 5}, 1, 8.0)],
)
def test_a_quantile_lies_within_its_bucket(counts: dict[int, int], share: float, seconds: float | None):
    assert measures.quantile({f"took:{place}": count for place, count in counts.items()}, share) == seconds


def test_names_beyond_the_maximum_are_summed_under_other(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sum_updates, "MOST_NAMES", 3)
    at = NOW - timedelta(days=2)
    for n in range(12):
        make_turn(at, model=f"invented-{n}", agent_name=f"a{n % 2}", status="completed", input_tokens=n)
    make_turn(at + timedelta(minutes=1), model="real", agent_name="a0", status="completed", output_tokens=9)
    brought_up_to_date()
    brought_up_to_date()
    assert totals() == {"turns": 13, "ended": 13, "input_tokens": 66, "output_tokens": 9}
    assert totals(Scope(agent="a0")) == {"turns": 7, "ended": 7, "input_tokens": 30, "output_tokens": 9}
    assert totals(Scope(model="real")) == {"turns": 1, "ended": 1, "output_tokens": 9}
    assert max(Counter(Sum.objects.values_list("seconds", "start")).values()) <= 5  # with one for each agent


def test_agents_beyond_the_maximum_are_summed_under_other(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sum_updates, "MOST_NAMES", 3)
    for n in range(20):
        make_turn(NOW - timedelta(days=2, minutes=n % 2), model=f"m{n}", agent_name=f"a{n}", status="completed")
    brought_up_to_date()
    assert totals() == {"turns": 20, "ended": 20}
    assert max(Counter(Sum.objects.values_list("seconds", "start")).values()) <= 7
