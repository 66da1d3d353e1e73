"""Sum: what turns come to that were made in a span of time."""

from django.db import models


class Sum(models.Model):
    """Turns of one agent, provider and model that started within `seconds` from `start` (UTC)."""

    pk = models.CompositePrimaryKey("project_id", "seconds", "start", "agent_name", "provider", "model")
    project = models.ForeignKey("agents.Project", on_delete=models.CASCADE, db_index=False)
    seconds = models.IntegerField()
    start = models.DateTimeField()
    agent_name = models.TextField()
    provider = models.TextField()
    model = models.TextField()
    sums = models.JSONField()  #: numbers by measure (`measures`); what is 0 is left out
