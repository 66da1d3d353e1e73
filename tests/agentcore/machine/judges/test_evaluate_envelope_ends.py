"""Every way in which an envelope turn ends, and the events that its error code is told with (rfc-0033 §F)."""

import pytest

from agentcore import AttemptKind, ErrorPolicy, NormalizedStopReason, StopReason, TurnStatus
from agentcore.evaluation import ContinuationDecision, ContinuationEvaluation
from agentcore.policy import Limits, Policy
from tests.agentcore.playbook import (
    Playbook,
    blocked,
    call,
    call_model,
    called,
    cancelled,
    cut_call,
    ended,
    error,
    finish,
    lost,
    paused,
    started,
    stopped,
    tools_returned,
    truncated,
)
from tests.together import together

R = NormalizedStopReason
SCHEMA = {"type": "object", "required": ["answer"]}
VALID = '{"answer": 42}'
ONCE = ErrorPolicy.retry_all()
CUT_BY_ERROR = error(stop_reason=R.MAX_TOKENS, kind="invalid_request", retryable=False)

TRUNCATED = ["envelope.retry.exhausted truncation", "cap.breached schema"]
INVALID = ["envelope.retry.exhausted schema-violation", "cap.breached schema"]
NO_JSON = ["envelope.retry.exhausted parse-error", "cap.breached schema"]
UNREADABLE = ["envelope.retry.exhausted unknown", "cap.breached schema"]
REFUSED = ["envelope.refusal"]


class Forbids:
    """Forbids to go on, whatever it is."""

    def explain(self, state):
        return ContinuationEvaluation("Forbids", ContinuationDecision.FORBID, "no more")


class Breaks:
    def explain(self, state):
        raise RuntimeError("broken")


def asked(**more):
    return Playbook(envelope_schema=SCHEMA, max_tokens=100, revision=1, **more) >> started()


def cannot(schema, value):
    raise ValueError("this validator is broken")


def terminal_events(story):
    told = [(o.type, o.fields) for o in story.step.observed]
    words = {"envelope.retry.exhausted": "finalReason", "cap.breached": "kind", "envelope.refusal": None}
    return [f"{name} {fields[words[name]]}" if words[name] else name for name, fields in told if name in words]


