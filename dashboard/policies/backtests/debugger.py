"""The debugger's query for a turn that a draft was tried on: what the draft changes of the words it ran under."""

from collections.abc import Collection, Mapping
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from agentcore.policy import Policy
from dashboard.agents.limit_fields import LIMIT_FIELDS
from dashboard.agents.policy_validation import listed
from dashboard.policies.backtests.recording_loader import TurnRow, batches, own_policy
from dashboard.policies.backtests.turn_judgement import DraftPolicy
from dashboard.replay.forms import HANDLING, NONE, TRUNCATION
from dashboard.turns.models import Turn

#: What a draft may say and the debugger cannot be told.
BEYOND = {"finish_reasons": "final stop reasons", "criteria": "criteria of its own", "envelope": "local recovery"}


def debugger_of(draft: DraftPolicy, turns: Collection[UUID]) -> dict[UUID, str]:
    """By turn, as its replay's form reads it; of one whose words are not here any more nothing is asked."""
    rows = Turn.objects.filter(id__in=turns)
    asked = batches(rows, sources=draft.asks_sources)
    return {told.id: _query(told, draft) for batch in asked for told in batch}


def beyond_in_words(said: Mapping[str, Any]) -> str:
    """Of what a draft says, that which the debugger leaves as it was; empty where it can be told all of it."""
    found = [words for field, words in BEYOND.items() if said.get(field)]
    return (
        "The what-if page supports limits, error handling and truncated tool calls, but not the draft's "
        f"{listed(found)}."
        if found
        else ""
    )


def _query(told: TurnRow, draft: DraftPolicy) -> str:
    own = own_policy(told)
    tried = None if own is None else draft.for_turn(told, own)
    return "" if own is None or tried is None else urlencode(changes(tried, own))


def overrides_of(draft: DraftPolicy, turns: Collection[UUID]) -> dict[UUID, dict[str, Any] | None]:
    """By turn, what the draft says otherwise than the words it ran under, as overrides of a re-run; None where these
    cannot say all of it. A turn whose words are not here any more is left out."""
    rows = Turn.objects.filter(id__in=turns)
    asked = batches(rows, sources=draft.asks_sources)
    said = ((told.id, own_policy(told), told) for batch in asked for told in batch)
    found = ((turn_id, own, draft.for_turn(told, own)) for turn_id, own, told in said if own is not None)
    return {
        turn_id: _overrides(tried, own) if _can_be_said(tried, own) else None
        for turn_id, own, tried in found
        if tried is not None
    }


def _can_be_said(tried: Policy, own: Policy) -> bool:
    """Whether overrides of a re-run can say all that is tried."""
    return all(getattr(tried, name) == getattr(own, name) for name in ("finish_reasons", "criterion_specs", "envelope"))


def _overrides(tried: Policy, own: Policy) -> dict[str, Any]:
    limits = {name: getattr(tried.limits, name) for name in LIMIT_FIELDS}
    errors = {key: getattr(tried.error_policy, key) for key in HANDLING[1:]}
    said: dict[str, Any] = {
        "limits": {name: value for name, value in limits.items() if value != getattr(own.limits, name)},
        "error_policy": {
            key: value if isinstance(value, int) else str(value)
            for key, value in errors.items()
            if value != getattr(own.error_policy, key)
        },
    }
    if tried.max_tokens not in (None, own.max_tokens):
        said["max_tokens"] = tried.max_tokens
    if tried.tool_calls_on_truncation != own.tool_calls_on_truncation:
        said["tool_calls_on_truncation"] = tried.tool_calls_on_truncation.value
    return {name: value for name, value in said.items() if value}


def changes(tried: Policy, own: Policy) -> dict[str, Any]:
    """What `tried` says otherwise than the turn's own policy, by the names of the replay's form."""
    limits = {name: getattr(tried.limits, name) for name in LIMIT_FIELDS}
    differ = {name: value for name, value in limits.items() if value != getattr(own.limits, name)}
    kept = {name: value for name, value in differ.items() if value is not None}
    taken = {NONE + name: "on" for name, value in differ.items() if value is None}
    errors = {key: getattr(tried.error_policy, key) for key in HANDLING[1:]}
    handled = {key: str(value) for key, value in errors.items() if value != getattr(own.error_policy, key)}
    cut = tried.tool_calls_on_truncation
    return {
        **kept,
        **taken,
        **({"max_tokens": tried.max_tokens} if tried.max_tokens not in (None, own.max_tokens) else {}),
        **handled,
        **({TRUNCATION: cut.value} if cut != own.tool_calls_on_truncation else {}),
    }
