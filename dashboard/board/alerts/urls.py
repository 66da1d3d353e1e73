"""`/metrics-board/alerts`: alerts on metrics."""

from django.urls import path

from dashboard.board.alerts import views
from dashboard.platform.url_patterns import either

app_name = "alerting"

urlpatterns = [
    *either("metrics-board/alerts", views.index, "index"),
    *either("metrics-board/alerts/new", views.new, "new"),
    path("metrics-board/alerts/preview", views.preview, name="preview"),
    path("metrics-board/alerts/<uuid:alert_id>", views.alert, name="alert"),
    path("metrics-board/alerts/<uuid:alert_id>/enable", views.enable, name="enable"),
    path("metrics-board/alerts/<uuid:alert_id>/disable", views.disable, name="disable"),
    path("metrics-board/alerts/<uuid:alert_id>/delete", views.delete, name="delete"),
]
