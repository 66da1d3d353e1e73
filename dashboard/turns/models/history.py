"""The history of a turn: its records, what was judged in them, and snapshots of what they came to."""

from collections.abc import Collection
from contextlib import suppress
from typing import Any, Self

from django.db import models

from dashboard.platform.fields import ExactJSONField
from dashboard.turns.indexes import ACTED
from dashboard.turns.known_answers import AnswersField
from dashboard.turns.record_compression import unpacked_columns
from dashboard.turns.shared_values import UNREADABLE, BeginningField, beginning


class Record(models.Model):
    """One step of a turn's history, or one row of several steps that were committed together (see `record_reader`).

    Its primary key is the fence: a late writer's insert fails, and it stops.
    """

    pk = models.CompositePrimaryKey("turn_id", "seq")
    turn_id = models.UUIDField()
    seq = models.PositiveIntegerField()  #: from 1, without gaps; where the row holds several, of the first
    length = models.PositiveIntegerField(db_default=1)  #: how many records the row holds
    at = models.DateTimeField()
    event = BeginningField()
    transitions = ExactJSONField(default=list)
    command = ExactJSONField()
    observed = ExactJSONField(default=list)
    core_version = models.TextField()
    #: the four columns of JSON as they are, compressed (`record_compression`); they themselves have what statements ask
    #: for
    packed = models.BinaryField(null=True)
    judged = ExactJSONField(null=True)  #: its judgements (`row_mapping.judged_column`), which `turns_judgement` tells

    class Meta:
        ordering = ["turn_id", "seq"]
        indexes = [ACTED]

    @classmethod
    def from_db(cls, db: str | None, field_names: Collection[str], values: Collection[Any], **options: Any) -> Self:
        """Whole, however its row holds it; of one that cannot be read, or of several, what its columns have."""
        record = super().from_db(db, field_names, values, **options)
        content = record.__dict__.get("packed") if record.__dict__.get("length") == 1 else None
        with suppress(*UNREADABLE):
            told = unpacked_columns(content) if content is not None else {}
            vars(record).update(told and {**told, "event": beginning(told["event"])})
        return record


class Judgement(models.Model):
    """What all criteria together said at one moment, and what was done about an error. Derived from the records."""

    pk = models.CompositePrimaryKey("turn_id", "seq", "position")
    turn_id = models.UUIDField()
    seq = models.PositiveIntegerField()  #: `Record.seq`
    position = models.PositiveIntegerField()  #: among the transitions of the record
    state = models.TextField()
    decision = models.TextField()
    resolved_by = models.TextField()
    stop_reason = models.TextField()
    error_type = models.TextField(null=True)
    handling = models.TextField(null=True)
    evaluations = AnswersField(default=list)

    class Meta:
        abstract = True
        ordering = ["turn_id", "seq", "position"]


class Outcome(Judgement):
    """A judgement: of a view over the records, so only read."""

    class Meta(Judgement.Meta):
        managed = False
        db_table = "turns_judgement"


class StrayOutcome(Judgement):
    """A judgement in a row of its own, written by a process of an earlier release that is still running."""

    class Meta(Judgement.Meta):
        db_table = "turns_outcome"


class Checkpoint(models.Model):
    """The snapshot of a turn after a record, so that its history need not be read from the start."""

    pk = models.CompositePrimaryKey("turn_id", "seq")
    turn_id = models.UUIDField()
    seq = models.PositiveIntegerField()
    snapshot = ExactJSONField()
    core_version = models.TextField()
