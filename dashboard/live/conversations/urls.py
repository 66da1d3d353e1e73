"""`/conversations/<id>/budget`; the conversation's page is its agent's, `/agents/<name>/live` (see `live.urls`)."""

from dashboard.live.conversations import views
from dashboard.platform.url_patterns import either

app_name = "conversations"

urlpatterns = [*either("conversations/<uuid:conversation_id>/budget", views.budget, "budget")]