ENDS = {
    "valid": (lambda: asked() >> ended(VALID), None, []),
    "no rounds, cut": (lambda: asked(schema_rounds=0) >> truncated("{"), "truncation", TRUNCATED),
    "no rounds, invalid": (lambda: asked(schema_rounds=0) >> ended("{}"), "invalid", INVALID),
    "no rounds, no JSON": (lambda: asked(schema_rounds=0) >> ended("Sorry"), "invalid", NO_JSON),
    "rounds used, cut": (lambda: asked(schema_rounds=1) >> truncated("{") >> truncated("{"), "truncation", TRUNCATED),
    "rounds used, cut by error": (
        lambda: asked(schema_rounds=1) >> CUT_BY_ERROR >> CUT_BY_ERROR, "truncation", TRUNCATED,
    ),
    "at the ceiling": (lambda: asked(ceiling=100) >> truncated("{"), "truncation", TRUNCATED),
    "clamped": (lambda: asked(ceiling=150) >> truncated("{") >> truncated("{"), "truncation", TRUNCATED),
    "context full": (lambda: asked() >> stopped(R.CONTEXT_WINDOW_EXCEEDED, "length", "{"), "truncation", TRUNCATED),
    "all tokens, cut": (lambda: asked(max_total_tokens=10) >> truncated("{"), "truncation", TRUNCATED),
    "all tokens, invalid": (lambda: asked(max_total_tokens=10) >> ended("{}"), "invalid", INVALID),
    "all tokens, no JSON": (lambda: asked(max_total_tokens=10) >> ended("Sorry"), "invalid", NO_JSON),
    "all tokens, later": (lambda: asked(max_total_tokens=25) >> ended("{}") >> truncated("{"), "truncation", TRUNCATED),
    "seconds": (lambda: asked(max_seconds=0.5) >> truncated("{"), "truncation", TRUNCATED),
    "seconds, invalid": (lambda: asked(max_seconds=0.5) >> ended("{}"), "invalid", INVALID),
    "criterion": (lambda: asked(criteria=(Forbids(),)) >> truncated("{"), "truncation", TRUNCATED),
    "criterion that raises": (lambda: asked(criteria=(Breaks(),)) >> ended("{}"), "invalid", INVALID),
    "finish reason": (lambda: asked(finish_reasons=(R.MAX_TOKENS,)) >> truncated("{"), "truncation", TRUNCATED),
    "validator that raises": (lambda: asked(policy=Policy(validate=cannot)) >> ended("{}"), "invalid", UNREADABLE),
    "refused": (lambda: asked() >> blocked("no"), "refusal", REFUSED),
    "refused by error": (lambda: asked() >> error(stop_reason=R.SAFETY_BLOCKED), "refusal", REFUSED),
    "character cap": (lambda: asked(max_total_output_chars=3) >> ended(VALID), None, []),
    "error": (lambda: asked() >> error(), "error", []),
    "error after a round": (lambda: asked() >> ended("{}") >> error(), "error", []),
    "steps": (lambda: asked(max_steps=1) >> called(call()), None, []),
    "repairs": (lambda: asked(max_tool_repair_attempts=0) >> cut_call(), None, []),
    "pauses": (lambda: asked(max_continuations=0) >> paused("{"), None, []),
    "after tools": (
        lambda: asked(schema_rounds=0) >> called(call()) >> tools_returned() >> ended("{}"), "invalid", INVALID,
    ),
    "cancelled": (lambda: asked() >> cancelled(), None, []),
    "lost": (lambda: asked() >> ended("{}") >> lost(), "lost", []),
}  # fmt: skip
CODES = {
    "truncation": "envelope_truncation_unrecoverable",
    "invalid": "envelope_invalid",
    "refusal": "envelope_refusal",
    "error": "model",
    "lost": "interrupted",
    None: None,
}


@together
@pytest.mark.parametrize("way", ENDS)
def test_an_ending_reports_the_events_paired_with_its_error_code(way):
    story, code, events = ENDS[way]
    story = story()
    assert story << finish(error_code=CODES[code])
    assert terminal_events(story) == events


def test_a_turn_recorded_before_rules_were_numbered_reports_only_the_events_of_its_rounds():
    story = (
        Playbook(envelope_schema=SCHEMA, max_tokens=100, max_total_tokens=10, revision=None)
        >> started()
        >> truncated("{")
    )
    assert story << finish("", StopReason.TOKEN_LIMIT, TurnStatus.FAILED, "forbidden")
    assert terminal_events(story) == []


def test_a_turn_ended_by_a_limit_still_reports_that_limit():
    story = asked(max_total_tokens=10) >> truncated("{")
    assert story << finish("", StopReason.TOKEN_LIMIT, TurnStatus.FAILED, "forbidden")
    exhausted = story.observed("envelope.retry.exhausted")[0]
    assert exhausted == {
        "nodeId": "turn",
        "totalAttempts": 1,
        "finalReason": "truncation",
        "finalError": "the answer was cut before its end",
    }
    assert story.observed("cap.breached") == [{"nodeId": "turn", "kind": "schema", "limit": 10, "observed": 20}]


#: What ends the turn, the limit that this is, and what met it.
BREACHES = {
    "rounds": (lambda: asked(schema_rounds=1) >> ended("{}") >> ended("{}"), 1, 2),
    "all tokens": (lambda: asked(max_total_tokens=25) >> ended("{}") >> truncated("{"), 25, 35),
    "seconds": (lambda: asked(max_seconds=0.5) >> truncated("{"), 0.5, 1.0),
    "at the ceiling": (lambda: asked(ceiling=100) >> truncated("{"), 100, 200),
    "clamped": (lambda: asked(ceiling=150) >> truncated("{") >> truncated("{"), 150, 300),
    "context full": (lambda: asked() >> stopped(R.CONTEXT_WINDOW_EXCEEDED, "length", "{"), 0, 1),
    "criterion": (lambda: asked(criteria=(Forbids(),)) >> truncated("{"), 0, 1),
}


