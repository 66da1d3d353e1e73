from django.apps import AppConfig


class AgentsConfig(AppConfig):
    """Who is asked, where, and within which limits: connections, policies, agents."""

    name = "dashboard.agents"
    label = "agents"
    default_auto_field = "django.db.models.BigAutoField"
