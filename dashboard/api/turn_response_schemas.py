"""Response schemas of turns and of what they consist of (design §4.3)."""

from datetime import datetime
from typing import Literal
from uuid import UUID

from pydantic import BaseModel, Field

from agentcore.lint import CODES
from agentcore.reasons import AttemptKind, NormalizedStopReason, StopReason, TurnStatus
from dashboard.api.response_fields import Json, MaybeObject, Object, Objects, words
from dashboard.api.suggestion_response_schemas import EXAMPLE, NONE, Suggestion
from dashboard.turns.endings import names_by_status


class Origin(BaseModel):
    """The origin of an imported turn: who imported it and when, and the result of the weakest signature on its way
    here."""

    imported_at: datetime
    imported_by: str
    exported_at: datetime
    original_id: UUID = Field(
        description="The id of the turn in the installation that recorded it, according to the file."
    )
    signature: Literal["own", "known", "sender", "unknown", "unsigned", "broken"]
    installation: str = Field(description="The name of the known installation that signed.")
    public_key: str = Field(description="The public key of the signer in base64; empty without a valid signature.")
    doubt: str = Field(description="Why the verification failed; empty if it succeeded.")


class IngestNote(BaseModel):
    """What is not known about an ingested turn, or differs from what its provider reported."""

    code: str = Field(description="Such as `reason_unknown`, `cut_call_lost`, `told_twice`.")
    words: str
    attempt: int = Field(description="The number of the call; 0 for the whole turn.")


class Ingested(BaseModel):
    """The source of a turn that was built from a trace or a log, and what the source does not contain."""

    ingested_at: datetime
    log: str = Field(description="The log file that the turn was imported from; empty for a turn from a trace.")
    instrumentations: list[str]
    service: str = Field(description="The service name of the trace.")
    provider: str = Field(description="The provider named in the trace; the `provider` of the turn is the API dialect.")
    trace_id: str
    span_ids: list[str]
    loop: str = Field(description="The agent or chain around the calls; empty if there is none.")
    loop_reason: str | None = Field(description="The stop reason of the agent or chain, if it has one.")
    consistent_with: str = Field(description="The policy that is consistent with the calls.")
    notes: list[IngestNote]


class RecordedTurn(BaseModel):
    """What is recorded of a turn, or what a what-if makes of it."""

    id: UUID
    agent: str
    provider: str = Field(
        description="The API dialect of the calls. It is also that of the simulator, whose turns are `simulated`."
    )
    model: str
    status: str = Field(
        description=f"{words(TurnStatus)}. Pages read it together with the stop reasons, as one ending: "
        f"{names_by_status()}."
    )
    stop_reason: str | None = Field(description="Why the agent stopped: " + words(StopReason))
    model_stop_reason: str | None = Field(description="Why the model stopped: " + words(NormalizedStopReason))
    raw_stop_reason: str | None = Field(description="The provider's stop reason.")
    terminal_reason: str | None = Field(description="Why the turn ended, more precise than `stop_reason`.")
    error_code: str | None = Field(description="The code of the error that ended the turn; null if none did.")
    output_text: str
    notice: str = Field(description="The notice about missing content. It is not part of the answer.")
    input_tokens: int = Field(description="The sum of all calls; a fork counts its own calls, not the inherited ones.")
    output_tokens: int = Field(description="Reasoning included; counted as `input_tokens` are.")
    tokens_estimated: bool = Field(
        description="Whether the numbers include estimates, because the provider did not report some tokens."
    )
    attempts: int = Field(description="The number of model calls; for a fork, its own.")
    continuations: int
    tool_repairs: int
    envelope_retries: int
    started_at: datetime | None
    finished_at: datetime | None
    duration_ms: int | None = Field(
        description="From start to end. It includes the time for which operators held the turn, which no limit counts. "
        "Null while the turn runs, and if a log was imported that gives no times."
    )
    policy_version: int | None = Field(description="The version of the policy that the turn runs under.")
    parent_id: UUID | None = Field(description="The turn that this one re-runs or forks; null for all others.")
    forked_at: int | None = Field(description="The record of the parent at which this turn began.")
    run_id: UUID = Field(
        description="The run of the turn, by the id of the run's first turn; its own id if no turn came before."
    )
    envelope: Json = Field(description="The accepted structured answer.")
    lint: list[str] = Field(description="Signs of truncation: " + words(CODES))
    verdict: str = Field(
        description="Why the turn stopped, in a sentence, by its recording alone; not empty once the turn has ended. "
        "It names a limit only if the recording determines it. The limit that other turns or re-runs show is in "
        "`suggestion`."
    )
    origin: Origin | None = Field(description="The origin of an imported turn; null for a turn that was recorded here.")
    ingested: Ingested | None = Field(description="The origin of an ingested turn; null for other turns.")
    simulated: bool = Field(
        description="Whether the model is one of the built-in simulator, which is free and calls no provider."
    )


