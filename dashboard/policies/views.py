"""Policies to look at. Whoever is signed in may; changing is in `action_views`."""

from datetime import timedelta
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_safe

from dashboard.agents.models import Agent, Connection, Policy, PolicyVersion
from dashboard.agents.selectors import (
    attachment_list,
    connection_list,
    policy_by_id,
    policy_list,
    policy_version_active,
    project_current,
    versions_tried,
)
from dashboard.policies import selectors
from dashboard.policies.action_views import CHANGE
from dashboard.policies.audit_log import audit_entries, configuration_trail
from dashboard.policies.backtests.debugger import BEYOND, beyond_in_words, debugger_of
from dashboard.policies.backtests.presenters import group_view, reasons_view
from dashboard.policies.backtests.tallies import SURE, Group
from dashboard.policies.backtests.turn_judgement import DraftPolicy
from dashboard.policies.ledger import Ledger, ledger_of
from dashboard.policies.models import Shadow
from dashboard.policies.overview import compared, policy_status, policy_statuses, version_statuses, version_tried
from dashboard.policies.selectors import reach_warning

#: Periods of the ledger, in days.
DAYS = (1, 7, 30, 90)
COUNTED = ("same", "flipped", "undecidable", "gone_on", "sooner", "unended")  #: of a shadow, as of a backtest
SHADOWS = 5  #: of a policy that are shown


@require_safe
def index(request: HttpRequest) -> HttpResponse:
    """Every policy with what counts of it, and where."""
    project, now = project_current(), timezone.now()
    context = {
        "standings": policy_statuses(project, now=now),
        "attachments": attachment_list(project=project),
        "policies": policy_list(project=project),
        "connections": connection_list(project=project),
        **_rights(request),
    }
    return render(request, "policies/index.html", context)


@require_safe
def show(request: HttpRequest, policy_id: UUID) -> HttpResponse:
    """One policy: its versions and their fates, where it counts, what runs in its shadow, who did what."""
    policy, now = _policy(policy_id), timezone.now()
    context = {
        "policy": policy,
        "standing": policy_status(policy, now=now),
        "fates": version_statuses(policy, now=now),
        "shadowed": {shadow.version_id for shadow in selectors.shadows_of(policy).filter(ended_at=None)},
        "shadows": [_shadow(shadow) for shadow in selectors.shadows_of(policy)[:SHADOWS]],
        "reach": reach_warning(policy),
        "trail": audit_entries(policy),
        "typed": request.GET,
        **_rights(request),
    }
    return render(request, "policies/show.html", context)


@require_safe
def version(request: HttpRequest, version_id: UUID) -> HttpResponse:
    """A version stands on its policy's page; htmx asks for the line of its backtest alone until that is over."""
    try:
        found = version_tried(version_id, project=project_current())
    except PolicyVersion.DoesNotExist as error:
        raise Http404("There is no such version.") from error
    if request.headers.get("HX-Request"):
        return render(request, "policies/_backtest_evidence.html", {"version": found})
    return redirect(f"{reverse('policies:show', args=[found.policy_id])}#v{found.version}")


@require_safe
def diff(request: HttpRequest, policy_id: UUID) -> HttpResponse:
    """Any two versions of a policy side by side; the last two where none are named."""
    policy = _policy(policy_id)
    by_number = {version.version: version for version in versions_tried(policy).order_by("version")}
    if not by_number:
        raise Http404("This policy has no version yet.")
    right = _chosen(request, "b", by_number, max(by_number))
    left = _chosen(request, "a", by_number, max((n for n in by_number if n < right.version), default=right.version))
    changes = compared(left, right)
    context = {
        "policy": policy,
        "left": left,
        "right": right,
        "versions": (left,) if left == right else (left, right),
        "numbers": sorted(by_number, reverse=True),
        "differing": [change for change in changes if not change.same],
        "alike": [change for change in changes if change.same],
    }
    return render(request, "policies/diff.html", context)


@require_safe
def ledger(request: HttpRequest) -> HttpResponse:
    """Who set what, and how many turns it stopped since."""
    found, days = _ledger(request)
    periods = [(n, f"{n} day{'s' if n > 1 else ''}", f"?days={n}") for n in DAYS]
    return render(request, "policies/ledger.html", {"ledger": found, "days": days, "periods": periods})


@require_safe
def stops(request: HttpRequest) -> HttpResponse:
    """The turns of one line of the ledger, the newest first."""
    found, days = _ledger(request)
    asked = {name: request.GET.get(name, "") for name in ("field", "level", "policy", "since", "value")}
    line = next((line for line in found.lines if line.query == urlencode(asked)), None)
    if line is None:
        raise Http404("The ledger no longer has this line; its turns may be older than the selected period.")
    context = {"line": line, "days": days, "turns": selectors.turns_stopped(line.turn_ids)}
    return render(request, "policies/stops.html", context)


def _ledger(request: HttpRequest) -> tuple[Ledger, int]:
    """The ledger of the days asked for."""
    asked = request.GET.get("days", "")
    days = next((days for days in DAYS if str(days) == asked), 7)
    now = timezone.now()
    return ledger_of(project_current(), since=now - timedelta(days=days), now=now), days


@require_safe
def changes(request: HttpRequest) -> HttpResponse:
    """What was changed of agents, connections and their limits, by whom and why."""
    trail = configuration_trail(project_current(), (Agent, Connection))
    return render(request, "policies/changes.html", {"trail": trail})


def _shadow(shadow: Shadow) -> dict[str, Any]:
    flips, tally = selectors.disagreements(shadow)[: selectors.SHOWN], selectors.tally_of(shadow)
    counts = {name: getattr(tally, name) for name in (*COUNTED, *SURE)}
    shown = {"whole": group_view(Group("", "", **counts)), "most_waiting": selectors.MOST_WAITING}
    draft = DraftPolicy.in_place(shadow.version)
    asked = debugger_of(draft, [flip.turn_id for flip in flips])
    return {
        "shadow": shadow,
        "by_activation": selectors.ended_by_activation(shadow),
        "is_active": policy_version_active(policy=shadow.version.policy) == shadow.version,
        "tally": tally,
        "flips": [(flip, asked.get(flip.turn_id, "")) for flip in flips],
        "reasons": reasons_view(tally.whys, selectors.undecided_of(shadow), draft),
        "beyond": beyond_in_words({field: getattr(shadow.version, field) for field in BEYOND}),
        **shown,
    }


def _policy(policy_id: UUID) -> Policy:
    try:
        return policy_by_id(project=project_current(), policy_id=policy_id)
    except Policy.DoesNotExist as error:
        raise Http404("There is no such policy.") from error


def _chosen(request: HttpRequest, name: str, versions: dict[int, PolicyVersion], default: int) -> PolicyVersion:
    asked = request.GET.get(name, "")
    known = {str(number): version for number, version in versions.items()}
    return known.get(asked, versions[default])


def _rights(request: HttpRequest) -> dict[str, Any]:
    return {"may_change": request.user.has_perm(CHANGE)}