@together
@pytest.mark.parametrize("way", BREACHES)
def test_a_breach_reports_the_limit_that_was_hit(way):
    story, limit, observed = BREACHES[way]
    told = story().observed("cap.breached")
    assert [(one["kind"], one["limit"], one["observed"]) for one in told] == [("schema", limit, observed)]


def test_an_error_that_means_truncation_counts_as_a_truncation_round():
    story = asked() >> CUT_BY_ERROR
    assert story << call_model(AttemptKind.ENVELOPE_RETRY, max_tokens=200, continuation=None, system_prompt="")
    assert story.command.request.messages == story.steps[0].command.request.messages
    assert story.snapshot.spent.envelope_retries == 1
    assert story.snapshot.spent.continuations == 0
    cut = story.observed("envelope.truncated")[0]
    assert (cut["stopReason"], cut["partialPayloadAvailable"]) == ("max_tokens", False)
    retried = story.observed("envelope.retry.attempted")[0]
    assert (retried["attempt"], retried["reason"]) == (2, "truncation")
    assert story >> ended(VALID) << finish(VALID, envelope={"answer": 42})


def test_partial_output_of_a_failed_envelope_call_is_reported_and_never_sent_back():
    story = asked() >> error(stop_reason=R.MAX_TOKENS, partial='{"answer"')
    assert story.observed("envelope.truncated")[0]["partialPayloadAvailable"] is True
    assert story << call_model(AttemptKind.ENVELOPE_RETRY, continuation=None)


def test_a_repair_truncated_by_an_error_is_also_a_truncation_round():
    story = asked() >> cut_call("text ") >> CUT_BY_ERROR << call_model(AttemptKind.ENVELOPE_RETRY, continuation=None)
    assert [o["success"] for o in story.observed("tool_payload_repair")][-1] is False


def test_repeated_truncations_by_error_are_bound_by_the_rounds():
    story = asked() >> CUT_BY_ERROR >> CUT_BY_ERROR >> CUT_BY_ERROR
    assert story << call_model(AttemptKind.ENVELOPE_RETRY, max_tokens=800)
    assert story >> CUT_BY_ERROR << finish("", StopReason.RETRY_LIMIT, TurnStatus.FAILED)


@together
@pytest.mark.parametrize(
    ("multiplier", "cap", "larger"),
    [(1.005, 100, 101), (1.0, 100, 101), (1.01, 100, 101), (1.1, 100, 110), (1.1, 7, 8), (2, 100, 200), (1.5, 1, 2)],
)
def test_a_larger_budget_is_strictly_larger(multiplier, cap, larger):
    limits = Limits(truncation_budget_multiplier=multiplier)
    story = Playbook(envelope_schema=SCHEMA, max_tokens=cap, limits=limits, revision=1) >> started() >> truncated("{")
    assert story << call_model(AttemptKind.ENVELOPE_RETRY, max_tokens=larger)


def test_no_retry_is_made_where_the_ceiling_allows_no_larger_budget():
    story = asked(ceiling=100) >> truncated("{")
    assert story << finish("", StopReason.RETRY_LIMIT, TurnStatus.FAILED, "envelope_truncation_unrecoverable")
    assert "ceiling of 100" in story.end.error_message


@pytest.mark.parametrize("ceiling", [101, 150])
def test_the_remaining_room_below_the_ceiling_is_used_once(ceiling):
    story = asked(ceiling=ceiling) >> truncated("{") << call_model(AttemptKind.ENVELOPE_RETRY, max_tokens=ceiling)
    assert story >> truncated("{") << finish("", error_code="envelope_truncation_unrecoverable")
