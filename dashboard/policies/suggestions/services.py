"""Finding a limit by a live re-run, backtesting what was found, and using it. Raises `ValidationError` in words."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Q

from agentcore.policy import DEFAULT_COMPLETION_CALLS, LIMIT_NAMES, Limits
from agentcore.resource import APPROVAL_SECONDS
from agentcore.values import replace
from dashboard.accounts.models import User
from dashboard.agents.change_tracking import on_behalf
from dashboard.agents.models import Agent, Policy, PolicyVersion
from dashboard.agents.policies import POLICY_FIELDS, policy_said
from dashboard.agents.policy_layers import effective_policy_for
from dashboard.agents.selectors import policy_version_standing
from dashboard.live.services import overrides_clean
from dashboard.policies.backtested_draft import draft_keep
from dashboard.policies.backtests.models import Backtest
from dashboard.policies.backtests.services import backtest_newest, backtest_once
from dashboard.policies.suggestions.suggestion import Number, Suggestion
from dashboard.replay.forecaster import forecaster
from dashboard.replay.rerun_service import GONE, turn_rerun
from dashboard.turns.filters import TimelineFilters
from dashboard.turns.models import Turn
from dashboard.turns.read_ahead import once

CHANGED = (
    f"{LIMIT_NAMES['max_tokens']} of {{}} was changed from {{:,}} to {{:,}} in the meantime. Your value was not set. "
    "Check it and try again."
)

OF_AGENT = f"No policy or re-run sets the {LIMIT_NAMES[APPROVAL_SECONDS].lower()}. Change it on the agent's page."


@contextmanager
def one_at_a_time(turn: Turn) -> Iterator[None]:
    """Of two requests about a turn and its forks at once, the second sees the re-run that the first has begun."""
    with transaction.atomic():
        held = Turn.objects.select_for_update(no_key=True).filter(Q(pk=turn.pk) | Q(pk=turn.parent_id)).order_by("pk")
        list(held.values_list("pk"))
        yield


def limit_find(*, turn: Turn, suggestion: Suggestion, created_by: User | None = None) -> Turn:
    """The turn once more, live, under the value; the re-run. The backtest follows it: one that began before could not
    count what the re-run shows, and the value found may be another one."""
    if suggestion.limit == APPROVAL_SECONDS:
        raise ValidationError(OF_AGENT)
    about: dict[str, Any] = {"created_by": created_by, "purpose": forecaster.value.trying(suggestion)}
    return turn_rerun(turn=turn, overrides=suggestion.overrides, **about)


def backtest_of_value(
    *, turn: Turn, suggestion: Suggestion, value: Number, created_by: User | None = None
) -> Backtest | None:
    """A backtest of this value over the agent's turns: the one there is, or a new one where that was cancelled or
    failed. None of a turn without agent."""
    if turn.agent is None:
        return None
    asked = _backtest_of(turn, suggestion, value)
    return backtest_once(project=turn.project, created_by=created_by, **asked)


def backtest_found(*, turn: Turn, suggestion: Suggestion) -> Backtest | None:
    """The newest backtest of the suggested value; None where there is none."""
    if turn.agent is None or suggestion.limit == APPROVAL_SECONDS:
        return None
    return backtest_newest(project=turn.project, **_backtest_of(turn, suggestion, suggestion.value))


def backtest_of_cap(*, turn: Turn, suggestion: Suggestion) -> Backtest | None:
    """The newest backtest of the cap that the agent has by now, where that is another one than the suggested and than
    the turn's; None where there is none."""
    cap = turn.agent.max_tokens if turn.agent is not None else None
    if suggestion.limit != "max_tokens" or cap is None or cap in (suggestion.value, turn.max_tokens):
        return None
    return backtest_found(turn=turn, suggestion=replace(suggestion, value=cap))


def _backtest_of(turn: Turn, suggestion: Suggestion, value: Number) -> dict[str, Any]:
    agent = turn.agent
    assert agent is not None, "only an agent's limits are tried"
    filters = TimelineFilters(agent=(agent.name,), model=(turn.model,)).as_dict()
    said = _changed(agent.policy, suggestion, value)
    stands_for = agent.policy if agent.policy is not None and agent.policy.versions.exists() else None
    cap = int(value) if suggestion.limit == "max_tokens" else None
    about = {"policy": said, "filter": filters, "max_tokens": cap, "stands_for": stands_for, "keeps_overrides": True}
    return {**about, "since": _shown_at(suggestion)}


def _shown_at(suggestion: Suggestion) -> datetime | None:
    """When the re-run ended that shows the value: a backtest of before could not count it."""
    if suggestion.rerun is None:
        return None
    row = Turn.objects.filter(pk=suggestion.rerun).values_list("finished_at", flat=True)
    return once(("finished", suggestion.rerun), row.first)


def standing_value(agent: Agent, suggestion: Suggestion) -> Number | None:
    """The value that an agent's next turn has of a limit, without overrides of its own; None: no limit. 0 where that
    does not help, because another setting has to change with it."""
    if suggestion.limit == APPROVAL_SECONDS:
        return (agent.approvals or {}).get("seconds")
    policy = once(("policy of the next turn", agent.id), lambda: effective_policy_for(agent, {}).policy)
    beside = suggestion.together or {}
    if suggestion.limit == "max_retries":
        needed = beside.get("error_policy", {})
        retried = all(getattr(policy.error_policy, key) == decision for key, decision in needed.items())
        return policy.error_policy.max_retries if retried else 0
    raised = beside.get("limits", {}).items()
    if not all(_is_enough(_standing(agent, policy.limits, name), needed) for name, needed in raised):
        return 0
    return agent.max_tokens if suggestion.limit == "max_tokens" else _standing(agent, policy.limits, suggestion.limit)


