"""What is stored of a turn.

Turn            one row per turn: where it stands, a projection of its records
Record          its history, event → transitions → command: the truth, append-only
Outcome         one judgement of the history, for finding and counting; read out of the records by the database
Attempt         one call of the model, as it was sent and answered
AttemptChunk    a piece of an answer that was kept before the answer had ended
Piece           the answer's raw bytes, as they came; read out of both by the database, until their time is over
                (`Turn.keep_raw_days`)
Node            a message after those before it, in each form in which it was said; turns share them (`nodes`)
TurnMessage     the conversation in the provider's form, of turns from before there were nodes
ClientRequest   what a client of the gateway sent, of turns from before that was a node (`nodes.Form.FRAME`)
Checkpoint      a snapshot every so many records, so that a long history folds quickly
ToolClaim       a tool that was started, whether or not it came back
Cohort          what turns that are alike in every facet have in common; kept by the database (migration 0007)

The large tables (Record, Attempt, AttemptChunk) are partitioned by `turn_id` (see `partitions`), and rows of a
turn carry its id without a foreign key. The database itself refuses to change history (migration 0002): rows are
deleted only where the transaction has said `SET LOCAL whystop.erasing = 'on'`.
"""

from collections.abc import Collection
from contextlib import suppress
from typing import Any, Self
from uuid import UUID

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import F

from agentcore.errors import ErrorType
from agentcore.reasons import TurnStatus
from dashboard.accounts.roles import TURN_PERMISSIONS
from dashboard.turns.fields import ExactJSONField, KeptOnceField, ShownTextField
from dashboard.turns.ids import new_id
from dashboard.turns.indexes import ACTED, FINDING, MARKED, RAW_DUE, RUNNING_ON, SEARCHING
from dashboard.turns.known_answers import AnswersField
from dashboard.turns.record_compression import RawField, unpacked_columns
from dashboard.turns.run_sums import RunSums
from dashboard.turns.shared_values import UNREADABLE, BeginningField, RequestField, RulesField, beginning

UNFINISHED = (TurnStatus.QUEUED.value, TurnStatus.RUNNING.value, TurnStatus.HELD.value)
#: Stands among an attempt's response headers where an operator answered in the model's place: who.
ANSWERED_BY = "x-whystop-answered-by"
#: The text of an attempt, and that of a piece of its answer, where it stands whole in the turn's row or the attempt's.
_IN_TURN = "SELECT turn.output_text FROM turns_turn turn WHERE turn.id = {row}.turn_id"
_IN_ATTEMPT = (
    "SELECT coalesce(call.text, (SELECT turn.output_text FROM turns_turn turn WHERE turn.id = call.turn_id)) "
    "FROM turns_attempt call WHERE call.turn_id = {row}.turn_id AND call.index = {row}.attempt"
)


