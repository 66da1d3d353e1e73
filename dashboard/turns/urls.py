"""`/turns/<id>` and what belongs to a turn. Each address answers with and without a last slash."""

from dashboard.platform.url_patterns import either
from dashboard.turns import views

app_name = "turns"

urlpatterns = [
    *either("glossary", views.glossary, "glossary"),
    *either("turns/<uuid:turn_id>", views.detail, "detail"),
    *either("turns/<uuid:turn_id>/transcript", views.transcript, "transcript"),
    *either("turns/<uuid:turn_id>/attempts", views.attempts, "attempts"),
    *either("turns/<uuid:turn_id>/attempts/<int:index>/raw", views.attempt_raw, "attempt_raw"),
    *either("turns/<uuid:turn_id>/attempts/<int:index>/bytes", views.attempt_bytes, "attempt_bytes"),
    *either("turns/<uuid:turn_id>/attempts/<int:index>/request", views.attempt_request, "attempt_request"),
    *either("turns/<uuid:turn_id>/attempts/<int:index>/curl", views.attempt_curl, "attempt_curl"),
]
