"""Which cohorts the filters let through. A cohort stands for all turns that are alike in every facet."""

from collections.abc import Mapping, Sequence

from django.db.models import Q

from dashboard.agents.models import Project
from dashboard.turns.filters import NOT, TimelineFilters
from dashboard.turns.models import Cohort
from dashboard.turns.provider_words import condition

#: Filters that a cohort answers, and its columns.
COLUMNS: Mapping[str, str] = {
    "stop_reason": "stop_reason",
    "terminal_reason": "terminal_reason",
    "resource": "resource",
    "model_stop_reason": "model_stop_reason",
    "status": "status",
    "provider": "provider",
    "model": "model",
    "agent": "agent_name",
    "error_type": "error_type",
}
#: What a turn `has`, and the column that says so.
HAS_COLUMNS: Mapping[str, str] = {
    "continuation": "continuation",
    "repair": "repair",
    "envelope_retry": "envelope_retry",
}


def matching(*, project: Project, filters: TimelineFilters) -> list[int] | None:
    """Ids of the cohorts the filters let through; None: they do not ask about cohorts, and all go through."""
    asked = _asked(filters, project) & _refused(filters, project)
    return list(Cohort.objects.filter(asked, project=project).values_list("id", flat=True)) if asked else None


def any_of(name: str, words: Sequence[str], project: Project) -> Q:
    """That a cohort, or a turn, has any of the words of one of COLUMNS; no words are no condition."""
    if not words:
        return Q()
    return condition(words, project) if name == "provider" else Q(**{f"{COLUMNS[name]}__in": words})


def none_of(name: str, words: Sequence[str], project: Project) -> Q:
    """What is not known is none of them."""
    return ~any_of(name, words, project) if words else Q()


def _asked(filters: TimelineFilters, project: Project) -> Q:
    asked = Q(**{HAS_COLUMNS[name]: True for name in filters.has})
    if filters.requested_again:
        asked &= Q(repair=True) | Q(envelope_retry=True)
    for name in COLUMNS:
        asked &= any_of(name, getattr(filters, name), project)
    return asked


def _refused(filters: TimelineFilters, project: Project) -> Q:
    refused = Q(**{HAS_COLUMNS[name]: False for name in filters.not_has})
    for name in COLUMNS:
        refused &= none_of(name, getattr(filters, NOT[name]), project)
    return refused


def stop_reasons(ids: list[int] | None) -> tuple[str, ...]:
    """Why the agent stopped in all turns of these cohorts; empty where that is not known of some, or nothing asked."""
    found = set(Cohort.objects.filter(id__in=ids or ()).values_list("stop_reason", flat=True))
    return () if None in found else tuple(sorted(reason for reason in found if reason is not None))
