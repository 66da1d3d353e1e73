"""What is kept of traces that came in."""

from uuid import UUID

from django.db import models

from dashboard.platform.fields import ExactJSONField
from dashboard.turns.models import Turn

NO_SENDER = UUID(int=0)  #: of what came before senders were kept apart


class Piece(models.Model):
    """A span, or a log event of one, as it came. Of a span that is not about a model only its place is kept, and that
    only for as long as the trace may still turn out to be (`span_store.PLACES_KEPT`).

    A trace belongs to its sender: what another one sends under the same id is another trace.
    """

    pk = models.CompositePrimaryKey("project_id", "sender", "trace", "span", "part")
    project_id = models.UUIDField()
    sender = models.UUIDField(default=NO_SENDER)  #: whose it is: a key's id, or a user's as a number
    trace = models.UUIDField()  #: of the 16 bytes of the trace's id
    span = models.BigIntegerField()  #: of the 8 bytes of the span's id, as a signed number
    part = models.BigIntegerField()  #: 0: the span itself; else a digest of a log event
    parent = models.BigIntegerField(null=True)  #: as `span`; null: it is the trace's first, or a log event
    content = models.BinaryField(null=True)  #: as JSON, compressed; null: it is not about a model
    answer = models.BigIntegerField(null=True)  #: a digest of the provider's id of the answer; null: not told
    at = models.DateTimeField()  #: when it came

    class Meta:
        indexes = [
            models.Index(fields=["at"], condition=models.Q(content__isnull=True), name="ingest_piece_place"),
            models.Index(
                fields=["project_id", "sender", "answer"],
                condition=models.Q(answer__isnull=False),
                name="ingest_piece_answer",
            ),
        ]

    def __str__(self) -> str:
        return f"span {self.span:x} of trace {self.trace.hex}"


class Ingested(models.Model):
    """The source of an ingested turn. The database deletes it with the turn."""

    turn = models.OneToOneField(
        Turn, on_delete=models.CASCADE, primary_key=True, db_constraint=False, related_name="ingested"
    )
    project_id = models.UUIDField()
    sender = models.UUIDField(default=NO_SENDER)  #: as `Piece.sender`
    trace = models.UUIDField()  #: as `Piece.trace`
    spans = ExactJSONField(default=list)  #: ids of the spans of its calls, in hexadecimal
    instrumentations = ExactJSONField(default=list)  #: that told of it, with their versions
    log = models.TextField(blank=True, default="")  #: the name of the log file that it came from; empty: a trace
    service = models.TextField(blank=True, default="")  #: the program's name, as its exporter gives it
    provider = models.TextField(blank=True, default="")  #: as the trace names it; the turn has its dialect
    loop = models.TextField(blank=True, default="")  #: the name of the agent, or chain, around its calls
    loop_reason = models.TextField(null=True)  #: the stop reason of that, as a whole
    policy = models.TextField(default="")  #: with which policy its history is consistent, in a sentence
    notes = ExactJSONField(default=list)  #: what is not known of it: `{code, words, attempt}`
    #: How much its log told, where several files may tell of it (`logs.episode_ranking`).
    extent = ExactJSONField(default=list, db_default=[])
    digest = models.BinaryField()  #: of its history and of all the above
    ingested_at = models.DateTimeField()  #: when it was made of what had come of its trace

    class Meta:
        indexes = [models.Index(fields=["project_id", "trace"], name="ingest_ingested_trace")]

    def __str__(self) -> str:
        return f"{self.turn_id} of trace {self.trace.hex}"


class Refusal(models.Model):
    """Spans and log records that one sender's exporter was told were refused, counted by why."""

    pk = models.CompositePrimaryKey("project_id", "sender", "why")
    project_id = models.UUIDField()
    sender = models.UUIDField()  #: as `Piece.sender`
    why = models.TextField()  #: in a sentence
    id = models.BigIntegerField(unique=True, editable=False)  #: a number that the database gives, rising
    number = models.PositiveBigIntegerField()  #: how many, since the first
    first_at = models.DateTimeField()  #: when the first was refused
    last_at = models.DateTimeField()  #: when the latest was refused

    def __str__(self) -> str:
        return f"{self.number} of {self.sender}: {self.why}"
