import re

import pytest

from agentcore.error_policy import ErrorPolicy
from agentcore.errors import ErrorType, ProviderError
from agentcore.events import Breakpoint, ModelFailed, OperatorActed, OperatorAction, Started, WokeUp
from agentcore.policy import Policy
from agentcore.replay import fold
from dashboard.turns.moments import moments_of
from dashboard.turns.time_breakdown import ORDER, TimeTotal, time_spans_of, time_totals_of
from dashboard.turns.waterfall import LENGTH, bars_of, rail_of
from tests.dashboard.turns.histories import answered, called, cut_twice, recorded, returned, started


def kinds(recording, waits=None) -> dict[str, float]:
    return {one.kind: pytest.approx(one.seconds) for one in time_totals_of(time_spans_of(fold(recording), waits or {}))}


def failed_at(seconds):
    return ModelFailed(seconds, ProviderError(ErrorType.RATE_LIMIT, "rate_limit", "Slow down."))


def of_every_kind():
    first = started()
    begun = Started(0.0, first.setup, first.messages, (Breakpoint(state="evaluate_continuation"),))
    slow_down = ModelFailed(1.0, ProviderError(ErrorType.RATE_LIMIT, "rate_limit", "Slow down."), waited=0.25)
    policy = Policy(error_policy=ErrorPolicy.retry_all(5))
    released = OperatorActed(9.0, "ada", OperatorAction.RELEASE)
    events = (begun, slow_down, WokeUp(2.0), called(4.0, "a"), returned(4.5, "a", "42"), released)
    return recorded(*events, answered(10.0, "It is 42."), policy=policy)


def test_time_is_divided_into_tokens_waiting_tools_and_people():
    assert kinds(of_every_kind(), {2: 0.5}) == {
        "in line": 0.25,
        "first token": 0.5,
        "stream": 1.5,
        "call": 1.0,
        "failed call": 0.75,
        "waiting": 1.0,
        "tools": 0.5,
        "held": 4.5,
    }


def test_people_backoff_and_queueing_are_not_time_in_the_model():
    final = of_every_kind().final
    assert final is not None
    assert final.spent.seconds == pytest.approx(10.0 - 4.5 - 1.0 - 0.25)


def test_all_time_is_accounted_for():
    assert sum(one.seconds for one in time_totals_of(time_spans_of(fold(of_every_kind()), {}))) == pytest.approx(10.0)


def test_a_wait_longer_than_its_call_fills_the_call():
    assert kinds(cut_twice(), {1: 99.0})["first token"] == 1.0


def test_a_failed_call_without_tokens_has_no_first_token():
    assert kinds(recorded(started(), failed_at(1.61))) == {"failed call": 1.61}


def test_a_failed_call_that_had_begun_to_answer_has_a_first_token_and_a_stream():
    assert kinds(recorded(started(), failed_at(1.5)), {1: 0.5}) == {"first token": 0.5, "stream": 1.0}


def test_an_answer_in_one_piece_was_no_stream():
    assert kinds(recorded(started(), answered(2.0, "Yes."))) == {"call": 2.0}


def held_until(*moments):
    """A turn that is held at 1 s, and released after so many seconds, if at all."""
    first = started()
    begun = Started(0.0, first.setup, first.messages, (Breakpoint(state="evaluate_stop"),))
    released = [OperatorActed(moment, "ada", OperatorAction.RELEASE) for moment in moments]
    return recorded(begun, answered(1.0, "Yes."), *released)


def test_what_took_no_time_is_not_listed():
    assert kinds(held_until(1.0)) == {"call": 1.0}


def test_a_period_that_has_not_ended_is_listed_without_a_length():
    *_, held = time_totals_of(time_spans_of(fold(held_until()), {}))
    assert (held.kind, held.length) == ("held", "")


@pytest.mark.parametrize(
    ("seconds", "length"), [(0.0004, "0.40 ms"), (0.0052, "5.2 ms"), (0.01, "0.01 s"), (75, "1 min 15 s")]
)
def test_no_length_is_rounded_to_nothing(seconds, length):
    assert TimeTotal("tools", seconds).length == length


def test_each_kind_and_tint_is_one_path_for_any_number_of_calls():
    spans = fold(cut_twice())
    rail = rail_of(moments_of(spans), bars_of(spans), {}, time_spans_of(spans, {}))
    assert [(layer.kind, layer.tint) for layer in rail.layers] == [("call", 1), ("call", 2), ("call", 3)]


def test_every_kind_has_its_pattern_and_lies_on_the_rail():
    spans = fold(of_every_kind())
    rail = rail_of(moments_of(spans), bars_of(spans), {2: 0.5}, time_spans_of(spans, {2: 0.5}))
    assert {layer.pattern for layer in rail.layers} == {kind.replace(" ", "-") for kind in ORDER}
    numbers = [float(n) for layer in rail.layers for n in re.findall(r"[MH]([\d.]+)", layer.path)]
    assert all(0 <= number <= LENGTH for number in numbers)


def test_an_open_interval_reaches_to_the_end():
    spans = fold(recorded(started()))
    (layer,) = rail_of(moments_of(spans), bars_of(spans), {}, time_spans_of(spans, {})).layers
    assert f"H{LENGTH}" in layer.path
