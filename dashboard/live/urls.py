"""`/live`, `/agents/<name>/live` and what a person does to a running turn."""

from django.urls import path

from dashboard.live import views
from dashboard.live.conversations import views as conversations
from dashboard.platform.url_patterns import either

app_name = "live"

urlpatterns = [
    path("live/", conversations.choose, name="choose"),
    path("live", conversations.choose),
    *either("agents/<str:name>/live", conversations.agent, "agent"),
    *either("turns/<uuid:turn_id>/control", views.control, "control"),
    *either("turns/<uuid:turn_id>/operate", views.panel, "panel"),
    *either("turns/<uuid:turn_id>/cancel", views.cancel, "cancel"),
]
