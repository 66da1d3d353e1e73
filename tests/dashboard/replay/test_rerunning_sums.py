"""What a fork used is counted once: sums over turns are the sums over their attempts, and histograms add up to
counters."""

from importlib import import_module

import pytest
from django.db import connection
from django.db.models import Sum

from agentcore.replay import fold, unforkable
from dashboard.metrics.counters import REGISTRY
from dashboard.replay.rerun_service import turn_rerun
from dashboard.replay.services import turn_what_if
from dashboard.turns.history import recording_of
from dashboard.turns.models import Attempt, Outcome, Turn
from tests.dashboard.driving import Play, drive

pytestmark = pytest.mark.django_db(transaction=True)

MIGRATION = import_module("dashboard.turns.migrations.0013_own_counts_of_forks")
CONTINUED = ("continuation", "resume")


def _forked(turn: Turn) -> list[Turn]:
    """One fork of every record that something can follow."""
    places = [span for span in fold(recording_of(turn)) if not unforkable(span.after, span.record.seq)]
    return [drive(turn_rerun(turn=turn, overrides={}, from_record=place.record.seq)) for place in places]


def _by_attempts() -> dict[str, int]:
    usages = list(Attempt.objects.values_list("usage", flat=True))
    return {
        "attempts": len(usages),
        "input_tokens": sum(usage["input_tokens"] for usage in usages),
        "output_tokens": sum(usage["output_tokens"] for usage in usages),
        "continuations": Attempt.objects.filter(kind__in=CONTINUED).count(),
        "tool_repairs": Attempt.objects.filter(kind="tool_repair").count(),
        "envelope_retries": Attempt.objects.filter(kind="envelope_retry").count(),
    }


@pytest.mark.parametrize("model", ["sim-essay", "sim-cut-tool"])
def test_turns_and_their_forks_add_up_to_their_attempts(play: Play, model: str):
    turn = play(model, overrides={"max_tokens": 60}, tools=["calculator"])
    children = _forked(turn)
    assert children
    children += _forked(children[0])
    sums = Turn.objects.aggregate(**{name: Sum(name) for name in _by_attempts()})
    assert sums == _by_attempts()


def test_older_forks_are_counted_by_this_rule_after_the_migration(play: Play):
    model = "sim-cut-tool"
    children = _forked(play(model, overrides={"max_tokens": 60}, tools=["calculator"]))
    children += _forked(children[0])
    columns = {"base_snapshot", *_by_attempts()}
    now = list(Turn.objects.order_by("id").values(*columns))
    for child in children:
        inherited = child.base_snapshot.pop("inherited")
        for name in _by_attempts():
            setattr(child, name, getattr(child, name) + inherited[name])
        child.save(update_fields=columns)
    assert list(Turn.objects.order_by("id").values(*columns)) != now
    for _ in range(2):  # the second time changes nothing
        with connection.cursor() as cursor:
            cursor.execute(MIGRATION.OWN)
        assert list(Turn.objects.order_by("id").values(*columns)) == now


def test_the_limits_of_a_fork_include_its_parents_usage(play: Play):
    turn = play("sim-essay", overrides={"max_tokens": 60})
    last = _forked(turn)[-1]
    assert (last.status, last.terminal_reason) == ("partial", "retry_limit")
    assert (last.attempts, last.continuations, turn.continuations) == (1, 1, 3)


def test_a_histogram_of_continuations_adds_up_to_their_counter(play: Play):
    who = {"provider": "openai", "model": "sim-essay"}
    names = ("whystop_continuations_total", "whystop_continuation_attempts_per_turn_sum")

    def counted() -> list[float]:
        return [REGISTRY.get_sample_value(name, who) or 0.0 for name in names]

    before = counted()
    _forked(play("sim-essay", overrides={"max_tokens": 60}))
    more = [after - was for after, was in zip(counted(), before, strict=True)]
    assert more[0] == more[1] == Attempt.objects.filter(kind__in=CONTINUED).count()


def test_a_what_if_of_a_fork_counts_like_its_row(play: Play):
    child = _forked(play("sim-essay", overrides={"max_tokens": 60}))[1]
    same = turn_what_if(turn=child, overrides={})
    assert same.turn["output_tokens"] == child.output_tokens


def test_a_partial_stop_is_one_outcome(play: Play):
    turn = play("sim-essay", overrides={"max_tokens": 60})
    states = list(Outcome.objects.filter(turn_id=turn.id).values_list("state", flat=True))
    assert states == ["evaluate_stop", "continue_pending"] * 4
