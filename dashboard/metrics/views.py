"""`/metrics`: what Prometheus reads."""

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from dashboard.metrics.counters import REGISTRY


@require_safe
def metrics(request: HttpRequest) -> HttpResponse:  # noqa: ARG001 - a view takes its request
    """The counters of this process."""
    return HttpResponse(generate_latest(REGISTRY), content_type=CONTENT_TYPE_LATEST)
