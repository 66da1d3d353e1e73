"""`/runs/<id>`; the list of runs is the timeline, folded (`/?fold=runs`)."""

from dashboard.platform.url_patterns import either
from dashboard.timeline.runs import views

app_name = "runs"

urlpatterns = [*either("runs/<uuid:run_id>", views.page, "page")]
