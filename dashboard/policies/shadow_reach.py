"""Whether a shadow run of a policy has any turns to evaluate, and why not."""

from collections.abc import Sequence

from agentcore.number_format import count
from dashboard.agents.models import Policy, PolicyAttachment
from dashboard.agents.selectors import agents_under, policy_version_active
from dashboard.policies.selectors import WATCHED, named_in
from dashboard.turns.models import Turn

LOOKED_AT = 100  #: turns, the newest; re-runs and forks are left out, as in a shadow run
NAMED = 3  #: agents and places that are named


def reach_warning(policy: Policy) -> str:
    """`It applies to none of the last 41 turns, because no agent uses it and it is not attached anywhere.` Empty where
    a shadow run has turns to evaluate, or where nothing tells, because there are no turns yet."""
    turns = Turn.objects.filter(project=policy.project_id, parent=None).order_by("-id")
    newest = list(turns.values_list("id", flat=True)[:LOOKED_AT])
    named = Turn.objects.filter(named_in(policy), id__in=newest)
    acted_on = named.exclude(WATCHED).count()
    places = _places(policy)
    inactive = policy_version_active(policy=policy) is None
    if acted_on and places and not inactive:
        return ""
    if not (newest or inactive or not places):
        return ""
    why = _why(places, inactive=inactive, watched=named.exists())
    if not newest:
        return f"It applies to no turn, because {why}."
    of = f"{'none' if not acted_on else f'{acted_on:,}'} of the last {count(len(newest), 'turn')}"
    return f"It applies to {of}{', and to none from now on' if acted_on else ''}, because {why}."


def _places(policy: Policy) -> Sequence[str]:
    """The agents that use it, and what it is attached to."""
    agents = [agent.name for agent in agents_under(policy=policy)]
    attached = PolicyAttachment.objects.filter(policy=policy).select_related("connection")
    return [*sorted(agents), *sorted(place.place for place in attached)]


def _why(places: Sequence[str], *, inactive: bool, watched: bool) -> str:
    if not places:
        return "no agent uses it and it is not attached anywhere"
    if inactive:
        return "none of its versions is active, so no turn runs under it"
    if watched:
        return "the gateway only observed the turns to which it applies"
    more = f" and {len(places) - NAMED:,} more" if len(places) > NAMED else ""
    return f"it applies to {', '.join(places[:NAMED])}{more}, and none of these turns ran there"


def warnings_for(policy: Policy) -> list[str]:
    """What to say when a shadow run of the policy has begun."""
    warning = reach_warning(policy)
    return [f"This shadow run may have nothing to evaluate. {warning}"] if warning else []
