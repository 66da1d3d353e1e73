from dataclasses import replace

from agentcore.events import WokeUp
from agentcore.messages import NO_CAP
from agentcore.policy import LIMIT_NAMES
from agentcore.replay import fold
from dashboard.turns.meters import Meter
from dashboard.turns.moments import moments_of
from tests.agentcore.playbook import Playbook, ended, truncated
from tests.agentcore.playbook import started as began
from tests.dashboard.turns.histories import cut_twice, recorded, started, with_a_tool


def used(moment, name: str) -> float:
    return next(meter.used for meter in moment.meters if meter.name == name)


def test_there_is_one_moment_per_transition_in_order():
    recording = cut_twice()
    moments = moments_of(fold(recording))
    moves = [(t["from"], t["trigger"], t["to"]) for record in recording.records for t in record.transitions]
    assert [(m.source, m.trigger, m.target) for m in moments] == moves
    assert [m.number for m in moments] == list(range(1, len(moves) + 1))


def test_a_continuation_counts_from_the_transition_that_requests_it():
    moments = moments_of(fold(cut_twice()))
    by_trigger = {m.trigger: m for m in moments[:4]}
    assert used(by_trigger["max_tokens"], "Max continuations") == 0
    assert used(by_trigger["under_limits"], "Max continuations") == 1


def test_tokens_count_as_soon_as_the_model_has_answered():
    moments = moments_of(fold(cut_twice()))
    assert [used(m, "Max completion tokens per turn") for m in moments[:2]] == [0, 60]


def test_a_meter_has_the_name_of_its_limit_and_nothing_else():
    moments = moments_of(fold(cut_twice()))
    names = {meter.name for moment in moments for meter in moment.meters}
    assert {"Max continuations", "Max steps", "Max tool-call repairs"} <= names <= set(LIMIT_NAMES.values())


def test_the_criterion_that_decided_is_marked():
    moments = moments_of(fold(cut_twice()))
    deciding = next(m for m in moments if m.trigger == "under_limits")
    assert [e.criterion for e in deciding.evaluations if e.decided] == ["TruncationCriterion"]


def test_another_iteration_counts_from_its_first_request():
    moments = moments_of(fold(with_a_tool()))
    assert {m.trigger: m.iteration for m in moments}["tools_returned"] == 1
    assert {m.trigger: m.iteration for m in moments}["continue"] == 2


def test_a_history_this_core_cannot_judge_is_still_shown():
    recording = recorded(started())
    odd = replace(recording.records[0], seq=2, event=WokeUp(1.0))
    spans = fold(replace(recording, records=(*recording.records, odd)))
    assert [span.known for span in spans] == [True, False]
    assert len(moments_of(spans)) == 2


def test_a_meter_never_shows_more_than_its_limit():
    meter = Meter("Max completion tokens per turn", used=250, limit=240)
    assert (meter.shown, meter.left, meter.heat) == (240, 0, "full")


def test_a_continuation_without_a_cap_mentions_none():
    uncapped = {"revision": 8, "max_tokens": 16_384, "extra": {"uncapped": NO_CAP}}
    for asked, words in (
        (uncapped, "continuation 1 of 3, Max tokens per call (max_tokens) not set"),
        ({"max_tokens": 60}, "continuation 1 of 3, 60 tokens"),
    ):
        book = Playbook(**asked) >> began() >> truncated("Half of it. ") >> ended("And the rest.")
        assert words in [moment.reason for moment in moments_of(fold(book.recording))]
