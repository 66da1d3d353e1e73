"""Where turns are sent, and what became of it."""

from urllib.parse import urlsplit

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from dashboard.agents.selectors import project_current
from dashboard.exports.telemetry.selectors import destinations_of


@require_safe
def page(request: HttpRequest) -> HttpResponse:
    """All destinations. Of an endpoint its host alone, for a path may be a secret."""
    shown = [(one, urlsplit(one.endpoint).netloc) for one in destinations_of(project_current())]
    return render(request, "telemetry/page.html", {"destinations": shown})
