"""Drafts with a backtest beside them, however a value was found: on a turn's page, in a sweep, among limits."""

from collections.abc import Mapping
from dataclasses import fields
from datetime import datetime
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction

from agentcore import serial
from agentcore.policy import Policy as CorePolicy
from dashboard.accounts.models import User
from dashboard.agents.models import Policy, PolicyVersion, Project
from dashboard.agents.policies import POLICY_FIELDS, overridden, policy_said, stored_policy
from dashboard.agents.policy_resolution import DEFAULTS, Resolved, spoken
from dashboard.agents.selectors import policy_version_standing
from dashboard.live.services import overrides_clean
from dashboard.live.turn_loader import connection_of
from dashboard.policies.backtests.selectors import turns_where
from dashboard.policies.backtests.services import backtest_once
from dashboard.policies.policy_versions import version_keep
from dashboard.turns.filters import TimelineFilters
from dashboard.turns.models import Turn

NAMELESS = "Give the policy a name. The name of an existing policy creates its next version."


@transaction.atomic
def draft_keep(
    *,
    project: Project,
    name: str,
    said: Mapping[str, Any],
    filter: Mapping[str, Any] | None,
    max_tokens: int | None = None,
    since: datetime | None = None,
    by: User | None = None,
    why: str = "",
) -> PolicyVersion:
    """A draft of the policy of this name, with the backtest of it, which is started where there is none.

    The backtest gives the draft the place of that policy, or of none where the draft is its first version. `filter`:
    the turns it evaluates, as the timeline's filters; None: no turns can speak for the draft, and there is no backtest.
    `max_tokens`: as for `backtest_create`; `since`: as for `backtest_once`. Raises `ValidationError` in words.
    """
    tried = None
    if filter is not None:
        place = Policy.objects.filter(project=project, name=name, versions__isnull=False).first()
        asked = {"policy": policy_said(**said), "filter": dict(filter), "max_tokens": max_tokens, "stands_for": place}
        tried = backtest_once(project=project, created_by=by, since=since, keeps_overrides=True, **asked)
    about: dict[str, Any] = {"by": by, "why": why, "counts": "draft", "backtest": tried, "may_wait": True}
    return version_keep(project=project, name=name, said=said, **about)


def limit_keep(
    *, project: Project, name: str, tokens: int, filters: TimelineFilters, why: str = "", by: User | None = None
) -> PolicyVersion:
    """A draft of a policy of this name whose answers may take so many tokens in all; of one that is there the next
    version, which says everything else as what counts of it does. `filters`: the turns that show the number."""
    if not name:
        raise ValidationError(NAMELESS)
    base = policy_version_standing(policy=Policy.objects.filter(project=project, name=name).first())
    words = {field: getattr(base, field) for field in POLICY_FIELDS} if base else {}
    said = {**words, "limits": {**(words.get("limits") or {}), "max_total_completion_tokens": tokens}}
    return draft_keep(project=project, name=name, said=said, filter=filters.as_dict(), by=by, why=why)


def policy_of_replay(*, turn: Turn, overrides: Mapping[str, Any], name: str, by: User | None = None) -> PolicyVersion:
    """The turn's policy under these numbers as a draft: of a new policy, or of one that has this name already.

    max_tokens, the prompt and the model are the agent's, not a policy's: they are not kept.
    """
    if not name:
        raise ValidationError(NAMELESS)
    wanted = overrides_clean(overrides, connection_of(turn))
    said = _without_defaults(turn, wanted, _said(overridden(stored_policy(turn.policy), wanted)))
    return draft_keep(project=turn.project, name=name, said=said, filter=_turns_of(turn, name), by=by)


def _without_defaults(turn: Turn, wanted: Mapping[str, Any], said: Mapping[str, Any]) -> dict[str, Any]:
    """Without defaults that no policy of the turn and none of these overrides sets: a draft says what was changed."""
    kept = {*(turn.policy_sources or {}).get("fields", {}), *spoken(wanted)}
    told = {name: v for name, v in spoken(said).items() if name in kept or name not in DEFAULTS or v != DEFAULTS[name]}
    return {part: value for part, value in Resolved(told, (), {}).said.items() if value}


def _turns_of(turn: Turn, name: str) -> dict[str, Any]:
    """Turns like this one; where the draft becomes one of a policy that is not its agent's, those where that counts."""
    policy = Policy.objects.filter(project=turn.project, name=name, versions__isnull=False).first()
    if policy is not None and (turn.agent is None or turn.agent.policy_id != policy.pk):
        return TimelineFilters.parse(turns_where(policy=policy).filter)[0].as_dict()
    agents = (turn.agent_name,) if turn.agent_name else ()
    return TimelineFilters(agent=agents, model=(turn.model,)).as_dict()


def _said(policy: CorePolicy) -> dict[str, Any]:
    limits = {field.name: getattr(policy.limits, field.name) for field in fields(policy.limits)}
    return {
        "limits": limits,
        "error_policy": {key: serial.to_json(value) for key, value in serial.to_json(policy.error_policy).items()},
        "envelope": {"recovery": [path.value for path in policy.envelope.recovery]},
        "tool_calls_on_truncation": policy.tool_calls_on_truncation.value,
        "finish_reasons": [reason.value for reason in policy.finish_reasons],
        "criteria": [serial.to_json(spec) for spec in policy.criterion_specs],
    }
