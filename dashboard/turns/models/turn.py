"""A turn: where it stands, a projection of its records; and what turns have in common.

Also holds what the turns of a run come to together.
"""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import F

from agentcore.errors import ErrorType
from agentcore.reasons import TurnStatus
from dashboard.accounts.roles import TURN_PERMISSIONS
from dashboard.platform.fields import ExactJSONField, ShownTextField
from dashboard.platform.ids import new_id
from dashboard.turns.indexes import FINDING, MARKED, RAW_DUE, RUNNING_ON, SEARCHING
from dashboard.turns.shared_values import BeginningField, RulesField


@dataclass(frozen=True, slots=True)
class RunSums:
    """Totals over all turns of one run."""

    id: UUID
    turns: int
    input_tokens: int
    output_tokens: int
    tokens_estimated: bool
    started_at: datetime
    last_at: datetime
    unfinished: bool


UNFINISHED = (TurnStatus.QUEUED.value, TurnStatus.RUNNING.value, TurnStatus.HELD.value)


class Turn(models.Model):
    """One user input until the final answer. Reasons, times and durations are null until they are known."""

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
    max_tokens = models.PositiveIntegerField(null=True)  #: of the first call; null: none was sent (`sent_caps`)
    created_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)
    duration_ms = models.PositiveBigIntegerField(null=True)
    #: for how long it was held so far (`projection.held_ms`), which is part of its duration; lists show `took_ms`
    held_ms = models.PositiveBigIntegerField(db_default=0, default=0)
    policy_version = models.ForeignKey("agents.PolicyVersion", null=True, on_delete=models.PROTECT)
    policy = RulesField(default=dict)  #: the policy as the turn uses it (`agentcore.serial`)
    overrides = ExactJSONField(default=dict)  #: what was asked for beside the policy
    #: who said each field of the policy (`dashboard.agents.policy_resolution`); null for turns from before there were
    #: layers
    policy_sources = RulesField(null=True)
    #: how long raw answers (`AttemptChunk`) stay once the turn has ended, as its policy said; null: forever
    keep_raw_days = models.PositiveIntegerField(null=True)
    raw_removed_at = models.DateTimeField(null=True)  #: when they were removed (`dashboard.timeline.retention`)
    #: the agent's part of the `started` event; with its messages until it is recorded (`history.begun_as`)
    setup = BeginningField(default=dict)
    #: the last message of the conversation, for attempts to refer to; null where none was sent, or in `TurnMessage`s
    node = models.ForeignKey("turns.Node", null=True, on_delete=models.PROTECT, related_name="turns", db_index=False)
    #: the last of the values that its rows share with other turns' (`shared_values`)
    shared = models.ForeignKey("turns.Node", null=True, on_delete=models.PROTECT, related_name="+", db_index=False)
    #: the first turn of its run (`dashboard.timeline.runs`); null for that one, and for a turn that is alone
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
    #: the first sign that the last answer was cut off; empty: none; null in rows from before this was stored
    cut_sign = models.TextField(null=True)
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
    price: object = None  #: in a list, what it cost (`dashboard.turns.prices`); None where that is not known
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
    def tokens_in(self) -> str:
        """Input tokens, as pages show them: unknown where they were not reported, or not yet, and a lower bound where
        those of some calls were not."""
        if not self.input_tokens:
            return "?" if self.tokens_estimated or self.status in UNFINISHED else "0"
        return f"{'≥ ' * self.tokens_estimated}{self.input_tokens:,}"

    @property
    def tokens_in_note(self) -> str:
        """Why they are not a plain number; empty where they are."""
        if self.tokens_in == "?":
            return f"The input tokens were not reported{' yet' * (self.status in UNFINISHED)}."
        return "The input tokens of at least one call may not have been reported." if self.tokens_estimated else ""

    @property
    def rerun_word(self) -> str:
        """What a turn with a parent is: a fork goes on from a record of its parent."""
        return "fork" if self.forked_at else "re-run"

    @property
    def took_ms(self) -> int | None:
        """Its duration without `held_ms`, as limits count; None while it runs, and where it is not recorded."""
        return None if self.duration_ms is None or self.untimed else max(0, self.duration_ms - self.held_ms)

    @property
    def untimed(self) -> bool:
        """Whether the log that it was read from gave no times: no call takes none."""
        return self.duration_ms == 0 and self.attempts > 0


class Cohort(models.Model):
    """Turns that have the same value in every facet. There are few cohorts: pages and counts are read by cohort. The
    database writes a row with the first such turn."""

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
    key = models.UUIDField(unique=True)  #: a digest of all the above; by chance once it was left
    #: Since when no turn joins it, for none was in it; null: turns do. See `timeline.cohort_cleanup`.
    left_at = models.DateTimeField(null=True)

    class Meta:
        indexes = [models.Index(fields=["project", "model"], name="turns_cohort_model")]

    def __str__(self) -> str:
        return f"cohort {self.id}"
