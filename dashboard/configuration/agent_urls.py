"""`/agents` and `/connections`: looked at, created and changed."""

from dashboard.configuration import agent_views
from dashboard.platform.url_patterns import either

app_name = "agents"

#: No name of an agent or a connection has a plus.
urlpatterns = [
    *either("agents", agent_views.index, "index"),
    *either("agents/+new", agent_views.agent_new, "new"),
    *either("agents/<str:name>", agent_views.agent, "agent"),
    *either("connections", agent_views.connections, "connections"),
    *either("connections/+new", agent_views.connection_new, "connection_new"),
    *either("connections/<str:name>", agent_views.connection, "connection"),
]
