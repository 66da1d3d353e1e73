"""Which limit suffices, and the versions of a policy with what they were tried on."""

from typing import Any

from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from ninja import Router

from dashboard.agents.selectors import policy_list, project_current
from dashboard.api import configuration_response_schemas
from dashboard.api.list_pages import PagedArray, items_array
from dashboard.api.name_lookup import named
from dashboard.api.openapi import FILTER_PARAMETERS
from dashboard.policies.backtests.answer_lengths import ASKED, Estimate, estimate_of
from dashboard.policies.overview import VersionStatus, version_statuses
from dashboard.turns.filters import TimelineFilters, unknown_filters

router = Router(tags=["policies"])


@router.get(
    "/limits/estimate",
    response=configuration_response_schemas.Estimate,
    summary="Estimate the smallest sufficient limit",
    openapi_extra={"parameters": FILTER_PARAMETERS},
)
def limits_estimate(request: HttpRequest) -> dict[str, Any]:
    """The estimate uses the turns that match the filters and have one answer, from one call or continued."""
    filters, errors = TimelineFilters.parse_stored(request.GET)
    errors |= unknown_filters(request.GET)
    if errors:
        raise ValidationError(errors)
    return _estimate(estimate_of(project=project_current(), filters=filters))


def _estimate(found: Estimate) -> dict[str, Any]:
    points = [found.curve.quantile(of) for of in ASKED]
    return {
        "words": found.words,
        "turns": found.curve.count,
        "cut": found.curve.cut,
        "undecided": found.curve.undecided,
        "suffices": found.suffices,
        "quantiles": [{"complete": at.of, "tokens": at.tokens, "low": at.low, "high": at.high} for at in points],
        "capped": found.capped,
        "certainties": dict(found.certainties),
    }


@router.get(
    "/policies/{name}/versions",
    response=list[configuration_response_schemas.PolicyVersion],
    summary="List a policy's versions",
)
def policy_versions(request: HttpRequest, response: HttpResponse, name: str, page: PagedArray) -> list[dict[str, Any]]:
    """All versions, newest first: active, past, scheduled or draft, each with the backtest that it was saved with."""
    policy = named(policy_list(project=project_current()), name)
    fates = version_statuses(policy, now=timezone.now())
    return [_version(fate) for fate in items_array(request, response, fates, page)]


def _version(fate: VersionStatus) -> dict[str, Any]:
    version = fate.version
    return {
        "version": version.version,
        "stands": fate.word,
        "at": fate.at,
        "changes": [f"{change.label}: {change.was} → {change.now}" for change in fate.changes],
        "why": version.why,
        "created_at": version.created_at,
        "created_by": version.created_by.get_username() if version.created_by else None,
        "backtest": version.backtest_id,
    }
