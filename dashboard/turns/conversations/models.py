"""Conversations. Their turns are `Turn.conversation`, in the order of `Turn.position`."""

from django.conf import settings
from django.db import models

from dashboard.platform.fields import ShownTextField
from dashboard.platform.ids import new_id


class Conversation(models.Model):
    """Turns with one agent. Starting, ending or queueing one of them locks this row."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    project = models.ForeignKey("agents.Project", on_delete=models.PROTECT, db_index=False)
    agent = models.ForeignKey("agents.Agent", null=True, on_delete=models.SET_NULL, db_index=False)
    agent_name = models.TextField()  #: stays when the agent is gone
    title = ShownTextField(default="", blank=True)  #: the beginning of the first prompt; empty before there is one
    token_budget = models.PositiveBigIntegerField(null=True, blank=True)  #: input and output of all turns; None: none
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        indexes = [models.Index(fields=["agent", "-id"], name="conversations_of_agent")]

    def __str__(self) -> str:
        return self.title or f"conversation {self.id}"
