"""A turn's row as its records tell it. The row is a convenience: it can be dropped and made again from the history."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from itertools import pairwise
from typing import Any

from agentcore import VERSION
from agentcore.error_text import notice_text
from agentcore.lint import CODES
from agentcore.reasons import StopReason, TurnStatus
from agentcore.resource import resource_of
from agentcore.snapshot import Snapshot
from agentcore.snapshot_parts import Spent
from agentcore.states import State
from agentcore.verdict import verdict
from dashboard.platform.fields import storable_text
from dashboard.turns.sent_caps import sent_cap


def project(snapshot: Snapshot, *, seq: int, started_at: datetime | None, at: datetime | None) -> dict[str, Any]:
    """The columns of a turn whose last record is `seq`, recorded `at`; `failed_by` and `held_ms` are told apart, by
    the records."""
    end = snapshot.end
    ended = end is not None
    return {
        "status": status_of(snapshot)._value_,  # `value` is looked up by a descriptor, in ten times as long
        "state": snapshot.state._value_,
        "stop_reason": end.stop_reason._value_ if end else None,
        "model_stop_reason": snapshot.model_stop_reason,
        "raw_stop_reason": None if snapshot.raw_stop_reason is None else storable_text(snapshot.raw_stop_reason),
        "terminal_reason": end.terminal_reason if end else None,
        "resource": resource_of(snapshot),
        "error_code": end.error_code if end else None,
        "error_message": storable_text(end.error_message) if end else "",
        "output_text": storable_text(end.output_text if end else snapshot.output_text),
        "notice": storable_text(notice_text(snapshot)),
        "verdict": storable_text(verdict(snapshot)),
        "started_at": started_at,
        "finished_at": at if ended else None,
        "duration_ms": round(snapshot.at * 1000) if ended else None,
        "envelope": end.envelope if end else None,
        "lint": [code for code in CODES if code in snapshot.flagged],
        "cut_sign": snapshot.cut_sign,
        "last_seq": seq,
        "core_version": VERSION,
        **_spent(snapshot.own),
        **_asked(snapshot),
    }


def _spent(spent: Spent) -> dict[str, Any]:
    return {
        "input_tokens": spent.input_tokens,
        "output_tokens": spent.output_tokens,
        "tokens_estimated": spent.estimated,
        "attempts": spent.attempts,
        "continuations": spent.continuations,
        "tool_repairs": spent.tool_repairs,
        "envelope_retries": spent.envelope_retries,
    }


def _asked(snapshot: Snapshot) -> dict[str, Any]:
    """What the turn really asks with, overrides and operators' changes included."""
    if snapshot.setup is None:
        return {}
    return {"model": snapshot.setup.model, "max_tokens": sent_cap(snapshot.setup)}


def failed_by(transitions: Iterable[Mapping[str, Any]]) -> str | None:
    """The type of the last failure that was judged in these transitions; None where none was."""
    failed = None
    for transition in transitions:
        if transition["outcome"] is not None:
            failed = error_of(transition["outcome"]).get("errorType", failed)
    return failed


def held_ms(records: Iterable[tuple[Mapping[str, Any], float]]) -> int:
    """For how long a turn was held, in milliseconds: from each record that holds it to the one after it. `records`: the
    command of each, and the seconds since the turn started."""
    pairs = ((at, after) for (command, at), (_, after) in pairwise(records) if command.get("type") == "hold")
    return sum(int(1000 * max(0.0, after - at)) for at, after in pairs)


def error_of(outcome: Mapping[str, Any]) -> Mapping[str, Any]:
    """What the error policy was told of a failure, and what it said; empty where there was nothing to judge."""
    for evaluation in reversed(outcome["evaluations"]):
        if evaluation["criterion"] == "ErrorPolicyCriterion":
            error: Mapping[str, Any] = evaluation.get("context", {})
            return error if error.get("consecutiveFailures") else {}
    return {}


def status_of(snapshot: Snapshot) -> TurnStatus:
    if snapshot.end is not None and snapshot.state in (State.COMPLETE, State.ABORT):
        return snapshot.end.status
    if snapshot.state is State.HELD:
        return TurnStatus.HELD
    return TurnStatus.QUEUED if snapshot.state is State.IDLE else TurnStatus.RUNNING


def undecided(columns: dict[str, Any], why: str, how: str) -> dict[str, Any]:
    """The columns of a replay that stopped because the recording had no answer. `why`: as a part of a sentence; `how`:
    what would tell, as a sentence."""
    return {
        **columns,
        "status": TurnStatus.INTERRUPTED.value,
        "stop_reason": StopReason.ERROR.value,
        "terminal_reason": "interrupted",
        "resource": None,
        "notice": f"{why[:1].upper()}{why[1:]}. {how}",
        "verdict": f"Not known: {why}. {how}",
    }
