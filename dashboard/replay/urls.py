"""`/turns/<id>/replay` and what can be asked there."""

from dashboard.platform.url_patterns import either
from dashboard.replay import rerun_views, views

app_name = "replay"

urlpatterns = [
    *either("turns/<uuid:turn_id>/replay", views.page, "page"),
    *either("turns/<uuid:turn_id>/replay/rerun", views.rerun, "rerun"),
    *either("turns/<uuid:turn_id>/replay/go-on", views.go_on, "go_on"),
    *either("turns/<uuid:turn_id>/replay/again", rerun_views.rerun, "again"),
    *either("turns/<uuid:turn_id>/replay/verify", views.verify, "verify"),
]
