"""Both conformance scenarios of RFC 0033, and the refusal of RFC 0032, as a program outside plays them.

All of it is HTTP: the host is a `manage.py up` of its own with WHYSTOP_TEST_SEAM=1.
"""

import json
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from agentcore.providers import PROVIDERS
from dashboard.platform.postgres.processes import end_all
from tests.dashboard.runtime.conftest import Up
from tests.first_start import environment
from tests.nightly import nightly

from .host import TOKEN, Host, Played

SCHEMA = {
    "type": "object",
    "properties": {"title": {"type": "string"}, "points": {"type": "array", "items": {"type": "string"}}},
    "required": ["title", "points"],
    "additionalProperties": False,
}
ENVELOPE = {"title": "Locks", "points": ["A chamber fills.", "A gate opens.", "A boat goes on, higher than it came."]}
SYSTEM = "You report in few words."
AGENT = {"system_prompt": SYSTEM, "envelope_schema": SCHEMA}
#: One dialect of each way to force JSON; the others at night, and their codecs have tests of their own.
EACH_CHANGE = {"anthropic", "gemini", "openai"}
SECRET = "The heron of the ninth lock forbids it."


@pytest.fixture(scope="module")
def host(started_once: Callable[[Path], None]) -> Iterator[Host]:
    folder = Path(tempfile.mkdtemp(prefix="why-"))
    folder.chmod(0o755)
    started_once(folder / "store")
    more = {"WHYSTOP_TEST_SEAM": "1", "WHYSTOP_BOOTSTRAP_TOKEN": TOKEN, "WHYSTOP_SIM_TOKEN_MS": "0"}
    up = Up({**environment(folder / "store"), **more})
    try:
        yield Host(up.address())
        assert up.stop()[0] == 0
    finally:
        if up.process.poll() is None:
            up.kill()
        for data in folder.rglob("data"):
            end_all(data)
        shutil.rmtree(folder)


@pytest.fixture(scope="module")
def promised(host: Host) -> dict[str, Any]:
    reliability: dict[str, Any] = host.ask("GET", "/.well-known/openwop")["capabilities"]["envelopes"]["reliability"]
    return reliability


