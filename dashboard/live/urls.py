"""`/live`, `/agents/<name>/live` and the cancelling of a turn."""

from django.urls import path

from dashboard.live import views
from dashboard.turns.urls import either

app_name = "live"

urlpatterns = [
    path("live/", views.choose, name="choose"),
    path("live", views.choose),
    *either("agents/<str:name>/live", views.agent, "agent"),
    *either("turns/<uuid:turn_id>/cancel", views.cancel, "cancel"),
]
