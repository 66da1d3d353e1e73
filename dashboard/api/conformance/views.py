"""`/.well-known/openwop`: what programs read first."""

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.http import require_safe

from dashboard.api.conformance.capabilities import capabilities


@require_safe
def openwop(request: HttpRequest) -> HttpResponse:  # noqa: ARG001 - a view takes its request
    """The capability block."""
    return JsonResponse(capabilities())
