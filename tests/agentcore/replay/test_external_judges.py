"""A recording that is read without the policy that judged it: it verifies, and says what was taken as recorded."""

import json
import sys
from dataclasses import replace
from typing import Any

import pytest

from agentcore import (
    ContinuationDecision,
    ErrorPolicy,
    ErrorType,
    Recording,
    jsonschema_rs_validator,
    recording_from_json,
    recording_to_json,
    verify,
    what_if,
)
from agentcore.criteria.builtin import ResponseContentCheck
from tests.agentcore.machine.stories import STORIES
from tests.agentcore.machine.test_error_context import As, Raises
from tests.agentcore.playbook import Playbook, call, called, ended, error, started, tools_returned, truncated, woke_up
from tests.together import together

SCHEMA = {"type": "object", "required": ["answer"], "properties": {"answer": {"type": "integer"}}}


class Never:
    def decide(self, state: Any) -> ContinuationDecision:
        return ContinuationDecision.FORBID


def read(recording: Recording, **changes: Any) -> Recording:
    """As another program reads it, which knows the JSON alone."""
    written = json.loads(json.dumps(recording_to_json(recording)))
    return recording_from_json({key: value for key, value in {**written, **changes}.items() if value is not None})


def structured() -> Recording:
    """An answer that breaks its schema, asked for again; judged by the ready validator."""
    book = Playbook(envelope_schema=SCHEMA, validate=jsonschema_rs_validator(), revision=1)
    return (book >> started() >> ended('{"answer": "six"}') >> ended('{"answer": 6}')).recording


def guarded() -> Recording:
    """Two criteria: one asks for more once, by words of its own; the other forbids going on after a cut."""
    asks = ResponseContentCheck(lambda text: "more" not in text, "Say more.")
    book = Playbook(criteria=(asks,)) >> started() >> ended("one") >> ended(" more")
    return book.recording


@together
@pytest.mark.parametrize("story", STORIES)
def test_every_scenario_verifies_or_names_what_is_missing(story):
    found = verify(read(story().recording))
    assert found.verified or found.missing


def test_a_policy_without_external_judges_needs_nothing():
    told = (Playbook(validate=None) >> started() >> truncated("one ") >> ended("two")).recording
    assert recording_to_json(told)["outside"] == {}
    assert verify(read(told)) == verify(told)
    assert read(told).missing == ()


def test_a_structured_turn_verifies_with_the_bundled_validator_and_reports_it():
    found = verify(read(structured()))
    assert found.verified
    assert "jsonschema-rs is used in place of the one" in found.missing[0]


def test_without_any_validator_the_error_says_what_to_install(monkeypatch):
    told = structured()
    monkeypatch.setitem(sys.modules, "jsonschema_rs", None)
    found = verify(read(told))
    assert not found.verified
    assert "install jsonschema-rs" in found.missing[0]


def test_recorded_evaluations_of_criteria_are_reused_and_named():
    told = guarded()
    found = verify(read(told))
    assert found.verified
    assert any("ResponseContentCheck" in sentence for sentence in found.missing)
    (never,) = (Playbook(criteria=(Never(),)) >> started() >> truncated("a"),)
    assert verify(read(never.recording)).verified


def test_a_modified_recording_does_not_verify_with_recalled_criteria():
    written = json.loads(json.dumps(recording_to_json(guarded())))
    written["records"][1]["transitions"][-1]["to"] = "complete"
    assert not verify(recording_from_json(written)).verified


@pytest.mark.parametrize("resolver", [As(ErrorType.TIMEOUT), Raises()])
def test_recorded_results_of_a_resolver_are_reused_and_named(resolver):
    book = Playbook(error_policy=ErrorPolicy(on_timeout_error="retry", max_retries=3), resolver=resolver)  # type: ignore[arg-type]
    story = book >> started() >> error()
    told = story >> woke_up() >> ended("after all") if story.snapshot.end is None else story
    found = verify(read(told.recording))
    assert found.verified
    assert any("resolver" in sentence for sentence in found.missing)


def test_given_judges_are_called_and_only_the_others_are_recalled():
    told = guarded()
    written = recording_to_json(told)
    assert recording_from_json(written, told.policy).missing == ()
    without = recording_from_json(written, replace(told.policy, criteria=()))
    assert len(without.missing) == 1
    assert verify(without).verified


def test_a_recording_without_named_judges_is_read_by_its_records():
    for told in (guarded(), structured()):
        assert verify(read(told, outside=None)).verified


def test_a_what_if_that_needs_a_missing_criterion_says_what_to_supply():
    told = read(guarded())
    imagined = what_if(told, replace(told.policy, max_tokens=1))
    reasons = json.dumps([record.transitions for record in imagined.records])
    assert imagined.undecidable or "give it with recording_from_json" in reasons


def test_a_round_trip_changes_nothing():
    for told in (guarded(), structured()):
        assert recording_to_json(read(told)) == recording_to_json(told)


def test_tools_are_also_judged_by_the_bundled_validator():
    book = Playbook(validate=jsonschema_rs_validator()) >> started() >> called(call())
    told = book >> tools_returned() >> ended("done") if book.snapshot.state == "execute_tools" else book
    assert verify(read(told.recording)).verified
