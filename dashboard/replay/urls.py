"""`/turns/<id>/replay` and what can be asked there."""

from dashboard.replay import views
from dashboard.turns.urls import either

app_name = "replay"

urlpatterns = [
    *either("turns/<uuid:turn_id>/replay", views.page, "page"),
    *either("turns/<uuid:turn_id>/replay/rerun", views.rerun, "rerun"),
    *either("turns/<uuid:turn_id>/replay/verify", views.verify, "verify"),
]
