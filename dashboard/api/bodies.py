"""What callers send. Types are strict, and an unknown field is refused with the names of the known ones."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, AliasChoices, BaseModel, ConfigDict, Field, WithJsonSchema, model_validator
from pydantic_core import PydanticCustomError

from agentcore.policy import OnTruncation
from agentcore.reasons import NormalizedStopReason
from dashboard.agents.policy_validation import listed
from dashboard.api import policy_schemas
from dashboard.replay.sweeping import SWEPT
from dashboard.turns.breakpoints import ENTERING, KNOWN


def _storable(value: Any) -> Any:
    """Postgres keeps no U+0000, which no name, prompt or schema needs."""
    if "\x00" in _text_of(value):
        raise PydanticCustomError("nul", "It holds the character U+0000; take that out.")
    return value


def _text_of(value: Any) -> str:
    """All the text in a value, keys included."""
    if isinstance(value, Mapping):
        return "".join(_text_of(part) for item in value.items() for part in item)
    return "".join(map(_text_of, value)) if isinstance(value, list) else value if isinstance(value, str) else ""


Text = Annotated[str, AfterValidator(_storable)]
Object = Annotated[dict[str, Any], AfterValidator(_storable), WithJsonSchema({"type": "object"})]
Limits = Annotated[dict[str, Any], AfterValidator(_storable), WithJsonSchema(policy_schemas.limits_schema())]
ErrorPolicy = Annotated[dict[str, Any], AfterValidator(_storable), WithJsonSchema(policy_schemas.error_policy_schema())]
Envelope = Annotated[dict[str, Any], AfterValidator(_storable), WithJsonSchema(policy_schemas.envelope_schema())]
Criterion = Annotated[dict[str, Any], AfterValidator(_storable), WithJsonSchema(policy_schemas.criterion_schema())]


class Body(BaseModel):
    """What all bodies have in common."""

    model_config = ConfigDict(strict=True, extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _known(cls, given: Any) -> Any:
        if isinstance(given, Mapping):
            unknown = next((name for name in given if name not in cls.known_names()), None)
            if unknown is not None:
                known = ", ".join(cls.model_fields)
                context = {"field": str(unknown), "known": known}
                raise PydanticCustomError(
                    "unknown_field", "There is no field “{field}”; the fields are {known}.", context
                )
        return given

    @classmethod
    def known_names(cls) -> set[str]:
        aliases = (field.validation_alias for field in cls.model_fields.values())
        choices = {str(name) for alias in aliases if isinstance(alias, AliasChoices) for name in alias.choices}
        return {*cls.model_fields, *choices}

    def given(self) -> dict[str, Any]:
        """The fields that were sent and are not null, by name."""
        return self.model_dump(exclude_unset=True, exclude_none=True)


class Connection(Body):
    """One endpoint of a provider. The key stays in the environment: only its variable is named."""

    name: Text = Field(examples=["near"])
    provider: Text = Field(description="The dialect it speaks.", examples=["openai"])
    base_url: Text = Field(description="As the vendor's client takes it.", examples=["http://127.0.0.1:8400/v1"])
    api_key_env: Text | None = Field(
        default=None, description="The variable that holds the key.", examples=["OPENAI_API_KEY"]
    )
    max_output_tokens: int | None = Field(default=None, description="Tokens one call may ask for at most.")
    context_window: int | None = Field(default=None, description="Tokens of input and output together.")
    hint_role: Literal["system", "user"] | None = Field(default=None, description="Who speaks the hint to continue.")
    max_tokens_field: Literal["max_tokens", "max_completion_tokens"] | None = Field(
        default=None, description="What an OpenAI-style server calls the cap."
    )
    prefill: bool | None = Field(
        default=None, description="The model goes on writing a cut answer that ends the conversation, without a hint."
    )


class PolicyDraft(Body):
    """Limits, error policy and rules. What is left out has its default."""

    name: Text | None = Field(default=None, description="A label.")
    limits: Limits | None = Field(default=None, description="What a turn may use, counted over the whole turn.")
    error_policy: ErrorPolicy | None = Field(
        default=None, description="What is done about each type of error: a preset, and what differs from it."
    )
    envelope: Envelope | None = Field(default=None, description="How structured answers are read.")
    tool_calls_on_truncation: Text | None = Field(
        default=None, description="What is done with whole tool calls of a cut answer.", examples=list(OnTruncation)
    )
    finish_reasons: list[Text] | None = Field(
        default=None,
        description=f"Stop reasons of the model after which the agent must not go on: {listed(NormalizedStopReason)}.",
        examples=[["max_tokens"]],
    )
    criteria: list[Criterion] | None = Field(
        default=None, description="Criteria of your own, asked beside the built-in ones at every decision."
    )


class Policy(PolicyDraft):
    """The first version of a new policy, or the next version of one that has this name."""

    name: Text = Field(examples=["patient"])


class Agent(Body):
    """A model behind a connection, with what it is told and given."""

    name: Text = Field(examples=["writer"])
    connection: Text = Field(description="A connection's name.", examples=["near"])
    model: Text = Field(examples=["sim-essay"])
    system_prompt: Text | None = None
    max_tokens: int = Field(description="Tokens one call may answer with, reasoning included.", examples=[150])
    tools: list[Text] | None = Field(
        default=None, description="Names of tools; server.tool for one of an MCP server.", examples=[["calculator"]]
    )
    envelope_schema: Object | None = Field(default=None, description="A JSON Schema the answer must satisfy.")
    policy: Text | None = Field(default=None, description="A policy's name; its latest version counts.")
    gateway_mode: Literal["observe", "continue"] | None = None


class Overrides(Body):
    """What takes the place of the agent's and the policy's own words."""

    max_tokens: int | None = Field(default=None, description="Tokens of one call.", examples=[400])
    limits: Limits | None = None
    error_policy: ErrorPolicy | None = None
    tool_calls_on_truncation: Text | None = None
    system_prompt: str | None = None
    model: str | None = None


class Breakpoint(Body):
    """Where the turn shall hold. All that is set must match."""

    state: str | None = Field(default=None, description="Entering a deciding state: " + ", ".join(KNOWN["state"]) + ".")
    trigger: str | None = Field(default=None, description="Entering one by: " + ", ".join(ENTERING) + ".")
    stop_reason: str | None = Field(
        default=None, description="Why the model stopped: " + ", ".join(KNOWN["stop_reason"]) + "."
    )
    tool: str | None = Field(default=None, description="The model calls this tool.")


class Document(Body):
    """A text that the turn's tools may search."""

    name: Text = Field(examples=["handbook.md"])
    text: Text


