"""RFC 0033 §D: a refusal is not retried, and a recovery costs nothing."""

import pytest

from agentcore import NormalizedStopReason, StopReason, TurnStatus
from agentcore.events import Event
from tests.agentcore.playbook import blocked, ended, error, finish, truncated
from tests.spec.rfc_0033.envelopes import CUT, INVALID, VALID, asked, events, names, requests
from tests.spec.rules import rule

D = "rfc-0033 §D"


@rule(D, "A refusal is not retried")
@pytest.mark.parametrize("answer", [blocked(), blocked(VALID), error(stop_reason=NormalizedStopReason.SAFETY_BLOCKED)])
def test_a_refusal_is_not_retried(answer: Event) -> None:
    story = asked(schema_rounds=9) >> answer
    assert len(requests(story)) == 1
    assert story.end.status is TurnStatus.FAILED


@rule(D, "The envelope criterion forbids retrying a refusal, even if rounds are left")
def test_the_criterion_forbids_after_a_refusal() -> None:
    outcome = (asked(schema_rounds=9) >> blocked()).snapshot.outcome
    assert outcome is not None
    assert outcome.get_forbidding_criterion() == "EnvelopeCriterion"


@rule(D, "A refusal emits a refusal event and no retry event")
def test_a_refusal_is_reported_as_one() -> None:
    story = asked() >> blocked("I will not.")
    assert names(story) == ["envelope.refusal"]


@rule(D, "A refusal fails with envelope_refusal")
def test_a_refusal_has_its_error_code() -> None:
    code = "envelope_refusal"
    assert asked() >> blocked() << finish("", StopReason.FINISH_REASON, TurnStatus.FAILED, code, error_code=code)


@rule(D, "A refusal ends a turn even during its retries")
def test_a_refusal_after_a_truncation_ends_the_turn() -> None:
    story = asked() >> truncated(CUT) >> blocked()
    assert story << finish("", error_code="envelope_refusal")
    assert names(story)[-1] == "envelope.refusal"


RECOVERED = {
    "markdown-fence": f"```json\n{VALID}\n```",
    "brace-walker": f"Here you are: {VALID} Anything else?",
}


@rule(D, "A recovery uses no retry and emits no retry event")
@pytest.mark.parametrize("path", RECOVERED)
def test_a_recovery_uses_no_retry(path: str) -> None:
    story = asked(schema_rounds=0) >> ended(RECOVERED[path])
    assert story << finish(status=TurnStatus.COMPLETED, envelope={"steps": ["one"]})
    assert [(name, fields["path"]) for name, fields in events(story)] == [("envelope.recovery.applied", path)]


@rule(D, "A recovered payload that does not validate is a violation")
def test_a_recovered_payload_that_does_not_validate_is_a_violation() -> None:
    story = asked() >> ended(f"```json\n{INVALID}\n```")
    assert names(story) == ["envelope.recovery.applied", "envelope.retry.attempted"]
    assert events(story)[1][1]["reason"] == "schema-violation"


@rule(D, "A payload that needs no recovery emits no recovery event")
def test_a_payload_read_directly_was_not_recovered() -> None:
    assert names(asked() >> ended(f"  {VALID}\n")) == []