class Turn(models.Model):
    """One user input until the final answer. Reasons are null until they are known; times and durations too."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    project = models.ForeignKey("agents.Project", on_delete=models.PROTECT, db_index=False)
    agent = models.ForeignKey("agents.Agent", null=True, on_delete=models.SET_NULL)
    agent_name = models.TextField()
    provider = models.TextField()
    model = models.TextField()
    status = models.TextField(default=TurnStatus.QUEUED.value)
    state = models.TextField(default="idle")  #: of the machine
    stop_reason = models.TextField(null=True)
    model_stop_reason = models.TextField(null=True)
    raw_stop_reason = ShownTextField(null=True)
    terminal_reason = models.TextField(null=True)
    resource = models.TextField(null=True)  #: the limit that ended it (`agentcore.resource`)
    error_type = models.TextField(null=True)  #: of the last failure, also where the turn got over it
    error_code = ShownTextField(null=True)
    error_message = ShownTextField(default="", blank=True)
    input_text = ShownTextField(default="", blank=True)
    output_text = ShownTextField(default="", blank=True)
    notice = ShownTextField(default="", blank=True)
    verdict = ShownTextField(default="", blank=True)
    input_tokens = models.PositiveBigIntegerField(default=0)
    output_tokens = models.PositiveBigIntegerField(default=0)
    tokens_estimated = models.BooleanField(default=False)
    attempts = models.PositiveIntegerField(default=0)
    continuations = models.PositiveIntegerField(default=0)
    tool_repairs = models.PositiveIntegerField(default=0)
    envelope_retries = models.PositiveIntegerField(default=0)
    max_tokens = models.PositiveIntegerField()  #: of the first call
    created_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)
    duration_ms = models.PositiveBigIntegerField(null=True)
    policy_version = models.ForeignKey("agents.PolicyVersion", null=True, on_delete=models.PROTECT)
    policy = RulesField(default=dict)  #: the policy as the turn uses it (`agentcore.serial`)
    overrides = ExactJSONField(default=dict)  #: what was asked for beside the policy
    #: who said each field of the policy (`dashboard.agents.policy_resolution`); null for turns from before there were
    #: layers
    policy_sources = RulesField(null=True)
    #: how long raw answers (`AttemptChunk`) stay once the turn has ended, as its policy said; null: for ever
    keep_raw_days = models.PositiveIntegerField(null=True)
    raw_removed_at = models.DateTimeField(null=True)  #: when they were removed (`dashboard.timeline.retention`)
    #: the agent's part of the `started` event; with its messages until it is recorded (`history.begun_as`)
    setup = BeginningField(default=dict)
    #: the last message of the conversation, for attempts to refer to; null where none was sent, or in `TurnMessage`s
    node = models.ForeignKey("turns.Node", null=True, on_delete=models.PROTECT, related_name="turns", db_index=False)
    #: the last of the values that its rows share with other turns' (`shared_values`)
    shared = models.ForeignKey("turns.Node", null=True, on_delete=models.PROTECT, related_name="+", db_index=False)
    #: the first turn of the run that it is of (`dashboard.runs`); null for that one, and for a turn that is alone
    run_id = models.UUIDField(null=True, editable=False)
    follows = models.UUIDField(null=True, editable=False)  #: the turn whose answer its conversation goes on from
    answered_key = models.UUIDField(null=True, editable=False)  #: of its conversation with its answer (`run_keys`)
    #: of its conversation up to each of the last answers in it, the longest first
    history_keys = ArrayField(models.UUIDField(), null=True, editable=False)
    parent = models.ForeignKey("self", null=True, on_delete=models.SET_NULL, related_name="children")
    forked_at = models.PositiveIntegerField(null=True)  #: seq of the parent's record
    base_snapshot = ExactJSONField(null=True)  #: the parent's, at that record
    breakpoints = ExactJSONField(default=list)
    envelope = ExactJSONField(null=True)  #: the accepted value
    lint = ExactJSONField(default=list)
    last_seq = models.PositiveIntegerField(default=0)  #: of the record this row was projected from
    core_version = models.TextField(default="")
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL)
    tags = ArrayField(models.TextField(), default=list, blank=True)  #: the operator's; see `tags`
    conversation = models.ForeignKey(
        "conversations.Conversation", null=True, on_delete=models.SET_NULL, related_name="turns", db_index=False
    )
    position = models.IntegerField(null=True)  #: in the conversation, from 1
    tokens = models.GeneratedField(
        expression=F("input_tokens") + F("output_tokens"), output_field=models.BigIntegerField(), db_persist=True
    )
    #: `Cohort.id`; a trigger keeps it, whatever is written here.
    cohort = models.IntegerField(null=True, editable=False)

    class Meta:
        indexes = [
            *FINDING,
            models.Index(fields=["status"], condition=models.Q(status__in=UNFINISHED), name="turns_turn_unfinished"),
            *MARKED,
            SEARCHING,
            RAW_DUE,
            *RUNNING_ON,
            models.Index(fields=["node"], condition=models.Q(node__isnull=False), name="turns_turn_node"),
            models.Index(fields=["shared"], condition=models.Q(shared__isnull=False), name="turns_turn_shared"),
        ]
        constraints = [
            models.UniqueConstraint(
                fields=["conversation", "position"],
                condition=models.Q(conversation__isnull=False),
                name="turns_turn_in_conversation",
            )
        ]
        permissions = TURN_PERMISSIONS

    run_sums: RunSums | None = None  #: in a list that is folded into runs, what its run comes to
    price: object = None  #: in a list, what it cost (`dashboard.prices`); None where that is not known
    held_ms: int = 0  #: in a list, how much of its duration it was held (`held_time`)
    snippet: object = None  #: in a list that was searched, where the words stand (`snippets.Snippet`)

    def __str__(self) -> str:
        return f"{self.agent_name} {self.id}"

    @property
    def signs(self) -> list[str]:
        """The codes of `lint`; none of a row that was damaged."""
        return self.lint if isinstance(self.lint, list) else []

    @property
    def run(self) -> UUID:
        """Of which run it is: the id of its first turn."""
        return self.run_id or self.id

    @property
    def out_of_time(self) -> bool:
        """Whether its own time limit ended a call of it: no provider failed."""
        return self.resource == "max_seconds" and self.error_type == ErrorType.TIMEOUT

    @property
    def took_ms(self) -> int | None:
        """In a list: its duration without the time it was held, as limits count; None while it runs."""
        return None if self.duration_ms is None else max(0, self.duration_ms - self.held_ms)


class Cohort(models.Model):
    """What turns have in common that are alike in every facet. There are few: a page is found cohort by cohort, and
    turns are counted by cohort. Written by the database alone, when the first such turn is."""

    id = models.AutoField(primary_key=True)
    project = models.ForeignKey("agents.Project", on_delete=models.CASCADE, db_index=False)
    stop_reason = models.TextField(null=True)
    model_stop_reason = models.TextField(null=True)
    status = models.TextField()
    provider = models.TextField()
    model = models.TextField()
    agent_name = models.TextField()
    error_type = models.TextField(null=True)
    terminal_reason = models.TextField(null=True)
    resource = models.TextField(null=True)
    continuation = models.BooleanField()
    repair = models.BooleanField()
    envelope_retry = models.BooleanField()
    key = models.UUIDField(unique=True)  #: a digest of all the above

    class Meta:
        indexes = [models.Index(fields=["project", "model"], name="turns_cohort_model")]

    def __str__(self) -> str:
        return f"cohort {self.id}"


class Record(models.Model):
    """One step of a turn's history, or a row of several that were committed together: `record_reader` reads both.

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


