"""Response schemas (design §4.3)."""

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, WithJsonSchema, field_validator

from agentcore.lint import CODES
from agentcore.reasons import AttemptKind, NormalizedStopReason, StopReason, TurnStatus
from dashboard.accounts.roles import CHANGE_CONNECTION, may
from dashboard.agents.policy_resolution import Level

#: What providers and models said is passed on as it is.
Json = Annotated[Any, WithJsonSchema({})]
Object = Annotated[Any, WithJsonSchema({"type": "object"})]
MaybeObject = Annotated[Any, WithJsonSchema({"type": ["object", "null"]})]
Objects = Annotated[Any, WithJsonSchema({"type": "array", "items": {"type": "object"}})]


def _words(enumeration: Any) -> str:
    return ", ".join(enumeration)


class Problem(BaseModel):
    """What went wrong, and what to do (RFC 9457)."""

    class Fault(BaseModel):
        field: str | None = Field(description="Where it is wrong, with dots between the parts; null: as a whole.")
        message: str

    type: str = "about:blank"
    title: str
    status: int
    detail: str
    errors: list[Fault]


class Connection(BaseModel):
    model_config = ConfigDict(from_attributes=True)

    id: UUID
    name: str
    provider: str
    base_url: str
    api_key_env: str
    max_output_tokens: int | None
    context_window: int | None
    max_concurrent_calls: int | None
    requests_per_minute: int | None
    hint_role: str
    max_tokens_field: str
    prefill: bool
    prefill_way: str
    prefill_echo: bool
    probe: dict[str, str] | None = Field(
        description="What the last test of the connection found: whether its server continues a last assistant message."
    )
    probed_at: datetime | None
    key_found: bool | None = Field(description="Whether its key may be sent; null for who may not change it.")
    created_at: datetime

    @field_validator("key_found", mode="before")
    @classmethod
    def _told_to_those_who_may_change_it(cls, found: bool | None, info: ValidationInfo) -> bool | None:
        request = (info.context or {}).get("request")
        return found if request is not None and may(request.user, CHANGE_CONNECTION) else None


class Policy(BaseModel):
    id: UUID
    name: str
    version: int = Field(description="The version shown here: the latest, unless another was asked for.")
    active: int | None = Field(description="The active version; null: none, all are drafts.")
    limits: Object = Field(description="Every limit, defaults included.")
    error_policy: Object
    envelope: Object = Field(description="`{recovery: [path]}`, defaults included.")
    tool_calls_on_truncation: str
    finish_reasons: list[str]
    criteria: Objects = Field(description="`{path, kwargs?}` each.")
    retention: Object = Field(description="`{keep_raw_days}`; null: for ever, or as an attached policy says.")
    warnings: list[str] = Field(description="What is allowed and yet surely not meant, or does not work any more.")
    backtest: UUID | None = Field(description="What it was tried on before it was kept.")
    created_at: datetime


class Activation(BaseModel):
    policy: str
    version: int
    starts_at: datetime
    why: str
    warnings: list[str] = Field(description="As of the policy: above all, which agents it reaches and does not fit.")


class PolicySource(BaseModel):
    """One number or rule, and where it comes from."""

    field: str = Field(description="As in a policy, with dots; `max_tokens` beside them.")
    value: Json
    level: str = Field(description="Nearest first: " + _words(Level))
    of: str = Field(description="Whose policy it is: an agent’s name, a model on a connection, a provider.")
    policy: str = Field(description="The policy’s name; empty for a turn’s own override and for defaults.")
    version: int | None
    spec_key: str | None = Field(description="The specification’s own name of this limit.")


class Agent(BaseModel):
    id: UUID
    name: str
    connection: str
    model: str
    system_prompt: str
    max_tokens: int
    tools: list[str]
    envelope_schema: MaybeObject
    policy: str | None
    gateway_mode: str
    breakpoints: list[dict[str, Any]] = Field(description="Where its turns hold.")
    approvals: MaybeObject = Field(description="The tools that run only once a person has approved of their calls.")
    created_at: datetime


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
    status: str = Field(description=_words(TurnStatus))
    stop_reason: str | None = Field(description="Why the agent stopped: " + _words(StopReason))
    model_stop_reason: str | None = Field(description="Why the model stopped: " + _words(NormalizedStopReason))
    raw_stop_reason: str | None = Field(description="The provider's own word.")
    terminal_reason: str | None
    error_code: str | None
    output_text: str
    notice: str = Field(description="What is missing from the answer, apart from it.")
    input_tokens: int = Field(description="Of all its calls; a fork counts its own calls, not those before it.")
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


