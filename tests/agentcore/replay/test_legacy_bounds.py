"""A stored turn whose answer was too much to judge for an earlier release verifies, though it could be judged today."""

from dataclasses import replace
from typing import Any

import pytest

from agentcore import ErrorPolicy, NormalizedStopReason, Policy, ToolSpec, verify
from agentcore.replay import fold
from agentcore.replay.legacy_bounds import LOOKED_AT, SUBSCHEMAS, exceeds_former
from agentcore.replay.recorded_run import Past
from agentcore.schema import jsonschema_rs_validator
from agentcore.schema_size import TooMuchWork
from tests.agentcore.playbook import Playbook, call, called, ended, responded, said, started, tools_returned
from tests.agentcore.realistic_schemas import of_union

LARGE = {"type": "object", "enum": [{}] * (SUBSCHEMAS + 1)}
VALIDATE = jsonschema_rs_validator()


def as_before(_schema: Any, _value: Any) -> list[Any]:
    raise TooMuchWork("The schema is too large.")


def stored(schema: Any, validate: Any = as_before) -> Any:
    story = Playbook(policy=Policy(validate=validate), envelope_schema=schema, revision=8) >> started() >> ended("{}")
    return replace(story.recording, policy=replace(story.recording.policy, validate=VALIDATE))


def test_a_case_that_an_earlier_release_refused_to_judge_verifies():
    recording = stored(LARGE)
    assert "could not be judged (TooMuchWork)" in recording.records[-1].command["error_message"]
    assert verify(recording).verified
    assert fold(recording)[-1].after.end.error_code == "envelope_invalid"
    assert Past.of(recording).after[-1][1].end.error_code == "envelope_invalid"


def test_a_large_schema_is_judged_by_this_release():
    story = Playbook(policy=Policy(validate=VALIDATE), envelope_schema=LARGE, revision=8) >> started() >> ended("{}")
    assert story.end.status == "completed"
    assert verify(story.recording).verified


def test_a_history_that_claims_a_small_schema_was_too_large_does_not_verify():
    assert not verify(stored({"type": "object"})).verified


@pytest.mark.parametrize("parts", [400, 600])
def test_pairs_beyond_the_former_bound_are_listed(parts: int):
    schema, value = of_union(50, parts)
    assert exceeds_former(schema, value) is (parts == 600), LOOKED_AT


OF_LARGE = ToolSpec("note", "Notes.", {**LARGE, "enum": [*LARGE["enum"], {"text": "x"}]})


def of_calls(event: Any, **rules: Any) -> Any:
    """A story of one call of `note`, as an earlier release stored it."""
    policy = Policy(validate=as_before, **rules)
    story = Playbook(policy=policy, tools=(OF_LARGE,), revision=8) >> started() >> event
    return story, lambda told: replace(told.recording, policy=replace(told.recording.policy, validate=VALIDATE))


def test_a_call_whose_arguments_were_too_large_to_judge_verifies():
    story, today = of_calls(called(call("note", text="x")), error_policy=ErrorPolicy.ignore_tool_errors())
    told = story >> tools_returned() >> ended("Sorry.")
    assert not story.command.calls
    for stored in (story, told):
        assert verify(today(stored)).verified
    assert fold(today(story))[-1].after.rejected
    assert Past.of(today(story)).after[-1][1].rejected


def test_a_truncated_call_whose_arguments_were_too_large_to_judge_verifies():
    cut = said("", call("note", text="x"), reason=NormalizedStopReason.MAX_TOKENS)
    story, today = of_calls(responded(cut))
    assert "broken_tool_call" in story.triggers
    assert verify(today(story)).verified


def test_a_large_call_that_runs_today_verifies():
    story = Playbook(policy=Policy(validate=VALIDATE), tools=(OF_LARGE,), revision=8) >> started()
    story = story >> called(call("note", text="x"), call("note", "b", text="y"))
    assert [each.id for each in story.command.calls] == ["a"], "“y” does not fit"
    assert verify(story.recording).verified
    assert "do not fit" in fold(story.recording)[-1].after.rejected[0].content


def test_a_small_call_that_was_recorded_as_not_run_does_not_verify():
    story, today = of_calls(called(call("note", text="x")))
    small = replace(OF_LARGE, schema={"type": "object"})
    recording = today(story)
    begun = recording.records[0]
    setup = replace(begun.event.setup, tools=(small,))
    records = (replace(begun, event=replace(begun.event, setup=setup)), *recording.records[1:])
    assert not verify(replace(recording, records=records)).verified
