"""What the audit log holds. Migration 0001 has the triggers that let no row be changed or deleted."""

from django.db import models

from dashboard.platform.ids import new_id


class Entry(models.Model):
    """One action. It refers to what it changed by address; `selectors` adds the configuration changes in its course."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    began_at = models.DateTimeField()  #: when the request arrived
    #: when it was done; the database puts it after the last seal of the log (`dashboard.turns.seals`)
    at = models.DateTimeField()
    by = models.TextField()  #: the user's name; it stays when the user goes
    via = models.TextField()  #: `session`, `token NAME` or `command`
    address = models.TextField()  #: of the client; empty for a command
    method = models.TextField()  #: of HTTP; empty for a command
    action = models.TextField()  #: the address's pattern, such as `turns/<uuid:turn_id>/cancel`, or the command's name
    target = models.TextField()  #: the address that was asked, or the command's arguments without secrets
    status = models.PositiveIntegerField(null=True)  #: of HTTP; null for a command
    led_to = models.TextField(default="", blank=True)  #: the address that the answer sends on to
    #: in which it was done; null: no project (`projects.sees_all_projects` says who reads it)
    project_id = models.UUIDField(null=True, editable=False)

    class Meta:
        ordering = ["-id"]
        indexes = [
            models.Index(fields=["by", "-id"], name="audit_entry_by"),
            models.Index(fields=["action", "-id"], name="audit_entry_action"),
            models.Index(fields=["project_id", "-id"], name="audit_entry_project"),
            models.Index(fields=["at", "id"], name="audit_entry_at"),
        ]

    def __str__(self) -> str:
        return f"{self.action} by {self.by}"
