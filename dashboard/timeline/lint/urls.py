"""`/lint`: turns whose stop reason may hide a cut."""

from dashboard.platform.url_patterns import either
from dashboard.timeline.lint import views

app_name = "linting"

urlpatterns = either("lint", views.report, "report")
