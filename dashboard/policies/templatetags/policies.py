"""`{% policy_of_turn turn snapshot %}`, `{% policy_of_agent agent %}`: the numbers with where each comes from.

`{% limits_of_agent agent may_change=… %}`: the same on the agent's page, where they are changed.

`{% raw_removed turn %}`: that one of them had the raw answers removed.
`{% why_of_turn turn derivation %}`: the derivation of its end, with whose word each clause was.
`{% backtest_of_form form policy %}`: the panel of a policy's form, where it is tried on stored turns.
"""

from typing import Any
from urllib.parse import urlencode

from django import template
from django.template.context import Context
from django.urls import reverse

from agentcore.remedies import limits_spent
from agentcore.snapshot import Snapshot
from agentcore.why import Derivation, Kind, Node
from dashboard.agents.models import Agent, Policy
from dashboard.agents.policy_resolution import KEEP_RAW_DAYS
from dashboard.agents.selectors import project_current
from dashboard.policies.audit_log import shadow_in_words
from dashboard.policies.backtests.forms import OverForm
from dashboard.policies.backtests.presenters import backtest_view
from dashboard.policies.field_sources import sources_of, sources_to_come
from dashboard.policies.field_text import LEVEL_WORDS
from dashboard.policies.overview import VersionStatus
from dashboard.policies.policy_forms import PolicyForm
from dashboard.policies.stop_explanation import Why, why_of
from dashboard.policies.stop_setting import stop_setting_of
from dashboard.turns.models import Turn

register = template.Library()


@register.inclusion_tag("policies/_turn_limits.html")
def policy_of_turn(turn: Turn, last: Snapshot) -> dict[str, Any]:
    """What a turn ran under, what of it ended the turn, and what was used up beside that."""
    stop = stop_setting_of(turn)
    spent = [f"limits.{name}" for name in limits_spent(last)] if stop else []
    sources = [stop.source if stop and stop.source.field == each.field else each for each in sources_of(turn)]
    return {"turn": turn, "sources": sources, "stop": stop, "spent": spent}


@register.inclusion_tag("policies/_raw_removed.html")
def raw_removed(turn: Turn) -> dict[str, Any]:
    """That a turn's raw answers were removed: when, and by whose word."""
    source = next(source for source in sources_of(turn) if source.field == KEEP_RAW_DAYS)
    return {"turn": turn, "source": source}


@register.inclusion_tag("policies/_agent_limits.html")
def policy_of_agent(agent: Agent) -> dict[str, Any]:
    """What the agent's next turn would run under."""
    return {"agent": agent, "sources": sources_to_come(agent)}


@register.inclusion_tag("policies/_agent_limits_changed.html")
def limits_of_agent(agent: Agent, *, may_change: bool) -> dict[str, Any]:
    """The limits in force for the agent. `change`: the form that drafts others, for those who may."""
    new = f"{reverse('policies:new')}?{urlencode({'agent': agent.name})}"
    address = reverse("policies:change", args=[agent.policy_id]) if agent.policy_id else new
    return {"agent": agent, "sources": sources_to_come(agent), "change": address if may_change else ""}


@register.filter
def field_id(field: str) -> str:
    """Where a policy's form has the field."""
    return f"id_{field.rpartition('.')[2]}"


@register.filter
def level_words(level: str) -> str:
    """Where a policy comes from, without its name."""
    return LEVEL_WORDS[level]


@register.filter
def shadow_said(evidence: dict[str, Any]) -> str:
    """What a promoted draft's shadow had counted."""
    return shadow_in_words(evidence)


@register.inclusion_tag("policies/_why.html")
def why_of_turn(turn: Turn, derivation: Derivation | None) -> dict[str, Any]:
    """Why a turn ended, back to the provider's own word; nothing while it runs."""
    why = why_of(turn, derivation)
    return {"turn": turn, "why": why, "node": _shown(why, why.derivation.tree) if why else None}


#: What stands before a node, and its shape.
KINDS = {
    Kind.TERMINAL: ("ended", "ring"),
    Kind.TRANSITION: ("by", "play"),
    Kind.EVALUATION: ("because", "octagon"),
    Kind.CLAUSE: ("under", "wall"),
    Kind.INPUT: ("from", "half"),
    Kind.PROVIDER_WORD: ("the provider", "question"),
    Kind.CLAIM: ("and", "check"),
}
DECISIONS = {"forbid": "octagon", "allow": "check", "request": "play", "stop": "ring"}


def _shown(why: Why, node: Node) -> dict[str, Any]:
    """A node as its template takes it. `step`: the transition's number."""
    label, shape = KINDS[node.kind]
    return {
        "kind": node.kind.value,
        "label": label,
        "shape": DECISIONS.get(str(node.fact("decision")), shape),
        "words": node.words,
        "step": node.fact("number"),
        "reason": why.derivation.reason if node.kind is Kind.TRANSITION and not _repeated(node) else "",
        "source": why.source(node),
        "because": [_shown(why, child) for child in node.because],
    }


def _repeated(node: Node) -> bool:
    """Whether an evaluation beneath says the same."""
    return any(node.fact("reason") == child.fact("reason") for child in node.because)


#: What became of a version: its hue, its shape and what is said, with the moment where there is one.
FATES = {
    "active": ("end", "check", "active since {at}"),
    "planned": ("tool", "clock", "starts {at}"),
    "past": ("wait", "ring", "active until {at}"),
    "draft": ("wait", "half", "Draft (inactive)"),
}


@register.inclusion_tag("policies/_version_status.html")
def policy_fate(fate: VersionStatus) -> dict[str, Any]:
    """What became of a version as word, colour and shape."""
    hue, shape, words = FATES[fate.word]
    at = f"{fate.at:%-d %b %Y, %H:%M} UTC" if fate.at else "a later moment"
    return {"hue": hue, "shape": shape, "words": words.format(at=at)}


@register.inclusion_tag("backtests/_panel.html", takes_context=True)
def backtest_of_form(context: Context, form: PolicyForm, policy: Policy | None) -> dict[str, Any]:
    """The panel in the form of a policy; with what ran before, where the form comes back to be corrected."""
    over = OverForm(project_current(), policy, form.data if form.is_bound else None)
    return {
        "policy": policy,
        "over": over,
        "faults": form.errors.get("backtest", ()),
        "shown": backtest_view(form.ran) if form.ran else None,
        "perms": context["perms"],
    }