def _standing(agent: Agent, limits: Limits, name: str) -> Number | None:
    value: Number | None = getattr(limits, name)
    is_default = value is None and name == "max_total_completion_tokens"
    return DEFAULT_COMPLETION_CALLS * agent.max_tokens if is_default else value


def _is_enough(standing: Number | None, needed: Number | None) -> bool:
    """None: no limit."""
    return standing is None or (needed is not None and standing >= needed)


def agent_cap_use(*, turn: Turn, value: Number, by: User | None, why: str, standing: int | None = None) -> Agent:
    """The value as the agent's own cap of each call; nothing is changed where it has it already.

    `standing`: the cap that the agent had when the value was chosen. Where it has another one by now, that is refused.
    """
    if turn.agent is None:
        raise ValidationError(GONE)
    overrides_clean({"max_tokens": value}, turn.agent.connection)
    with on_behalf(by, why), transaction.atomic():
        agent = Agent.objects.select_for_update().get(pk=turn.agent.pk)
        if agent.max_tokens == value:
            return agent
        if standing is not None and agent.max_tokens != standing:
            raise ValidationError(CHANGED.format(agent.name, standing, agent.max_tokens))
        agent.max_tokens = int(value)
        agent.full_clean()
        agent.save(update_fields=["max_tokens"])
    return agent


@dataclass(frozen=True, slots=True)
class CapUse:
    """`draft`: what the cap needs beside it, and whether it was made now; None where nothing is missing. `backtest`: of
    the cap, where there is no draft that has it."""

    agent: Agent
    draft: tuple[PolicyVersion, bool] | None = None
    backtest: Backtest | None = None


@transaction.atomic
def cap_and_draft_use(
    *, turn: Turn, suggestion: Suggestion, value: Number, by: User | None, why: str, standing: int | None = None
) -> CapUse:
    """The value as the agent's own cap, and what it needs beside it as a draft, for that is the policy's to allow.
    Either way the backtest of the value is started where there is none."""
    agent = agent_cap_use(turn=turn, value=value, by=by, why=why, standing=standing)
    if standing_value(agent, suggestion) != 0:
        tried = backtest_of_value(turn=turn, suggestion=suggestion, value=value, created_by=by)
        return CapUse(agent, backtest=tried)
    return CapUse(agent, draft=policy_draft(turn=turn, suggestion=suggestion, value=value, by=by, why=why))


@transaction.atomic
def policy_draft(
    *, turn: Turn, suggestion: Suggestion, value: Number, by: User | None, why: str
) -> tuple[PolicyVersion, bool]:
    """The value as a draft of the agent's policy, and whether it was made now: of two clicks only the first makes it.

    An agent without a policy is given one of its own name; a draft is active nowhere until it is activated. It is made
    with the backtest of the value, which is started with it where there is none.
    """
    if turn.agent is None:
        raise ValidationError(GONE)
    if suggestion.limit == APPROVAL_SECONDS:
        raise ValidationError(OF_AGENT)
    agent = Agent.objects.select_for_update(of=("self",)).select_related("policy").get(pk=turn.agent.pk)
    said = _changed(agent.policy, suggestion, value)
    if (there := _drafted(agent.policy, said)) is not None:
        return there, False
    name = agent.policy.name if agent.policy else agent.name
    tried = _tried_over(agent, turn, suggestion, value)
    version = draft_keep(project=turn.project, name=name, said=said, by=by, why=why, **tried)
    if agent.policy is None:
        with on_behalf(by, why):
            Agent.objects.filter(pk=agent.pk).update(policy=version.policy)
    return version, True


def _tried_over(agent: Agent, turn: Turn, suggestion: Suggestion, value: Number) -> dict[str, Any]:
    """Which turns the draft of a value is tried on, and with which cap. None where that cannot speak for it: the agent
    has no policy, and the draft becomes the next version of one that only has its name."""
    turn.agent = agent  # as it is locked: its policy may have changed since the turn was read
    of_its_name = Policy.objects.filter(project=turn.project, name=agent.name)
    if agent.policy is None and of_its_name.filter(versions__isnull=False).exists():
        return {"filter": None}
    asked = _backtest_of(turn, suggestion, value)
    return {name: asked[name] for name in ("filter", "max_tokens", "since")}


def _drafted(policy: Policy | None, said: Mapping[str, Any]) -> PolicyVersion | None:
    """The newest version, where it says just this and is no more than a draft."""
    newest = policy.versions.order_by("-version").first() if policy else None
    if newest is None or newest.activations.exists():
        return None
    return newest if all(getattr(newest, name) == told for name, told in said.items()) else None


def _changed(policy: Policy | None, suggestion: Suggestion, value: Number) -> dict[str, Any]:
    """The policy's words with the value in place of its own, and with as much as that needs beside it. The cap of a
    call is the agent's own: of that, what it needs beside it."""
    words, changed = _words(policy), {**suggestion.overrides}
    changed.pop("max_tokens", None)
    if suggestion.limit == "max_retries":
        changed["error_policy"] = {**changed["error_policy"], "max_retries": value}
    elif "limits" in changed:
        own = words.get("limits") or {}
        lacking = {name: v for name, v in changed["limits"].items() if name not in own or not _is_enough(own[name], v)}
        changed["limits"] = lacking if suggestion.limit == "max_tokens" else {**lacking, suggestion.limit: value}
    merged = {name: {**(words.get(name) or {}), **changed[name]} for name in changed}
    return policy_said(**{**words, **merged})


def _words(policy: Policy | None) -> dict[str, Any]:
    standing = policy_version_standing(policy=policy)
    return {field: getattr(standing, field) for field in POLICY_FIELDS} if standing else {}
