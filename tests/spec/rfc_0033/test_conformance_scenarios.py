"""RFC 0033, Conformance: the two scenarios, played in the core. Over HTTP: tests/dashboard/conformance."""

import pytest

from agentcore import TurnStatus
from tests.agentcore.playbook import Playbook, ended, finish, truncated
from tests.spec.rfc_0033.envelopes import CUT, VALID, asked, events, names, requests
from tests.spec.rules import rule

SCENARIO = "rfc-0033 §Conformance"
MISSING_FIELD = "{}"


@pytest.fixture
def cut() -> Playbook:
    return asked(system_prompt="Be terse.") >> truncated(CUT, tokens=100)


@pytest.fixture
def wrong() -> Playbook:
    return asked(system_prompt="Be terse.") >> ended(MISSING_FIELD)


@rule(SCENARIO, "Truncation path: the truncated event is emitted, and the retry event has its reason")
def test_the_truncation_path_reports_truncation(cut: Playbook) -> None:
    assert names(cut) == ["envelope.truncated", "envelope.retry.attempted"]
    assert events(cut)[1][1]["reason"] == "truncation"


@rule(SCENARIO, "Truncation path: the retry has a larger budget and no corrective fragment")
def test_the_truncation_path_requests_more_and_adds_no_text(cut: Playbook) -> None:
    first, retry = requests(cut)
    assert retry.max_tokens > first.max_tokens
    assert retry.system_prompt == first.system_prompt
    assert cut >> ended(VALID) << finish(status=TurnStatus.COMPLETED, envelope={"steps": ["one"]})


@rule(SCENARIO, "Violation path: no truncated event is emitted, and the retry event has its reason")
def test_the_violation_path_reports_a_violation(wrong: Playbook) -> None:
    assert names(wrong) == ["envelope.retry.attempted"]
    assert events(wrong)[0][1]["reason"] == "schema-violation"


@rule(SCENARIO, "Violation path: the retry has the same budget and a corrective fragment")
def test_the_violation_path_names_the_fault_and_requests_no_more(wrong: Playbook) -> None:
    first, retry = requests(wrong)
    assert retry.max_tokens == first.max_tokens
    assert retry.system_prompt.startswith(first.system_prompt)
    assert "required" in retry.system_prompt
    assert wrong >> ended(VALID) << finish(status=TurnStatus.COMPLETED, envelope={"steps": ["one"]})


@rule(SCENARIO, "Cap exhaustion: a provider that always truncates is called at most maxRetryAttempts times")
@pytest.mark.parametrize("rounds", [0, 1, 2, 3, 7])
def test_a_provider_that_always_truncates_is_called_a_limited_number_of_times(rounds: int) -> None:
    attempts = rounds + 1
    story = asked(schema_rounds=rounds)
    for _ in range(attempts):
        story = story >> truncated(CUT)
    assert len(requests(story)) == attempts
    assert names(story)[-2:] == ["envelope.retry.exhausted", "cap.breached"]
    assert events(story)[-2][1]["finalReason"] == "truncation"
    assert events(story)[-1][1]["kind"] == "schema"
    assert story << finish("", status=TurnStatus.FAILED, error_code="envelope_truncation_unrecoverable")
