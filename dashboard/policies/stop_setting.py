"""What of its policy ended a stored turn, and who had set it so.

Which field that was is told by the reasons a turn ends with (design §3.2).

Also holds what operators set otherwise while turns ran: a stop by such a number is theirs, not the policy's.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from agentcore.resource import APPROVAL_SECONDS, RESOURCES
from dashboard.agents.models import PolicyVersion
from dashboard.agents.observe_policy import WATCHER, is_observed
from dashboard.policies.field_settings import Setting, history_of, set_by
from dashboard.policies.field_sources import Source, sources_of
from dashboard.turns.models import Turn
from dashboard.turns.record_reader import acts_between
from dashboard.turns.selectors import outcomes_of

OPERATOR = "operator"  #: the level of a word that an operator said while the turn ran


@dataclass(frozen=True, slots=True)
class OperatorChange:
    """The last an operator made of a field: `value`, and who it was."""

    value: Any
    by: str


#: By turn and the field's name (of `policy_resolution.FIELDS`).
Changes = Mapping[tuple[UUID, str], OperatorChange]


def changes_of(turn_ids: Iterable[UUID]) -> Changes:
    """Every limit and rule of errors that an operator changed in these turns, as it was left, by one query. That the
    gateway let a watched answer go on which its provider had paused is nobody's word."""
    asked = set(turn_ids)
    if not asked:
        return {}
    return {
        (record.turn_id, f"{part}.{name}"): OperatorChange(value, record.event.get("by", ""))
        for record in acts_between(min(asked), max(asked))  # to name ten thousand turns takes longer
        if record.turn_id in asked and record.event.get("by") != WATCHER
        for part in ("limits", "error_policy")
        for name, value in (record.event.get(part) or {}).items()
    }


#: By terminal reason, where that alone says it.
BY_TERMINAL: Mapping[str, str] = {
    "retry_limit": "limits.max_continuations",
    "budget_exhausted": "limits.max_total_completion_tokens",
    "output_cap": "limits.max_total_output_chars",
    "tool_repair_failed": "limits.max_tool_repair_attempts",
    "envelope_invalid": "limits.schema_rounds",
    "envelope_truncation_unrecoverable": "limits.schema_rounds",
}
#: By the criterion that forbade: the built-in ones ask about one field each, any other is one of `criteria`.
BY_CRITERION: Mapping[str, str] = {
    "StepsLimit": "limits.max_steps",
    "TokenUsageLimit": "limits.max_total_tokens",
    "ExecutionTimeLimit": "limits.max_seconds",
    "FinishReasonCheck": "finish_reasons",
}
#: The limits that no policy sets, with the level that sets each: a connection's ceiling, the cap of an observed call,
#: and how long approvals wait.
NOT_OF_POLICIES: Mapping[str, str] = {
    "max_output_tokens": "connection",
    "max_tokens": "caller",
    APPROVAL_SECONDS: "approvals",
}
#: By the limit that ran out.
BY_RESOURCE: Mapping[str, str] = {
    **{name: f"limits.{name}" for name in RESOURCES if name not in ("max_retries", *NOT_OF_POLICIES)},
    "max_retries": "error_policy.max_retries",
}
#: What settles a judgement beside those: the machine's own criteria, and all of them together.
OF_THE_MACHINE = ("TruncationCriterion", "EnvelopeCriterion", "ErrorPolicyCriterion", "aggregate")
#: By the agent's stop reason, where nothing tells which criterion forbade: one of a policy's own may say any of these.
BY_STOP: Mapping[str, str] = {
    "steps_limit": "limits.max_steps",
    "token_limit": "limits.max_total_tokens",
    "time_limit": "limits.max_seconds",
    "finish_reason": "finish_reasons",
}
#: Terminal reasons under which some field of the policy may have ended the turn.
TERMINAL = (*BY_TERMINAL, "forbidden", "provider_error")


#: Where the last judgement's criterion must be looked up, for the reasons alone do not tell.
ASKED = ("forbidden", "budget_exhausted", "provider_error")


def clause_of(
    *,
    terminal_reason: str | None,
    stop_reason: str | None,
    error_type: str | None = None,
    resolved_by: str = "",
    resource: str | None = None,
    observed: bool = False,
) -> str | None:
    """The field (of `policy_resolution.FIELDS`) whose word ended the turn; None where none did.

    `resolved_by`: the criterion that settled the last judgement, needed where the terminal reason is one of `ASKED`.
    `resource`: the limit that ran out, where that is known; it decides. `observed`: no policy acted on the turn.
    """
    if observed:
        return None
    if resource is not None:
        return BY_RESOURCE.get(resource)
    if terminal_reason not in TERMINAL:
        return None
    if terminal_reason in ASKED and resolved_by in BY_CRITERION:
        return BY_CRITERION[resolved_by]
    if terminal_reason in BY_TERMINAL:
        return BY_TERMINAL[terminal_reason]
    if terminal_reason == "provider_error" or (resolved_by == "ErrorPolicyCriterion" and error_type):
        return "error_policy.max_retries" if stop_reason == "retry_limit" else f"error_policy.on_{error_type}_error"
    if resolved_by and resolved_by not in OF_THE_MACHINE:
        return "criteria"
    return BY_STOP.get(stop_reason or "", "criteria")


@dataclass(frozen=True, slots=True)
class StopSetting:
    """The field that ended a turn, with its value and source. `setting`: None where no policy spoke of it."""

    source: Source
    setting: Setting | None


def stop_setting_of(turn: Turn) -> StopSetting | None:
    """None where the turn runs, or ended by nothing its policy says."""
    field = clause_of(
        terminal_reason=turn.terminal_reason,
        stop_reason=turn.stop_reason,
        error_type=turn.error_type,
        resolved_by=_resolved_by(turn),
        resource=turn.resource,
        observed=is_observed(turn.policy),
    )
    source = next((source for source in sources_of(turn) if source.field == field), None)
    if source is None:
        return None
    if (changed := changes_of([turn.id]).get((turn.id, source.field))) is not None:
        source = Source(source.field, changed.value, OPERATOR, changed.by)
    return StopSetting(source, _setting(turn, source)) if caused(source) else None


def caused(source: Source) -> bool:
    """Whether this word can have ended a turn: where it says retry, the error could not heal, and that ended it."""
    return bool(source.value != "retry")


def _resolved_by(turn: Turn) -> str:
    if turn.terminal_reason not in ASKED:
        return ""
    last = outcomes_of(turn.id).order_by("-seq", "-position").values_list("resolved_by", flat=True).first()
    return last or ""


def _setting(turn: Turn, source: Source) -> Setting | None:
    if source.version_id is None:
        return None
    version = PolicyVersion.objects.select_related("policy").filter(pk=source.version_id).first()
    if version is None:
        return None
    at = turn.created_at
    return set_by(history_of(version.policy, at=at), version.pk, source.field, source.value, at)
