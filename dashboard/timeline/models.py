"""What is stored for the timeline beside the turns.

Rollup       how many turns of a cohort began in a minute, an hour, a day, or ever
Change       what has been added to the counts or taken from them and is not folded into the rollups yet
ChangedMinute  a minute whose turns have changed since they were last summed for the metrics board
SavedView    a timeline's filters under a name
BulkAction   what somebody did to many turns at once: the audit, append-only
"""

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models

from dashboard.platform.ids import new_id


class Rollup(models.Model):
    """Turns of one cohort that started within `seconds` from `start` (UTC). With `seconds` 0: all of them."""

    pk = models.CompositePrimaryKey("project_id", "seconds", "start", "cohort")
    project = models.ForeignKey("agents.Project", on_delete=models.CASCADE, db_index=False)
    seconds = models.IntegerField()
    start = models.DateTimeField()
    cohort = models.IntegerField()  #: `turns.Cohort.id`
    count = models.BigIntegerField()


class Change(models.Model):
    """How many turns of a minute joined a cohort, or left it (negative). Rows are only inserted, so that writers do not
    wait for each other; the job that sums them deletes them."""

    project = models.ForeignKey("agents.Project", on_delete=models.CASCADE, db_index=False, db_constraint=False)
    minute = models.DateTimeField()
    cohort = models.IntegerField()
    count = models.BigIntegerField()


class ChangedMinute(models.Model):
    """A minute whose turns have changed since `dashboard.board.sum_updates` last summed them."""

    pk = models.CompositePrimaryKey("project_id", "minute")
    project = models.ForeignKey("agents.Project", on_delete=models.CASCADE, db_index=False, db_constraint=False)
    minute = models.DateTimeField(db_index=True)


class SavedView(models.Model):
    """A named set of filters. `query` is a query string. Everybody sees a shared view; only its owner changes it."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    project = models.ForeignKey("agents.Project", on_delete=models.CASCADE, db_index=False)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE)
    name = models.CharField(max_length=80)
    query = models.TextField(blank=True)
    shared = models.BooleanField(default=False)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["name", "id"]
        constraints = [models.UniqueConstraint(fields=["project", "owner", "name"], name="timeline_savedview_name")]

    def __str__(self) -> str:
        return self.name


class BulkAction(models.Model):
    """One bulk action: turns that were tagged or erased, or whose raw responses were removed. Of an erased turn only
    the id remains."""

    class Kind(models.TextChoices):
        TAG = "tag"
        ERASE = "erase"
        RAW = "raw"  #: raw answers whose time was over; the turns stay

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    project = models.ForeignKey("agents.Project", on_delete=models.PROTECT)
    kind = models.TextField(choices=Kind)
    by = models.TextField()  #: the user's name, which outlives the user
    at = models.DateTimeField(auto_now_add=True)
    filter = models.JSONField(null=True)  #: as the timeline's, where the turns were named so
    turn_ids = ArrayField(models.UUIDField())
    added = ArrayField(models.TextField(), default=list)  #: tags
    removed = ArrayField(models.TextField(), default=list)  #: tags

    def __str__(self) -> str:
        return f"{self.kind} by {self.by} {self.at:%Y-%m-%d %H:%M}"
