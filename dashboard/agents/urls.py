"""`/agents` and `/connections`: looked at, created and changed."""

from dashboard.agents import views
from dashboard.platform.url_patterns import either

app_name = "agents"

#: No name of an agent or a connection has a plus.
urlpatterns = [
    *either("agents", views.index, "index"),
    *either("agents/+new", views.agent_new, "new"),
    *either("agents/<str:name>", views.agent, "agent"),
    *either("connections", views.connections, "connections"),
    *either("connections/+new", views.connection_new, "connection_new"),
    *either("connections/<str:name>", views.connection, "connection"),
]
