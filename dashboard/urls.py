"""The site map (design §4.2)."""

from django.contrib import admin
from django.urls import include, path
from django.views.generic import RedirectView

from dashboard.accounts.views import admin_login
from dashboard.api.api import api
from dashboard.metrics.views import metrics
from dashboard.runtime.health import health

handler400 = "dashboard.accounts.error_responses.request_refused"
handler500 = "dashboard.accounts.error_responses.server_failed"

urlpatterns = [
    path("healthz", health),
    path("metrics", metrics),
    path("", include("dashboard.accounts.urls")),
    path("", include("dashboard.configuration.project_urls")),
    path("", include("dashboard.accounts.audit.urls")),
    path("", include("dashboard.api.conformance.urls")),
    path("", include("dashboard.documentation.urls")),
    path("api/v1/", api.urls),
    path("admin/login/", admin_login),
    path("admin/password_change/", RedirectView.as_view(pattern_name="accounts:account")),
    path("admin/", admin.site.urls),
    path("", include("dashboard.turns.urls")),
    path("", include("dashboard.timeline.urls")),
    path("", include("dashboard.live.urls")),
    path("", include("dashboard.configuration.agent_urls")),
    path("", include("dashboard.inbox.urls")),
    path("", include("dashboard.live.conversations.urls")),
    path("", include("dashboard.timeline.runs.urls")),
    path("", include("dashboard.replay.urls")),
    path("", include("dashboard.policies.backtest_urls")),
    path("", include("dashboard.policies.predictions.urls")),
    path("", include("dashboard.policies.suggestions.urls")),
    path("", include("dashboard.tour.urls")),
    path("", include("dashboard.timeline.lint.urls")),
    path("", include("dashboard.board.urls")),
    path("", include("dashboard.board.alerts.urls")),
    path("", include("dashboard.ingest.turn_files.urls")),
    path("", include("dashboard.exports.urls")),
    path("", include("dashboard.turns.comments.urls")),
    path("", include("dashboard.replay.comparison.urls")),
    path("", include("dashboard.exports.share_links.urls")),
    path("policies/", include("dashboard.policies.urls")),
    path("gateway/", include("dashboard.gateway.urls")),
    path("webhooks/", include("dashboard.exports.webhooks.urls")),
    path("telemetry/", include("dashboard.exports.telemetry.urls")),
]
