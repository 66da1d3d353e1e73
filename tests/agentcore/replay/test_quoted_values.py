"""What a reason quotes is a value of its evaluation, by rules of revision 10; earlier records are read as they are."""

from typing import Any

import pytest

from agentcore import ErrorPolicy, jsonschema_rs_validator, verify
from agentcore.policy import REVISION
from agentcore.reason_text import evaluation_text
from agentcore.replay.legacy_sentences import unresolved_in, violations_in
from tests.agentcore.machine.test_error_context import GivesNothing, Raises
from tests.agentcore.playbook import Playbook, ended, error, started
from tests.agentcore.replay.test_external_judges import SCHEMA, read

OLD = (None, 1, 9)


def said_by(book: Playbook, criterion: str) -> list[dict[str, Any]]:
    """What this criterion said, as the turn's records hold it."""
    outcomes = [moved.get("outcome") for record in book.records for moved in record.transitions]
    return [said for one in outcomes if one for said in one["evaluations"] if said["criterion"] == criterion]


def unresolved(resolver: Any, revision: int | None) -> Playbook:
    book = Playbook(error_policy=ErrorPolicy.retry_all(), resolver=resolver, revision=revision)
    return book >> started() >> error()


def violated(revision: int | None, rounds: int = 1) -> Playbook:
    validate = jsonschema_rs_validator()
    book = Playbook(envelope_schema=SCHEMA, validate=validate, revision=revision, schema_rounds=rounds)
    return book >> started() >> ended('{"answer": "six"}')


@pytest.mark.parametrize("resolver", [Raises(), GivesNothing()])
def test_a_failed_resolver_is_a_value_of_the_evaluation(resolver: object):
    story = unresolved(resolver, REVISION)
    (said,) = said_by(story, "ErrorPolicyCriterion")
    assert story.snapshot.failure is not None
    assert said["context"]["unresolved"] == said["reason"] == story.snapshot.failure.unresolved
    assert evaluation_text(said, None) == said["reason"]


@pytest.mark.parametrize("rounds", [0, 1])
def test_a_schema_violation_is_a_value_of_the_evaluation(rounds: int):
    (said,) = [one for one in said_by(violated(REVISION, rounds), "EnvelopeCriterion") if "fault" in one["context"]]
    assert said["context"]["violations"] == "at /answer: the type must be integer (schema /properties/answer/type)"


def test_only_failed_resolvers_and_violations_add_a_value():
    story = Playbook(envelope_schema=SCHEMA, error_policy=ErrorPolicy.retry_all()) >> started() >> error()
    named = ("ErrorPolicyCriterion", "EnvelopeCriterion")
    contexts = [said["context"] for name in named for said in said_by(story, name)]
    assert contexts
    assert not any({"unresolved", "violations"} & context.keys() for context in contexts)


@pytest.mark.parametrize("revision", [*OLD, REVISION])
@pytest.mark.parametrize("made", [lambda revision: unresolved(Raises(), revision), violated])
def test_records_of_old_and_new_rules_verify_without_what_judged_them(made: Any, revision: int | None):
    found = verify(read(made(revision).recording))
    assert found.verified, found


@pytest.mark.parametrize("revision", OLD)
def test_records_of_old_rules_are_as_they_were_and_their_sentence_is_read(revision: int | None):
    (said,) = said_by(unresolved(Raises(), revision), "ErrorPolicyCriterion")
    assert "unresolved" not in said["context"]
    assert unresolved_in(said, revision) == said["reason"]
    (asked,) = [one for one in said_by(violated(revision), "EnvelopeCriterion") if "fault" in one["context"]]
    assert "violations" not in asked["context"]
    assert violations_in(asked, revision) == asked["reason"].partition("; ")[0]


def test_no_sentence_of_a_new_record_is_read():
    (said,) = said_by(unresolved(Raises(), REVISION), "ErrorPolicyCriterion")
    assert unresolved_in({**said, "reason": "Other words"}, REVISION) == said["context"]["unresolved"]
    assert unresolved_in({**said, "context": {}}, REVISION) == ""
    (asked,) = [one for one in said_by(violated(REVISION), "EnvelopeCriterion") if "fault" in one["context"]]
    assert violations_in({**asked, "reason": "Other; words"}, REVISION) == asked["context"]["violations"]