class Conversation(BaseModel):
    """Turns with one agent, one after another."""

    id: UUID
    agent: str
    title: str = Field(description="The beginning of the first prompt; empty before there is one.")
    token_budget: int | None = Field(description="Input and output tokens of all its turns together; null: none.")
    used_tokens: int
    turns: list[UUID] = Field(description="In order.")


class TurnPage(BaseModel):
    items: list[Turn]
    next: str | None = Field(description="The cursor of older turns; null at the end.")
    previous: str | None = Field(description="The cursor of newer turns; null at the beginning.")


class Run(BaseModel):
    """Turns that go on from one another."""

    id: UUID = Field(description="Of its first turn.")
    turns: int
    input_tokens: int = Field(description="Of all its turns.")
    output_tokens: int
    tokens_estimated: bool
    started_at: datetime
    last_at: datetime = Field(description="When its last turn ended, or was made.")
    unfinished: bool = Field(description="A turn of it has not ended.")
    newest_turn: UUID = Field(description="In a list: the newest that the filters let through.")


class RunPage(BaseModel):
    items: list[Run]
    next: str | None = Field(description="The cursor of older runs; null at the end.")
    previous: str | None = Field(description="The cursor of newer runs; null at the beginning.")


class PathStep(BaseModel):
    """Where a turn stands in its run."""

    turn_id: UUID
    follows: UUID | None = Field(description="The turn whose answer it goes on from; several may go on from one.")
    dollars: float | None = Field(description="At list prices; null where one is not known.")


class RunWhole(Run):
    dollars: float | None = Field(description="Of all turns told here; null where the price of one is not known.")
    path: list[PathStep]
    items: list[Turn] = Field(description="Oldest first.")


class Attempt(BaseModel):
    """One call of the model."""

    index: int
    kind: str = Field(description=_words(AttemptKind))
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
    usage: MaybeObject = Field(description="What the provider counted; null where it did not.")
    tokens_estimated: bool = Field(
        description="The provider answered and did not count: the turn counts an estimate of ours for this call."
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


class Sign(BaseModel):
    """Evidence that a stop reason hides a cut."""

    attempt: int
    raw_stop_reason: str | None = Field(description="The provider's own word, as it was.")
    code: str = Field(description=_words(CODES))
    words: str
    text: str = Field(description="The characters that show it; empty where a number does.")
    at: int | None = Field(description="Where they begin in the answer, from 0.")
    readings: list[str] = Field(
        description="Of `ambiguous_seam`, with the text around it: all kept, as the answer has it; and without what "
        "may be a repeat. Else empty."
    )


class LintReport(BaseModel):
    class Code(BaseModel):
        code: str = Field(description=_words(CODES))
        means: str
        advice: str
        turns: int
        days: dict[str, int]
        examples: list[UUID]

    class Source(BaseModel):
        connection: str
        provider: str
        model: str
        turns: int = Field(description="All turns of the model, with a sign or without.")
        codes: dict[str, int]

    codes: list[Code]
    sources: list[Source]
    capped: bool = Field(description="There are more turns with a sign than are counted; these are the newest.")


class LogFault(BaseModel):
    line: int = Field(description="From 1; of a list, the number of the element; 0: the file as a whole.")
    words: str


class LogImported(BaseModel):
    """What became of a log, or would become of it."""

    turns: int = Field(description="Turns that were stored, or stored anew because more of their session has come.")
    here: int = Field(description="Turns that were here already; nothing was stored of them.")
    skipped: int = Field(description="Records that are no calls of a model.")
    refused: int = Field(description="Records that could not be read or stored.")
    faults: list[LogFault] = Field(description="Of the first hundred refused records: where, and why.")
    last: UUID | None = Field(description="The turn that was written last.")


class Imported(BaseModel):
    id: UUID = Field(description="Another than the file's, where that is taken by another turn.")
    already_here: bool = Field(description="The very same turn was here; nothing was stored.")
    verified: bool = Field(
        description="Whether its decisions follow from its events, its requests are those that were to be sent, and "
        "its answers are those in the provider's bytes. Whether all that happened, only who vouches for it can tell."
    )
    doubt: str = Field(description="Why it does not verify; empty where it does.")
    missing: list[str] = Field(description="What could not be compared, each in a sentence.")
    vouched_by: Literal["here", "sender", "own", "known", "unknown", "unsigned", "broken"] = Field(
        description="Who vouches for the recording, which a verification does not tell: `here`: recorded by this "
        "installation; `sender`: of its trace; else what the signature of its file proves."
    )


class Comment(BaseModel):
    id: UUID
    imported: bool = Field(description="It came with a file, which claims that it is the author's.")
    transition: int = Field(description="Its number, from 1; 0: the turn as a whole.")
    author: str
    text: str
    created_at: datetime
    edited_at: datetime | None
