"""Backtest: a policy tried over stored turns. Part: a range of them, judged by whoever is free."""

from django.conf import settings
from django.db import models

from dashboard.platform.ids import new_id


class Backtest(models.Model):
    """A draft policy evaluated on stored turns. Totals are sums of its parts; deltas cover the turns with a known end.

    `dollars_delta` is of those whose price is known; `unpriced` counts the others.
    """

    class Status(models.TextChoices):
        QUEUED = "queued"
        RUNNING = "running"
        DONE = "done"
        FAILED = "failed"
        CANCELLED = "cancelled"

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    project = models.ForeignKey("agents.Project", on_delete=models.PROTECT)
    policy = models.JSONField(default=dict)
    filter = models.JSONField(default=dict)  #: as the timeline's
    max_tokens = models.PositiveIntegerField(null=True)  #: of the first call; null: as each turn had it
    #: Whose place among a turn's policies the draft takes (`policy_layers.tried`); null: it stands alone, for all.
    stands_for = models.ForeignKey("agents.Policy", null=True, blank=True, on_delete=models.CASCADE, related_name="+")
    #: The version that its settings started from, by id; null: unsaved settings.
    tried_version = models.UUIDField(null=True, blank=True)
    #: Whether a draft that stands alone leaves each turn its own overrides; one in place of a policy always does.
    keeps_overrides = models.BooleanField(default=False, db_default=False)
    status = models.TextField(choices=Status, default=Status.QUEUED)
    total = models.PositiveIntegerField(default=0)
    done = models.PositiveIntegerField(default=0)
    same = models.PositiveIntegerField(default=0)
    flipped = models.PositiveIntegerField(default=0)
    undecidable = models.PositiveIntegerField(default=0)
    #: Of the decided ones, how certain that is; with the undecidable they add up to `done`. Null: some were judged
    #: before certainties were counted.
    recorded = models.PositiveIntegerField(null=True, default=0)
    certain = models.PositiveIntegerField(null=True, default=0)
    estimated = models.PositiveIntegerField(null=True, default=0)
    tokens_delta = models.BigIntegerField(default=0)
    calls_delta = models.BigIntegerField(default=0)
    seconds_delta = models.FloatField(default=0)
    dollars_delta = models.FloatField(default=0)
    unpriced = models.PositiveIntegerField(default=0)
    flipped_turns = models.JSONField(default=list)
    groups = models.JSONField(default=list)  #: the same by provider and model (`tallies.Group`), the largest first
    flips = models.JSONField(default=list)  #: the first flipped turns, each `tallies.Flip`
    unended_turns = models.JSONField(default=list)  #: the first that would have continued to an unknown end, by id
    undecided = models.JSONField(default=list, db_default=[])  #: the first undecidable turns, each `tallies.Undecided`
    created_at = models.DateTimeField(auto_now_add=True)
    finished_at = models.DateTimeField(null=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL)

    class Meta:
        db_table = "turns_backtest"  # where it was before it had an app of its own

    def __str__(self) -> str:
        return f"backtest {self.id}"

    @property
    def waits(self) -> bool:
        """Whether turns are still to be judged."""
        return self.status in (self.Status.QUEUED, self.Status.RUNNING)


class Part(models.Model):
    """The turns of a backtest from `low` to `high`, inclusive. It counts once all of them are evaluated."""

    backtest = models.ForeignKey(Backtest, on_delete=models.CASCADE, related_name="parts")
    low = models.UUIDField()
    high = models.UUIDField()
    total = models.PositiveIntegerField()
    judged = models.BooleanField(default=False)

    def __str__(self) -> str:
        return f"part {self.pk} of {self.backtest_id}"
