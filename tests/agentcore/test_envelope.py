"""Reading a structured answer by a policy's rules: which recoveries are tried, in which order, on what was not cut."""

import itertools
import re

import pytest

from agentcore import AttemptKind, StopReason, TurnStatus, verify
from agentcore.envelope import read_payload
from agentcore.policy import EnvelopeRules, RecoveryPath
from tests.agentcore.playbook import Playbook, call_model, ended, finish, started, truncated, unknown
from tests.together import together

DIRECT, FENCE, WALKER, REPAIR = RecoveryPath
SCHEMA = {"type": "object", "required": ["answer"]}
FENCED = 'Sure:\n```json\n{"answer": 42}\n```'
IN_PROSE = 'It is {"answer": 42}, I think.'
BROKEN = 'So: {"answer": 42,}'
PATHS = [paths for count in range(4) for paths in itertools.combinations((FENCE, WALKER, REPAIR), count)]


def without_commas(text):
    """A repairer that knows one fault: a comma before a closing bracket."""
    return re.sub(r",\s*([}\]])", r"\1", text)


def asked(*recovery, **more):
    rules = EnvelopeRules(recovery)
    return Playbook(envelope_schema=SCHEMA, max_tokens=100, envelope=rules, repair=without_commas, **more) >> started()


def recoveries(story):
    return [(fields["path"], fields["byteOffset"]) for fields in story.observed("envelope.recovery.applied")]


@together
@pytest.mark.parametrize("paths", PATHS)
@pytest.mark.parametrize(
    ("text", "found_by"),
    [
        ('{"answer": 42}', [DIRECT]),
        (FENCED, [FENCE, WALKER, REPAIR]),
        (IN_PROSE, [WALKER]),
        (BROKEN, [REPAIR]),
        ('```\n{"answer": 42,}\n```', [REPAIR]),
        ("no JSON at all", []),
    ],
)
def test_an_answer_is_read_by_the_first_enabled_path_that_finds_it(text, found_by, paths):
    payload = read_payload(text, paths, without_commas)
    path = next((path for path in found_by if path is DIRECT or path in paths), None)
    assert (payload and payload.path) == path
    assert payload is None or payload.value == {"answer": 42}


def test_repair_is_off_until_a_policy_turns_it_on():
    assert EnvelopeRules().recovery == (FENCE, WALKER)
    assert read_payload(BROKEN, repair=without_commas) is None


def test_without_a_repairer_nothing_is_repaired():
    assert read_payload(BROKEN, (REPAIR,)) is None


def test_a_repaired_answer_completes_without_a_retry_and_is_observed_with_its_start():
    story = asked(FENCE, REPAIR) >> ended("näh: " + BROKEN)
    assert story << finish(
        "näh: " + BROKEN, StopReason.COMPLETED, TurnStatus.COMPLETED, "completed", envelope={"answer": 42}
    )
    assert recoveries(story) == [("jsonrepair", 10)]
    assert story.snapshot.spent.envelope_retries == 0


def test_a_repaired_answer_that_still_does_not_validate_is_a_violation():
    story = asked(REPAIR) >> ended('{"question": 6,}') << call_model(AttemptKind.ENVELOPE_RETRY, max_tokens=100)
    assert recoveries(story) == [("jsonrepair", 0)]
    assert story.observed("envelope.retry.attempted")[0]["reason"] == "schema-violation"


@pytest.mark.parametrize("cut", [truncated(BROKEN), unknown("stop_sequence", BROKEN), unknown("mystery", BROKEN)])
def test_a_truncated_answer_is_never_repaired(cut):
    story = asked(FENCE, WALKER, REPAIR) >> cut << call_model(AttemptKind.ENVELOPE_RETRY, max_tokens=200)
    assert recoveries(story) == []
    assert story.observed("envelope.retry.attempted")[0]["reason"] == "truncation"


@pytest.mark.parametrize(("recovery", "text"), [((), FENCED), ((WALKER,), "```\n[1]\n```"), ((FENCE,), IN_PROSE)])
def test_an_answer_that_no_path_can_read_is_a_parse_error(recovery, text):
    story = asked(*recovery) >> ended(text) << call_model(AttemptKind.ENVELOPE_RETRY)
    assert story.observed("envelope.retry.attempted")[0]["reason"] == "parse-error"


@pytest.mark.parametrize("prose", ["see [1] and [2,]", "none", "", "a, b, c"])
def test_brackets_in_prose_are_not_read_as_a_list(prose):
    assert read_payload(prose, (REPAIR,), without_commas) is None


def test_a_list_at_the_start_of_a_line_is_repaired():
    payload = read_payload("Here:\n [1, 2,]", (REPAIR,), without_commas)
    assert payload is not None
    assert (payload.value, payload.byte_offset) == ([1, 2], 6)


def test_the_rules_are_stored_with_the_turn_and_it_verifies():
    for recovery in PATHS:
        assert verify((asked(*recovery) >> ended(BROKEN)).stored()).verified


HALF = '{"answer": "\ud83d"}'


@pytest.mark.parametrize("text", [HALF, f"```json\n{HALF}\n```", f"So: {HALF}"])
def test_an_incomplete_character_is_invalid_json_and_the_turn_continues(text):
    story = asked(FENCE, WALKER, REPAIR) >> ended(text) << call_model(AttemptKind.ENVELOPE_RETRY, max_tokens=100)
    assert story.observed("envelope.retry.attempted")[0]["reason"] == "parse-error"
