"""`/runs/<id>`; the list of runs is the timeline, folded (`/?fold=runs`)."""

from dashboard.runs import views
from dashboard.turns.urls import either

app_name = "runs"

urlpatterns = [*either("runs/<uuid:run_id>", views.page, "page")]
