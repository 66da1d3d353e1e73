"""A stored turn whose answer was too much to judge for an earlier release verifies, though it could be judged today."""

from dataclasses import replace
from typing import Any

import pytest

from agentcore import Policy, verify
from agentcore.replay import fold
from agentcore.replay.former_bounds import LOOKED_AT, SUBSCHEMAS, exceeds_former
from agentcore.replay.recorded_run import Past
from agentcore.schema import jsonschema_rs_validator
from agentcore.schema_size import TooMuchWork
from tests.agentcore.playbook import Playbook, ended, started
from tests.agentcore.realistic_schemas import of_union

LARGE = {"type": "object", "enum": [{}] * (SUBSCHEMAS + 1)}
VALIDATE = jsonschema_rs_validator()


def as_before(_schema: Any, _value: Any) -> list[Any]:
    raise TooMuchWork("The schema is too large.")


def stored(schema: Any, validate: Any = as_before) -> Any:
    story = Playbook(policy=Policy(validate=validate), envelope_schema=schema, revision=8) >> started() >> ended("{}")
    return replace(story.recording, policy=replace(story.recording.policy, validate=VALIDATE))


def test_what_an_earlier_release_refused_to_judge_verifies():
    recording = stored(LARGE)
    assert "could not be judged (TooMuchWork)" in recording.records[-1].command["error_message"]
    assert verify(recording).verified
    assert fold(recording)[-1].after.end.error_code == "envelope_invalid"
    assert Past.of(recording).after[-1][1].end.error_code == "envelope_invalid"


def test_it_is_judged_today():
    story = Playbook(policy=Policy(validate=VALIDATE), envelope_schema=LARGE, revision=8) >> started() >> ended("{}")
    assert story.end.status == "completed"
    assert verify(story.recording).verified


def test_a_history_that_says_so_of_a_small_schema_does_not_verify():
    assert not verify(stored({"type": "object"})).verified


@pytest.mark.parametrize("parts", [400, 600])
def test_pairs_beyond_the_former_bound_are_known(parts: int):
    schema, value = of_union(50, parts)
    assert exceeds_former(schema, value) is (parts == 600), LOOKED_AT
