"""Recordings as JSON: what is written reads back equal, and what is no recording is refused in words."""

import json
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import replace
from typing import Any

import pytest

from agentcore import (
    CoreError,
    Policy,
    Recording,
    RecordingError,
    recording_from_json,
    recording_to_json,
    verify,
    what_if,
)
from agentcore.replay import fork
from tests.agentcore.machine.stories import STORIES
from tests.agentcore.playbook import Playbook, ended, started, truncated
from tests.nightly import nightly
from tests.together import together


def there_and_back(recording: Recording) -> Recording:
    return recording_from_json(json.loads(json.dumps(recording_to_json(recording))), recording.policy)


@together
@pytest.mark.parametrize("story", STORIES)
def test_every_scenario_reads_back_and_verifies(story):
    told = story().recording
    back = there_and_back(told)
    assert verify(back).verified
    assert there_and_back(back) == back
    assert [record.event for record in back.records] == [record.event for record in told.records]


def test_a_fork_includes_its_base():
    told = Playbook() >> started() >> truncated("one ") >> ended("two")
    base = fork(told.recording, 2, told.policy, "child")
    forked = Recording(told.policy, base, told.recording.records[2:])
    assert there_and_back(forked).base_snapshot == base
    assert "base_snapshot" not in recording_to_json(told.recording)


def test_a_gap_in_the_sequence_is_named():
    written = recording_to_json((Playbook() >> started() >> truncated("one ") >> ended("two")).recording)
    del written["records"][1]
    with pytest.raises(RecordingError, match="record 3 where 2 should be"):
        recording_from_json(written)


@pytest.mark.parametrize(
    "data",
    [{}, {"policy": {}}, {"policy": [], "records": []}, {"policy": {}, "records": [{}]}, {"policy": {}, "records": 7}],
)
def test_invalid_input_is_refused_in_words(data):
    with pytest.raises(RecordingError, match="recording"):
        recording_from_json(data)


def test_a_value_of_another_type_is_named_with_its_place():
    written = recording_to_json((Playbook() >> started() >> ended("one")).recording)
    written["records"][1]["event"]["response"]["text"] = 7
    with pytest.raises(RecordingError, match=r"model_responded whose response\.text is not of the type"):
        recording_from_json(written)


def places(value: Any, *above: Any) -> Iterator[tuple[Any, ...]]:
    """The way to every value inside a JSON value."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inside:
        yield (*above, key)
        yield from places(item, *above, key)


@pytest.mark.parametrize("odd", [None, nightly(-1), nightly(0.5), "x", nightly([1]), {"a": None}])
def test_any_value_in_any_field_is_refused_in_words_or_can_be_evaluated(odd):
    written = recording_to_json((Playbook() >> started() >> truncated("one ") >> ended("two")).recording)
    for *above, last in places(written):
        changed = deepcopy(written)
        holder = changed
        for key in above:
            holder = holder[key]
        holder[last] = odd
        try:
            recording = recording_from_json(changed)
            assert verify(recording).verified in (True, False)
            recording_to_json(what_if(recording, Policy(max_tokens=3)))
        except CoreError:
            continue


def test_functions_are_taken_from_the_policy_that_a_recording_is_read_with():
    told = (Playbook() >> started() >> ended("one")).recording
    like = replace(Policy(), validate=lambda schema, value: [])
    assert recording_from_json(recording_to_json(told), like).policy.validate is like.validate


def test_records_of_a_what_if_keep_their_certainty_and_assumptions():
    told = (
        Playbook() >> started() >> truncated("one two " * 30, tokens=60) >> ended("four five " * 8, tokens=20)
    ).recording
    imagined = what_if(told, replace(told.policy, max_tokens=70))
    assert any(record.assumes for record in imagined.records)
    back = there_and_back(imagined)
    assert [(r.certainty, r.assumes) for r in back.records] == [(r.certainty, r.assumes) for r in imagined.records]
    assert "certainty" not in recording_to_json(told)["records"][0]


def numbers_in(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The places of all numbers, as the keys that lead there."""
    if isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from numbers_in(inner, (*place, key))
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield place


#: Numbers that are no JSON, or that Python cannot print: refused wherever they stand.
NEVER = {"5000": 10**5000, "-5000": -(10**5000), "nan": float("nan"), "inf": float("inf"), "-inf": float("-inf")}
#: Numbers that nothing can count with: refused wherever a number is counted with.
TOO_LARGE = {"400": 10**400, "-400": -(10**400), "308": 1e308}
#: What is kept of these as it was written, to be compared and not to be counted with.
KEPT_AS_WRITTEN = {"command", "context", "observed"}


def with_number(number: Any) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """A recording with this number in place of each of its own, in turn, and the place."""
    told = Playbook(max_seconds=9.5) >> started() >> truncated("one ", tokens=60) >> ended("two")
    written = recording_to_json(told.recording)
    for *way, last in numbers_in(written):
        strange = deepcopy(written)
        held: Any = strange
        for key in way:
            held = held[key]
        held[last] = number
        yield (*way, last), strange


@pytest.mark.parametrize("number", NEVER.values(), ids=NEVER)
def test_a_number_that_is_not_json_is_refused_in_every_field(number):
    for _place, strange in with_number(number):
        with pytest.raises(RecordingError):
            recording_from_json(strange)


@pytest.mark.parametrize("number", TOO_LARGE.values(), ids=TOO_LARGE)
def test_a_number_too_large_to_compute_with_is_refused_where_it_is_used(number):
    kept = 0
    for place, strange in with_number(number):
        if KEPT_AS_WRITTEN.isdisjoint(place):
            with pytest.raises(RecordingError):
                recording_from_json(strange)
            continue
        recording = recording_from_json(strange)
        assert not verify(recording).verified or what_if(recording, recording.policy).final
        kept += 1
    assert kept