class Turn(Body):
    """One input for an agent."""

    agent: Text = Field(examples=["writer"])
    input: str = Field(description="What the user says.", examples=["Tell me about rivers."])
    overrides: Overrides | None = None
    breakpoints: list[Breakpoint] | None = None
    documents: list[Document] | None = Field(
        default=None, description="Texts for the tool search_documents; at most 50, of 1,000,000 characters together."
    )


class Message(Body):
    """One message of the conversation."""

    role: Literal["user", "assistant"]
    text: str = Field(validation_alias=AliasChoices("text", "content"), description="`content` is taken as well.")


class ChangedRequest(Body):
    """What the next request asks with."""

    system_prompt: str | None = None
    messages: list[Message] | None = Field(default=None, description="The whole conversation.")
    model: str | None = None


class SuppliedResult(Body):
    """A result in place of a tool's."""

    call_id: str
    result: Any = Field(description="Text, or JSON that the model reads as text.")


class Control(Body):
    """What an operator does to a running or held turn; the changes count from the next judgement and request on."""

    action: Literal["hold", "release", "step"]
    limits: Limits | None = None
    max_tokens: int | None = None
    error_policy: ErrorPolicy | None = None
    request: ChangedRequest | None = None
    tool_result: SuppliedResult | None = None
    breakpoints: list[Breakpoint] | None = Field(default=None, description="In place of those there are.")


class Comment(Body):
    """What is said about a transition of a turn."""

    text: Text = Field(description="At most 4,000 characters.")
    transition: int = Field(default=0, description="Its number, from 1; 0: the turn as a whole.")


class Verify(Body):
    """Do the recorded events give the recorded transitions?"""

    mode: Literal["verify"]


class WhatIf(Body):
    """The recording under other words; no provider is asked."""

    mode: Literal["what_if"]
    overrides: Overrides = Overrides()


class OtherMessage(Body):
    """A message of the conversation in other words."""

    place: int = Field(description="In the conversation, from 1.")
    text: Text


class Rerun(Body):
    """The turn again, live, under other words."""

    mode: Literal["rerun"]
    overrides: Overrides = Overrides()
    from_record: int | None = Field(default=None, description="Fork at this record; left out: from the start.")
    connection: Text | None = Field(default=None, description="Another connection to ask, by name.")
    messages: list[OtherMessage] | None = Field(default=None, description="Messages of the conversation there, anew.")
    tool_results: list[SuppliedResult] | None = Field(
        default=None, description="In place of running the tools that are about to run at that record."
    )
    breakpoints: list[Breakpoint] | None = None


class Sweep(Body):
    """One limit over a range, from the recording; no provider is asked."""

    mode: Literal["sweep"]
    limit: Text = Field(examples=["max_tokens"], description="One of: " + ", ".join(SWEPT) + ".")
    begin: int = Field(description="The first value.", examples=[50])
    end: int = Field(description="The last value.", examples=[1000])
    step: int = Field(default=1, description="From one value to the next.", examples=[50])
    overrides: Overrides = Overrides()


Replay = Annotated[Verify | WhatIf | Rerun | Sweep, Field(discriminator="mode")]


class Backtest(Body):
    """A policy to be tried over stored turns by what-if."""

    policy: PolicyDraft
    filter: Object | None = Field(
        default=None, description="As the timeline's.", examples=[{"stop_reason": "retry_limit"}]
    )
