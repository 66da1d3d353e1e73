"""Response schemas of turns and of what they consist of (design §4.3)."""

from datetime import datetime
from typing import Literal
from uuid import UUID

from pydantic import BaseModel, Field

from agentcore.reasons import AttemptKind, NormalizedStopReason, StopReason, TurnStatus
from dashboard.api.response_fields import Json, MaybeObject, Object, Objects, words


class Origin(BaseModel):
    """Of an imported turn: who imported it and when, and what the weakest signature on its way here proves."""

    imported_at: datetime
    imported_by: str
    exported_at: datetime
    original_id: UUID = Field(description="The turn's id where it was recorded, as the file says.")
    signature: Literal["own", "known", "sender", "unknown", "unsigned", "broken"]
    installation: str = Field(description="The name of the known installation that signed.")
    public_key: str = Field(description="Of whoever signed, in base64; empty where no signature holds.")
    doubt: str = Field(description="Why it was imported as a turn that does not verify; empty where it does.")


class IngestNote(BaseModel):
    """What is not known of an ingested turn, or differs from what its provider said."""

    code: str = Field(description="Such as `reason_unknown`, `cut_call_lost`, `told_twice`.")
    words: str
    attempt: int = Field(description="Of which attempt; 0: of the whole turn.")


class Ingested(BaseModel):
    """Of a turn that was made of a trace, or of a log: what told of it, and what that does not tell."""

    ingested_at: datetime
    log: str = Field(description="The name of the log file that it was imported from; empty: it came of a trace.")
    instrumentations: list[str]
    service: str = Field(description="The program's name, as its exporter gives it.")
    provider: str = Field(description="As the trace names it; the turn's own `provider` is the dialect.")
    trace_id: str
    span_ids: list[str]
    loop: str = Field(description="The agent or chain around its calls; empty: none.")
    loop_reason: str | None = Field(description="The stop reason of that as a whole, where it has one.")
    consistent_with: str = Field(description="The policy that its attempts imply.")
    notes: list[IngestNote]


class Turn(BaseModel):
    """One user input until the final answer."""

    id: UUID
    agent: str
    provider: str
    model: str
    status: str = Field(description=words(TurnStatus))
    stop_reason: str | None = Field(description="Why the agent stopped: " + words(StopReason))
    model_stop_reason: str | None = Field(description="Why the model stopped: " + words(NormalizedStopReason))
    raw_stop_reason: str | None = Field(description="The provider's own word.")
    terminal_reason: str | None
    error_code: str | None
    output_text: str
    notice: str = Field(description="The notice about missing content; not part of the answer.")
    input_tokens: int = Field(
        description="The sum over all its calls; a fork counts its own calls, not the inherited ones."
    )
    output_tokens: int = Field(description="Reasoning included; counted as `input_tokens` are.")
    tokens_estimated: bool = Field(
        description="A provider did not count some of these tokens, so that the numbers hold an estimate of ours."
    )
    attempts: int = Field(description="Calls of the model; of a fork, its own.")
    continuations: int
    tool_repairs: int
    envelope_retries: int
    started_at: datetime | None
    finished_at: datetime | None
    duration_ms: int | None
    policy_version: int | None
    parent_id: UUID | None
    forked_at: int | None = Field(description="The parent's record at which this one began.")
    run_id: UUID = Field(
        description="The run it is of, by the id of the run's first turn: its own where nothing came before it."
    )
    envelope: Json = Field(description="The accepted structured answer.")
    lint: list[str]
    verdict: str = Field(description="Why it stopped, in a sentence; never empty once it has ended.")
    origin: Origin | None = Field(description="Where an imported turn came from; null: it was recorded here.")
    ingested: Ingested | None = Field(description="Where an ingested turn came from; null: it has another origin.")


class NotDone(BaseModel):
    """What was asked of a turn, and accepted, and came too late: no record tells of it."""

    action: str
    by: str
    asked_at: datetime
    why: str


class TurnNow(Turn):
    """A turn, where its call stands in line, and what was asked of it in vain."""

    waiting: str | None = Field(
        description="Such as “waiting for a slot of connection near, 3rd in line”; null where no call waits."
    )
    not_done: list[NotDone] = Field(description="The last three actions that came too late, the newest first.")


class TurnPage(BaseModel):
    items: list[Turn]
    next: str | None = Field(description="The cursor of older turns; null at the end.")
    previous: str | None = Field(description="The cursor of newer turns; null at the beginning.")


class Attempt(BaseModel):
    """One call of the model."""

    index: int
    kind: str = Field(description=words(AttemptKind))
    iteration: int
    max_tokens: int
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
    """What all criteria together said at one moment; `evaluations` is what each said."""

    seq: int
    position: int
    state: str
    decision: str
    resolved_by: str
    stop_reason: str
    error_type: str | None
    handling: str | None
    evaluations: Objects = Field(
        description="`{criterion, decision, reason, context, message?}` each; `message`: what a request wants said."
    )


class Comment(BaseModel):
    id: UUID
    imported: bool = Field(description="It came with a file, which claims that it is the author's.")
    transition: int = Field(description="Its number, from 1; 0: the turn as a whole.")
    author: str
    text: str
    created_at: datetime
    edited_at: datetime | None
