"""`/metrics`: what Prometheus reads."""

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from dashboard.metrics.counters import REGISTRY
from dashboard.metrics.shared_counters import collected, sampled
from dashboard.platform.process_identity import PLACE


@require_safe
def metrics(request: HttpRequest) -> HttpResponse:  # noqa: ARG001 - a view takes its request
    """The counters of this process, or of all that its supervisor started."""
    registry = sampled(REGISTRY) if PLACE is None else collected(PLACE.shared)
    return HttpResponse(generate_latest(registry), content_type=CONTENT_TYPE_LATEST)