@pytest.fixture(params=[name if name in EACH_CHANGE else nightly(name) for name in sorted(PROVIDERS)])
def dialect(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def asked_alike(played: Played) -> bool:
    """Whether every call had the first one's system prompt and messages."""
    return len({json.dumps([call["system_prompt"], call["messages"]]) for call in played.calls}) == 1


def test_a_truncated_envelope_gets_a_larger_budget_and_no_correction(
    host: Host, promised: dict[str, Any], dialect: str
) -> None:
    script = {"mockTruncationSequence": [9], "envelope": ENVELOPE}
    played = host.play(dialect, "distinguishes-truncation", script, **AGENT)
    assert (played.turn["status"], played.turn["envelope"]) == ("completed", ENVELOPE), played.turn["verdict"]
    assert played.types == ["envelope.truncated", "envelope.retry.attempted"]
    retry = played.only("envelope.retry.attempted")
    assert (retry["attempt"], retry["reason"]) == (2, "truncation")
    first, second = (call["max_tokens"] for call in played.calls)
    assert second == first * promised["completion"]["truncationBudgetMultiplier"]
    assert asked_alike(played)
    assert played.received["lastReceivedMaxTokens"] == second
    assert SYSTEM in played.received["lastReceivedSystemPrompt"]
    assert all(call["stream"] for call in played.calls)


def test_a_violation_gets_a_correction_and_the_same_budget(host: Host, dialect: str) -> None:
    script = {"mockSchemaViolationSequence": [True], "envelope": ENVELOPE, "violation": {"title": SECRET, "points": 3}}
    played = host.play(dialect, "distinguishes-violation", script, **AGENT)
    assert (played.turn["status"], played.turn["envelope"]) == ("completed", ENVELOPE), played.turn["verdict"]
    assert played.types == ["envelope.retry.attempted"]
    assert played.only("envelope.retry.attempted")["reason"] == "schema-violation"
    first, second = played.calls
    assert first["max_tokens"] == second["max_tokens"]
    assert second["system_prompt"].startswith(first["system_prompt"])
    corrective = second["system_prompt"].removeprefix(first["system_prompt"])
    assert "/properties/points/type" in corrective
    assert SECRET not in json.dumps(second)


def test_a_budget_that_is_too_small_is_doubled_until_it_suffices(host: Host, dialect: str) -> None:
    played = host.play(
        dialect, "real-truncation", {"answers": [{"text": json.dumps(ENVELOPE)}]}, max_tokens=16, **AGENT
    )
    assert (played.turn["status"], played.turn["envelope"]) == ("completed", ENVELOPE), played.turn["verdict"]
    assert [call["max_tokens"] for call in played.calls] == [16, 32, 64]


def test_endless_truncation_is_bound_by_the_promised_number_of_calls(
    host: Host, promised: dict[str, Any], dialect: str
) -> None:
    cuts = [9] * (promised["maxRetryAttempts"] + 1)
    played = host.play(dialect, "cap-exhaustion", {"mockTruncationSequence": cuts, "envelope": ENVELOPE}, **AGENT)
    assert played.received["total"] == len(played.calls) == promised["maxRetryAttempts"]
    assert (played.turn["status"], played.turn["error_code"]) == ("failed", "envelope_truncation_unrecoverable")
    assert played.types[-2:] == ["envelope.retry.exhausted", "cap.breached"]
    exhausted, breached = played.only("envelope.retry.exhausted"), played.only("cap.breached")
    assert (exhausted["finalReason"], exhausted["totalAttempts"]) == ("truncation", promised["maxRetryAttempts"])
    assert (breached["kind"], breached["limit"]) == ("schema", promised["maxRetryAttempts"] - 1)
    assert played.types.count("envelope.truncated") == promised["maxRetryAttempts"]
    budgets = [call["max_tokens"] for call in played.calls]
    assert budgets == sorted(set(budgets))
    assert asked_alike(played)


def test_endless_schema_violations_end_after_the_promised_attempts(
    host: Host, promised: dict[str, Any], dialect: str
) -> None:
    wrong = {"mockSchemaViolationSequence": [True] * 9, "envelope": ENVELOPE}
    played = host.play(dialect, "violation-exhaustion", wrong, **AGENT)
    assert played.received["total"] == promised["maxRetryAttempts"]
    assert (played.turn["status"], played.turn["error_code"]) == ("failed", "envelope_invalid")
    assert played.only("envelope.retry.exhausted")["finalReason"] == "schema-violation"
    assert "envelope.truncated" not in played.types
    assert len({call["max_tokens"] for call in played.calls}) == 1


def test_a_refusal_is_not_retried_and_its_text_appears_in_no_message(host: Host, dialect: str) -> None:
    script = {"answers": [{"refusal": SECRET}, {"text": json.dumps(ENVELOPE)}]}
    played = host.play(dialect, "refusal", script, **AGENT)
    assert played.received["total"] == 1
    assert played.types == ["envelope.refusal"]
    assert played.only("envelope.refusal").get("refusalText") in (None, "[redacted]")
    assert (played.turn["status"], played.turn["error_code"]) == ("failed", "envelope_refusal")
    assert SECRET not in played.told()


def test_every_event_is_documented_and_names_the_turn(host: Host, promised: dict[str, Any]) -> None:
    script = {"mockTruncationSequence": [9, 0], "mockSchemaViolationSequence": [False, True], "envelope": ENVELOPE}
    played = host.play("openai", "both", script, **AGENT)
    assert (played.turn["status"], played.received["total"]) == ("completed", 3)
    assert set(played.types) <= set(promised["events"])
    assert {one["nodeId"] for one in played.observed} == {played.turn["id"]}
    reasons = [one["reason"] for one in played.observed if one["type"] == "envelope.retry.attempted"]
    assert reasons == ["truncation", "schema-violation"]
