"""Serializes turns, attempts, records and evaluations for the API (design §4.3): exactly these keys."""

import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import fields
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from agentcore import serial
from agentcore.replay import Record as ReplayedRecord
from agentcore.replay import Verification, WhatIf
from dashboard.platform.provided import Provided
from dashboard.turns.certainty_text import assumption_shown
from dashboard.turns.models import Attempt, Outcome, Record, Turn
from dashboard.turns.origins import ingested_told, origin_told
from dashboard.turns.provider_words import asks_simulator
from dashboard.turns.verdicts import verdict_now

Shown = dict[str, Any]

TURN_KEYS = (
    "id",
    "agent",
    "provider",
    "model",
    "status",
    "stop_reason",
    "model_stop_reason",
    "raw_stop_reason",
    "terminal_reason",
    "error_code",
    "output_text",
    "notice",
    "input_tokens",
    "output_tokens",
    "tokens_estimated",
    "attempts",
    "continuations",
    "tool_repairs",
    "envelope_retries",
    "started_at",
    "finished_at",
    "duration_ms",
    "policy_version",
    "parent_id",
    "forked_at",
    "run_id",
    "envelope",
    "lint",
    "verdict",
    "origin",
    "ingested",
    "simulated",
)
ATTEMPT_KEYS = (
    "index",
    "kind",
    "iteration",
    "max_tokens",
    "max_tokens_demanded",
    "request",
    "response",
    "status_code",
    "stop_reason",
    "raw_stop_reason",
    "usage",
    "tokens_estimated",
    "text",
    "tool_calls",
    "error",
    "started_at",
    "first_token_ms",
    "duration_ms",
)
RECORD_KEYS = ("seq", "at", "event", "transitions", "command", "observed")
OUTCOME_KEYS = (
    "seq",
    "position",
    "state",
    "decision",
    "resolved_by",
    "stop_reason",
    "error_type",
    "handling",
    "evaluations",
)
MAX_SHOWN_RESPONSE = 1_000_000  #: bytes of one answer

Suggestions = Callable[[Collection[Turn]], Mapping[UUID, Shown | None]]
#: By turn, the limit that would have let it finish, as the API shows it: suggestions are made of turns.
turn_suggestions = Provided[Suggestions]("the limits that would have been enough")


def turn_json(turn: Turn) -> Shown:
    """As in `turns_json`."""
    return turns_json([turn])[0]


def turns_json(turns: Collection[Turn]) -> list[Shown]:
    """Each turn, and the limit that would have let it finish. The limits cost the same few statements however many
    turns there are."""
    suggestions = turn_suggestions.value(turns)
    return [{**recorded_json(turn), "suggestion": suggestions.get(turn.id)} for turn in turns]


def recorded_json(turn: Turn) -> Shown:
    """What is stored of a turn. `policy_version` is the number of the policy's version; null where the agent has no
    policy. `verdict`: as this version of the core says it."""
    version = turn.policy_version.version if turn.policy_version else None
    came = {"origin": origin_told(turn), "ingested": ingested_told(turn)}
    apart = {"agent": turn.agent_name, "policy_version": version, "run_id": turn.run, **came}
    apart |= {"verdict": verdict_now(turn), "simulated": asks_simulator(turn)}
    apart["duration_ms"] = None if turn.untimed else turn.duration_ms
    told = {key: apart[key] if key in apart else getattr(turn, key) for key in TURN_KEYS}
    return {**told, "lint": turn.signs}


def attempt_json(
    attempt: Attempt,
    *,
    request_body: str,
    raw_response: bytes | None,
    removed_at: datetime | None = None,
    demanded: bool = False,
    untimed: bool = False,
) -> Shown:
    """`request_body`: JSON text as it was sent; `raw_response`: None where nothing came, or it was removed. `demanded`:
    nobody set the turn's max_tokens (`sent_caps.cap_demanded`). `untimed`: of a turn whose log gives no times."""
    response = _response_shown(attempt, raw_response, removed_at)
    uncounted = attempt.usage is None and attempt.stop_reason is not None
    apart = {"request": json.loads(request_body), "response": response, "tokens_estimated": uncounted}
    apart["max_tokens_demanded"] = demanded
    if untimed:
        apart |= dict.fromkeys(("first_token_ms", "duration_ms"))
    return {key: apart[key] if key in apart else getattr(attempt, key) for key in ATTEMPT_KEYS}


def _response_shown(attempt: Attempt, raw: bytes | None, removed_at: datetime | None) -> Shown | None:
    if raw is None and attempt.status_code is None:
        return None
    body = raw or b""
    known: Shown = {"content_type": attempt.content_type, "headers": attempt.response_headers or {}}
    if removed_at is not None:
        return {**known, "body": None, "removed_at": removed_at}
    shown: Shown = {
        **known,
        "body": body[:MAX_SHOWN_RESPONSE].decode("utf-8", "replace"),
    }
    return {**shown, "truncated": True} if len(body) > MAX_SHOWN_RESPONSE else shown


def record_json(record: Record) -> Shown:
    return {key: getattr(record, key) for key in RECORD_KEYS}


def outcome_json(outcome: Outcome) -> Shown:
    return {key: getattr(outcome, key) for key in OUTCOME_KEYS}


def step_json(record: ReplayedRecord, *, started_at: datetime | None) -> Shown:
    """A step of a replay: a record, and where it comes from."""
    return {
        "seq": record.seq,
        "at": started_at + timedelta(seconds=record.event.at) if started_at else None,
        "event": serial.event_to_json(record.event),
        "transitions": list(record.transitions),
        "command": record.command,
        "observed": list(record.observed),
        "provenance": record.provenance.value,
        "certainty": record.certainty.value,
        "assumes": [assumption_shown(assumption) for assumption in record.assumes],
    }


def what_if_json(turn: Turn, columns: Mapping[str, Any], imagined: WhatIf) -> Shown:
    """The turn as it would have been. `columns`: those of its row that a what-if says anew."""
    anew = {key: value for key, value in columns.items() if key in TURN_KEYS}
    return {
        **recorded_json(turn),
        **anew,
        "output_tokens_range": imagined.output_tokens_range,
        "steps": [step_json(record, started_at=turn.started_at) for record in imagined.records],
        "undecidable": imagined.undecidable,
        "why": imagined.why.value if imagined.why else None,
        "stopped": imagined.stopped,
        "certainty": imagined.certainty.value,
        "assumes": [assumption_shown(assumption) for assumption in imagined.assumes],
    }


def verification_json(verification: Verification) -> Shown:
    divergence = verification.divergence
    parts = None if divergence is None else {f.name: getattr(divergence, f.name) for f in fields(divergence)}
    return {"verified": verification.verified, "divergence": parts, "missing": list(verification.missing)}