class Turn(RecordedTurn):
    """One user input until the final answer."""

    suggestion: Suggestion | None = Field(
        examples=[EXAMPLE],
        description="The limit that would have let the turn finish, or complete in one call, as its page and its row "
        f"in the timeline show it. It is computed when it is read. {NONE} In a list also null if the search for "
        "similar turns took too long.",
    )


class NotDone(BaseModel):
    """An action that was accepted but came too late. No record contains it."""

    action: str
    by: str
    asked_at: datetime
    why: str


class TurnNow(Turn):
    """A turn, the position of its call in the queue, and the actions that came too late."""

    waiting: str | None = Field(
        description="Such as “waiting for a slot of connection simulator, 3rd in the queue”; null if no call waits."
    )
    not_done: list[NotDone] = Field(description="The last three actions that came too late, newest first.")


class TurnPage(BaseModel):
    items: list[Turn]
    next: str | None = Field(description="The cursor of the older turns; null on the last page.")
    previous: str | None = Field(description="The cursor of the newer turns; null on the first page.")


class Attempt(BaseModel):
    """One call of the model."""

    index: int
    kind: str = Field(description=words(AttemptKind))
    iteration: int
    max_tokens: int | None = Field(description="Null: no limit was sent.")
    max_tokens_demanded: bool = Field(
        description="True: not set by the caller. The provider's API requires a limit, so Whystop sends its own."
    )
    request: Json = Field(description="The body as it was sent.")
    response: MaybeObject = Field(
        description="`{content_type, headers, body}`; `truncated` is true where the body is only its first MB; null, "
        "with the time as `removed_at`, where it is not kept any more."
    )
    status_code: int | None
    stop_reason: str | None
    raw_stop_reason: str | None
    usage: MaybeObject = Field(description="The tokens that the provider reported; null if it reported none.")
    tokens_estimated: bool = Field(
        description="The provider answered without token counts: the turn uses an estimate for this call."
    )
    text: str
    tool_calls: Objects
    error: MaybeObject
    started_at: datetime
    first_token_ms: int | None
    duration_ms: int | None


class Record(BaseModel):
    """One row of a turn's history."""

    seq: int
    at: datetime
    event: Object
    transitions: Objects = Field(description="`{from, trigger, to, reason, outcome}` each.")
    command: Object
    observed: Objects


class Draft(BaseModel):
    """What was added to an answer that streams; the record that brings the answer takes its place."""

    attempt: int
    offset: int = Field(description="Unicode code points of the answer before this text.")
    text: str


class Evaluation(BaseModel):
    """The combined result of all criteria at one decision; `evaluations` has the result of each."""

    seq: int
    position: int
    state: str
    decision: str
    resolved_by: str
    stop_reason: str
    error_type: str | None
    handling: str | None
    evaluations: Objects = Field(
        description="`{criterion, decision, reason, context, message?}` each; `message`: the text that a Request sends "
        "to the model."
    )


class Comment(BaseModel):
    id: UUID
    imported: bool = Field(description="The comment was imported with a file; the author is as claimed by the file.")
    transition: int = Field(description="The number of the transition, from 1; 0 for the whole turn.")
    author: str
    text: str
    created_at: datetime
    edited_at: datetime | None
