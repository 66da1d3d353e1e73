import re

import pytest

from agentcore.error_policy import ErrorPolicy
from agentcore.errors import ErrorType, ProviderError
from agentcore.events import Breakpoint, ModelFailed, OperatorActed, OperatorAction, Started, WokeUp
from agentcore.policy import Policy
from agentcore.replay import fold
from dashboard.turns.moments import moments_of
from dashboard.turns.time_breakdown import ORDER, time_spans_of, time_totals_of
from dashboard.turns.waterfall import LENGTH, bars_of, rail_of
from tests.dashboard.turns.histories import answered, called, cut_twice, recorded, returned, started


def kinds(recording, waits=None) -> dict[str, float]:
    return {one.kind: pytest.approx(one.seconds) for one in time_totals_of(time_spans_of(fold(recording), waits or {}))}


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
        "first token": 1.25,
        "stream": 2.5,
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


def test_each_kind_and_tint_is_one_path_for_any_number_of_calls():
    spans = fold(cut_twice())
    rail = rail_of(moments_of(spans), bars_of(spans), {}, time_spans_of(spans, {}))
    assert [(layer.kind, layer.tint) for layer in rail.layers] == [("stream", 1), ("stream", 2), ("stream", 3)]


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