class Attempt(models.Model):
    """One call of the model. It changes while it runs; once `duration_ms` is set, the database refuses any change."""

    pk = models.CompositePrimaryKey("turn_id", "index")
    turn_id = models.UUIDField()
    index = models.PositiveIntegerField()  #: from 1
    kind = models.TextField()
    iteration = models.PositiveIntegerField()
    provider = models.TextField()
    model = models.TextField()
    max_tokens = models.PositiveIntegerField()
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
    """A piece that was kept before the answer had ended; append-only."""

    class Meta(PieceOfAnswer.Meta):
        pass


class Piece(PieceOfAnswer):
    """A piece of any answer: of a view, so only read. An answer that was kept whole is one."""

    class Meta(PieceOfAnswer.Meta):
        managed = False
        db_table = "turns_piece"


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
    """A judgement in a row of its own, as a process of an earlier version writes it while this one runs already."""

    class Meta(Judgement.Meta):
        db_table = "turns_outcome"


class Checkpoint(models.Model):
    """All a turn knew of itself after a record, so that its history need not be folded from the start."""

    pk = models.CompositePrimaryKey("turn_id", "seq")
    turn_id = models.UUIDField()
    seq = models.PositiveIntegerField()
    snapshot = ExactJSONField()
    core_version = models.TextField()


class Node(models.Model):
    """A message after those before it, in each form in which it was said (`dashboard.turns.nodes`)."""

    id = models.UUIDField(primary_key=True, editable=False)  #: a keyed hash of parent and content
    parent = models.ForeignKey("self", null=True, on_delete=models.PROTECT, related_name="children")
    packed = models.BinaryField()  #: the content, compressed

    def __str__(self) -> str:
        return f"node {self.id}"


class LooseNode(models.Model):
    """A node whose turn was erased: it goes once nothing else refers to it (`dashboard.timeline.node_cleanup`)."""

    id = models.UUIDField(primary_key=True, editable=False)

    def __str__(self) -> str:
        return f"loose node {self.id}"


class TurnMessage(models.Model):
    """One message of the conversation as the provider is sent it, as JSON text, byte for byte."""

    pk = models.CompositePrimaryKey("turn_id", "n")
    turn_id = models.UUIDField()
    n = models.PositiveIntegerField()  #: from 0
    wire = models.TextField()

    class Meta:
        ordering = ["turn_id", "n"]


class ClientRequest(models.Model):
    """The request that a turn answers, from which its body is made again byte for byte (`history.client_body_of`)."""

    turn_id = models.UUIDField(primary_key=True)
    #: what stands around the messages, which are the turn's (`Turn.node`); null for requests from before nodes
    frame = models.ForeignKey(Node, null=True, on_delete=models.PROTECT, related_name="requests", db_index=False)
    body = models.BinaryField(null=True)  #: of such a request

    class Meta:
        indexes = [
            models.Index(fields=["frame"], condition=models.Q(frame__isnull=False), name="turns_clientrequest_frame")
        ]

    def __str__(self) -> str:
        return f"request of {self.turn_id}"


class ToolClaim(models.Model):
    """Written before a tool runs; `finished_at` stays null if it never came back."""

    pk = models.CompositePrimaryKey("turn_id", "call_id")
    turn_id = models.UUIDField()
    call_id = models.TextField()
    name = models.TextField()
    claimed_at = models.DateTimeField(auto_now_add=True)
    idempotent = models.BooleanField()
    result = ShownTextField(null=True)
    error = ShownTextField(null=True)
    finished_at = models.DateTimeField(null=True)
