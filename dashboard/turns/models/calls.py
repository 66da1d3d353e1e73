"""The calls of a turn: of the model, with the bytes of its answers, and of tools."""

from django.db import models

from dashboard.platform.fields import ExactJSONField, KeptOnceField, ShownTextField
from dashboard.turns.record_compression import RawField
from dashboard.turns.shared_values import RequestField

#: Stands among an attempt's response headers where an operator answered in the model's place: who.
ANSWERED_BY = "x-whystop-answered-by"
#: The text of an attempt, and that of a piece of its answer, where it stands whole in the turn's row or the attempt's.
_IN_TURN = "SELECT turn.output_text FROM turns_turn turn WHERE turn.id = {row}.turn_id"
_IN_ATTEMPT = (
    "SELECT coalesce(call.text, (SELECT turn.output_text FROM turns_turn turn WHERE turn.id = call.turn_id)) "
    "FROM turns_attempt call WHERE call.turn_id = {row}.turn_id AND call.index = {row}.attempt"
)


class Attempt(models.Model):
    """One model call. It changes while it runs; after `duration_ms` is set, the database rejects changes."""

    pk = models.CompositePrimaryKey("turn_id", "index")
    turn_id = models.UUIDField()
    index = models.PositiveIntegerField()  #: from 1
    kind = models.TextField()
    iteration = models.PositiveIntegerField()
    provider = models.TextField()
    model = models.TextField()
    max_tokens = models.PositiveIntegerField(null=True)  #: null: none was sent (`sent_caps`)
    #: The body as JSON text, its message list replaced by `{"history": n, "tail": [...]}`: the first n `TurnMessage`s
    #: of the turn, then these.
    request = RequestField()
    request_sha256 = models.TextField()  #: of the body as it was sent
    request_url = models.TextField()
    status_code = models.PositiveIntegerField(null=True)
    response_headers = ExactJSONField(null=True)
    content_type = models.TextField(default="", blank=True)
    stop_reason = models.TextField(null=True)
    raw_stop_reason = ShownTextField(null=True)
    usage = ExactJSONField(null=True)
    text = KeptOnceField(default="", blank=True, elsewhere=_IN_TURN)  #: its answer; null: the turn's `output_text`
    tool_calls = ExactJSONField(default=list)
    error = ExactJSONField(null=True)
    started_at = models.DateTimeField()
    first_token_ms = models.PositiveBigIntegerField(null=True)
    duration_ms = models.PositiveBigIntegerField(null=True)
    #: the bytes of an answer that was kept whole, when it had ended, as `packed_raw` makes them; others are
    #: `AttemptChunk`s
    raw = models.BinaryField(null=True)
    raw_text = models.TextField(null=True)  #: that was decoded from them as they came; null: the attempt's
    raw_at = models.DateTimeField(null=True)  #: when they came

    class Meta:
        ordering = ["turn_id", "index"]

    @property
    def answered_by(self) -> str:
        """Who answered in the model's place; empty where it was asked."""
        return str((self.response_headers or {}).get(ANSWERED_BY, ""))


class PieceOfAnswer(models.Model):
    """A piece of an answer as it came over the wire, and the text that was decoded from it."""

    pk = models.CompositePrimaryKey("turn_id", "attempt", "n")
    turn_id = models.UUIDField()
    attempt = models.PositiveIntegerField()  #: `Attempt.index`
    n = models.PositiveIntegerField()  #: from 1
    raw = RawField()
    text = KeptOnceField(default="", blank=True, elsewhere=_IN_ATTEMPT)  #: the text in it; null: the attempt's
    at = models.DateTimeField()

    class Meta:
        abstract = True
        ordering = ["turn_id", "attempt", "n"]


class AttemptChunk(PieceOfAnswer):
    """A part of an answer that was stored while it was still streaming. Append-only."""

    class Meta(PieceOfAnswer.Meta):
        pass


class Piece(PieceOfAnswer):
    """A piece of any answer: of a view, so only read. An answer that was kept whole is one."""

    class Meta(PieceOfAnswer.Meta):
        managed = False
        db_table = "turns_piece"


class ToolClaim(models.Model):
    """Written before a tool runs. `finished_at` stays null if the tool did not return."""

    pk = models.CompositePrimaryKey("turn_id", "call_id")
    turn_id = models.UUIDField()
    call_id = models.TextField()
    name = models.TextField()
    claimed_at = models.DateTimeField(auto_now_add=True)
    idempotent = models.BooleanField()
    result = ShownTextField(null=True)
    error = ShownTextField(null=True)
    finished_at = models.DateTimeField(null=True)
