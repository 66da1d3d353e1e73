"""`/lint`: turns whose stop reason may hide a cut."""

from dashboard.linting import views
from dashboard.turns.urls import either

app_name = "linting"

urlpatterns = either("lint", views.report, "report")
