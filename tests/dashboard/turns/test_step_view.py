from agentcore.error_policy import ErrorPolicy
from agentcore.errors import ErrorType, ProviderError
from agentcore.events import ModelFailed
from agentcore.policy import Limits, Policy
from agentcore.replay import fold
from dashboard.turns.meters import Meter
from dashboard.turns.moments import moments_of
from dashboard.turns.step_view import StepView, gauge, step_view
from tests.dashboard.turns.histories import answered, called, cut_twice, recorded, returned, started


def steps(recording) -> list[StepView]:
    return [step_view(moment) for moment in moments_of(fold(recording))]


def failed_once(handling: ErrorPolicy) -> list[StepView]:
    error = ModelFailed(1.0, ProviderError(ErrorType.RATE_LIMIT, "rate_limit", "Slow down.", status=429))
    return steps(recorded(started(), error, policy=Policy(error_policy=handling)))


def test_a_step_gives_its_position_and_reason():
    step = steps(cut_twice())[2]
    assert (step.number, step.source, step.target, step.trigger) == (
        3,
        "evaluate stop",
        "continue pending",
        "max_tokens",
    )
    assert step.place == "call 1 · 1.00\u202fs"
    assert step.sentence == "Transition 3: evaluate stop to continue pending, by max tokens. call 1 · 1.00\u202fs"


def test_a_decision_has_a_word_a_colour_and_a_shape():
    shapes = {said.decision: said.shape for step in steps(cut_twice()) for said in step.said}
    assert shapes == {"allow": "check", "request": "play", "stop": "ring"}


def test_the_error_policy_is_shown_with_its_input():
    step = failed_once(ErrorPolicy.retry_all(5))[-1]
    assert step.handling == "retry"
    assert "Rate limit error, retrying (1/5)" in [said.reason for said in step.said]
    assert [(fact.name, fact.value) for fact in step.facts] == [
        ("type", "rate limit"),
        ("consecutive failures", "1"),
        ("Max failures in a row (max_retries)", "5"),
        ("total failures", "1"),
    ]


def test_a_failed_tool_is_named():
    told_steps = steps(recorded(started(), called(1.0, "a"), returned(1.5, "a", "division by zero", ErrorType.TOOL)))
    seen = next(step for step in told_steps if step.handling)
    assert ("tool", "calculator") in [(fact.name, fact.value) for fact in seen.facts]


def test_no_step_shows_the_sentence_of_the_specification():
    told_steps = steps(recorded(started(), called(1.0, "a"), returned(1.5, "a", "division by zero", ErrorType.TOOL)))
    shown = "\n".join(f"{step.reason}\n{[said.reason for said in step.said]}" for step in told_steps)
    assert "consecutive failures (max" not in shown
    assert "tool error, 1 failure; tool errors stop the turn (calculator: division by zero)" in shown


def test_no_other_transition_shows_the_sentence_of_the_specification():
    missed = [
        road.miss for step in failed_once(ErrorPolicy.stop_on_any_error()) for road in (*step.roads, *step.others)
    ]
    assert "rate limit error, 1 failure; rate limit errors stop the turn" in missed
    assert not any("consecutive failures (max" in said for said in missed)


def test_without_a_failure_no_error_is_shown():
    assert all(not step.handling and not step.facts for step in steps(cut_twice()))


def test_other_transitions_show_the_distance_to_each_limit_with_the_rest_of_the_table_apart():
    going_on = next(step for step in steps(cut_twice()) if step.trigger == "under_limits")
    assert [(road.trigger, road.target, road.miss) for road in going_on.roads] == [
        ("retry_limit", "abort partial", "0 of 3 continuations used"),
        ("budget_exhausted", "abort partial", "60 of 240 completion tokens used"),
        ("output_cap", "abort partial", "25 of 120,000 characters used"),
    ]
    assert [road.trigger for road in going_on.others] == ["repetition", "forbidden", "breakpoint"]
    assert {(road.stood, road.shape) for road in going_on.roads} == {("not met", "ring")}


def test_continuing_is_listed_first_where_a_limit_prevented_it():
    none_left = Policy(limits=Limits(max_continuations=0))
    stopped = steps(recorded(started(), answered(1.0, "a", "max_tokens"), policy=none_left))
    roads = next(step for step in stopped if step.trigger == "retry_limit").roads
    assert roads[0].trigger == "under_limits"
    assert roads[0].miss.endswith("with 1 continuation it would have continued")


def test_without_a_judgement_there_are_no_other_transitions():
    assert not steps(recorded(started()))[0].roads
    assert not steps(recorded(started()))[0].others


def test_an_estimate_is_marked_and_integers_have_no_decimal_point():
    shown = gauge(Meter("seconds", used=2.0, limit=30.0, unit="s", estimated=True))
    assert (shown.used, shown.limit, shown.left) == ("≈ 2", "30 s", "28 left")
    assert (str(shown.value), str(shown.most)) == ("2", "30")
