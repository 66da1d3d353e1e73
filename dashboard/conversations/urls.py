"""`/conversations/<id>/budget`; the conversation's page is its agent's, `/agents/<name>/live` (see `live.urls`)."""

from dashboard.conversations import views
from dashboard.turns.urls import either

app_name = "conversations"

urlpatterns = [*either("conversations/<uuid:conversation_id>/budget", views.budget, "budget")]
