"""Request schemas. Types are strict, and an unknown field is refused with the names of the known ones."""

from typing import Annotated, Any, Literal

from pydantic import AliasChoices, BeforeValidator, Field

from agentcore.policy import OnTruncation
from agentcore.reasons import NormalizedStopReason
from dashboard.agents.breakpoints import ENTERING, KNOWN
from dashboard.agents.policy_validation import listed
from dashboard.api.request_base import (
    Body,
    Criterion,
    Envelope,
    ErrorPolicy,
    Id,
    Limits,
    Moment,
    Object,
    Retention,
    Text,
    Whole,
    whole,
)


class NewConnection(Body):
    """One endpoint of a provider. The API key stays in an environment variable; only its name is stored."""

    name: Text = Field(examples=["near"])
    provider: Text = Field(description="The API dialect of the endpoint.", examples=["openai"])
    base_url: Text = Field(
        description="The base URL, as the provider's own client takes it.", examples=["http://127.0.0.1:8400/v1"]
    )
    api_key_env: Text | None = Field(
        default=None, description="The environment variable that holds the API key.", examples=["OPENAI_API_KEY"]
    )
    max_output_tokens: Whole | None = Field(
        default=None, description="The most output tokens that one call may request."
    )
    context_window: Whole | None = Field(default=None, description="Input and output tokens of one call together.")
    max_concurrent_calls: Whole | None = Field(
        default=None, description="Calls in progress at the same time, across all workers. Further calls wait."
    )
    requests_per_minute: Whole | None = Field(
        default=None, description="Calls started within any 60 seconds, across all workers. Further calls wait."
    )
    hint_role: Literal["system", "user"] | None = Field(
        default=None, description="The role of the message that asks to continue."
    )
    max_tokens_field: Literal["max_tokens", "max_completion_tokens"] | None = Field(
        default=None, description="The request field that limits the output, for OpenAI-style servers."
    )
    prefill: bool | None = Field(
        default=None, description="The model continues a truncated answer in place when it is the last message."
    )
    prefill_way: Literal["prefill", "prefix", "continue_final_message"] | None = Field(
        default=None,
        description="How an OpenAI-style server is asked to continue: by the message alone, or by a request field.",
    )
    prefill_echo: bool | None = Field(
        default=None, description="The server repeats the text that it continues at the start of its answer."
    )


class PolicyDraft(Body):
    """Limits, error policy and rules. Fields that are left out have their defaults."""

    name: Text | None = Field(default=None, description="A label.")
    limits: Limits | None = Field(default=None, description="What a turn may use, counted over the whole turn.")
    error_policy: ErrorPolicy | None = Field(
        default=None, description="How each type of error is handled: a preset, and the differences from it."
    )
    envelope: Envelope | None = Field(default=None, description="How structured answers are read.")
    tool_calls_on_truncation: Text | None = Field(
        default=None,
        description="How complete tool calls in a truncated answer are handled.",
        examples=list(OnTruncation),
    )
    finish_reasons: list[Text] | None = Field(
        default=None,
        description=f"Model stop reasons after which the agent must not continue: {listed(NormalizedStopReason)}.",
        examples=[["max_tokens"]],
    )
    criteria: list[Criterion] | None = Field(
        default=None, description="Custom criteria, evaluated with the built-in ones at every decision."
    )
    retention: Retention | None = Field(default=None, description="How long the data of a turn is kept after its end.")


class NewPolicy(PolicyDraft):
    """The first version of a new policy, or the next version of one that has this name."""

    name: Text = Field(examples=["patient"])
    why: Text | None = Field(default=None, max_length=500, description="The reason. It is stored with the version.")
    activate: bool | None = Field(
        default=None, description="true (the default): activate the version at once. false: save it as a draft."
    )
    backtest: Id | None = Field(
        default=None,
        description="A finished backtest of exactly these settings in the policy's place, or alone for its first "
        "version. The version keeps it permanently.",
    )


class Activate(Body):
    """The version to activate; an earlier one to roll back."""

    version: Annotated[int, Field(ge=1, le=2_000_000_000), BeforeValidator(whole)] = Field(examples=[2])
    why: Text | None = Field(default=None, max_length=500)
    starts_at: Moment | None = Field(
        default=None, description="The start time, with its time zone. Default: now.", examples=["2030-01-31T12:00:00Z"]
    )


class Breakpoint(Body):
    """A condition that holds a turn. All fields that are set must match."""

    state: str | None = Field(default=None, description="Entering a deciding state: " + ", ".join(KNOWN["state"]) + ".")
    trigger: str | None = Field(default=None, description="Entering one by: " + ", ".join(ENTERING) + ".")
    stop_reason: str | None = Field(
        default=None, description="Why the model stopped: " + ", ".join(KNOWN["stop_reason"]) + "."
    )
    tool: str | None = Field(default=None, description="The model calls this tool.")
    budget_below: float | None = Field(
        default=None, description="Once, when less than this fraction of any budget is left: above 0, at most 1."
    )


class Approvals(Body):
    """Tools that run only after a person approves the call."""

    tools: list[Text] = Field(description="Names of tools of the agent.", examples=[["calculator"]])
    seconds: float | None = Field(default=None, description="How long the turn waits for approval. Default: no limit.")
    otherwise: Literal["refuse", "run", "cancel"] | None = Field(
        default=None, description="What happens when the time is up."
    )


class NewAgent(Body):
    """A model behind a connection, with its prompt, tools and policy."""

    name: Text = Field(examples=["writer"])
    connection: Text = Field(description="A connection's name.", examples=["near"])
    model: Text = Field(examples=["sim-essay"])
    system_prompt: Text | None = None
    max_tokens: Whole = Field(description="The most output tokens of one call, reasoning included.", examples=[150])
    tools: list[Text] | None = Field(
        default=None,
        description="Names of tools. The name of an MCP server's tool is server.tool.",
        examples=[["calculator"]],
    )
    envelope_schema: Object | None = Field(default=None, description="The JSON Schema that the answer must satisfy.")
    policy: Text | None = Field(default=None, description="The name of a policy. Its active version is used.")
    gateway_mode: Literal["observe", "continue"] | None = None
    breakpoints: list[Breakpoint] | None = Field(default=None, description="Where every turn of the agent is held.")
    approvals: Approvals | None = None


class Overrides(Body):
    """Settings that replace those of the agent and its policy."""

    max_tokens: Whole | None = Field(default=None, description="The most output tokens of one call.", examples=[400])
    limits: Limits | None = None
    error_policy: ErrorPolicy | None = None
    tool_calls_on_truncation: Text | None = None
    retention: Retention | None = None
    system_prompt: str | None = None
    model: str | None = None


class Document(Body):
    """A text that the turn's tools may search."""

    name: Text = Field(examples=["handbook.md"])
    text: Text


class NewTurn(Body):
    """One input for an agent."""

    agent: Text = Field(examples=["writer"])
    input: str = Field(description="The user's prompt.", examples=["Tell me about rivers."])
    overrides: Overrides | None = None
    breakpoints: list[Breakpoint] | None = None
    documents: list[Document] | None = Field(
        default=None, description="Texts for the tool search_documents: at most 50, with 1,000,000 characters together."
    )
    conversation: Id | None = Field(
        default=None, description="The conversation to continue. The turn starts when the earlier turns have ended."
    )


class NewConversation(Body):
    """Turns with one agent, one after another."""

    agent: Text = Field(examples=["writer"])
    token_budget: Whole | None = Field(
        default=None, description="Input and output tokens of all turns together. Default: no budget."
    )


class Budget(Body):
    """The token budget of a conversation."""

    token_budget: Whole | None = Field(description="null: no budget.", examples=[20_000])


class Message(Body):
    """One message of the conversation."""

    role: Literal["user", "assistant"]
    text: str = Field(validation_alias=AliasChoices("text", "content"), description="Also accepted as `content`.")


class ChangedRequest(Body):
    """Changes to the next request."""

    system_prompt: str | None = None
    messages: list[Message] | None = Field(default=None, description="The whole conversation.")
    model: str | None = None


class SuppliedResult(Body):
    """A result supplied in place of running the tool."""

    call_id: str
    result: Any = Field(description="Text, or JSON that the model reads as text.")


class ChangedCall(Body):
    """New arguments for a tool call that has not run. They also repair a broken call."""

    call_id: str
    arguments: Object


class GivenCall(Body):
    """A tool call of an injected response."""

    name: Text
    arguments: Object = {}


class GivenAnswer(Body):
    """A response injected in place of the model's next or current one. It costs nothing and is marked."""

    text: Text = ""
    tool_calls: list[GivenCall] = []
    stop_reason: Text | None = Field(
        default=None, description="Default: tool_call if there are calls, else end_turn.", examples=["end_turn"]
    )


class Control(Body):
    """An operator's action on a running or held turn. Changes apply from the next decision and request."""

    action: Literal["hold", "release", "step", "refuse", "change"] = Field(
        description="refuse: release, with an error in place of each call that waits for approval."
    )
    limits: Limits | None = None
    max_tokens: Whole | None = None
    no_max_tokens: bool = Field(
        default=False,
        description="Send no max_tokens from the next request on. Refused if the provider's API requires a limit.",
    )
    error_policy: ErrorPolicy | None = None
    request: ChangedRequest | None = None
    tool_result: SuppliedResult | None = None
    tool_call: ChangedCall | None = None
    answer: GivenAnswer | None = None
    run_to: str | None = Field(
        default=None, description="With release: hold again on entering this state: " + listed(KNOWN["state"]) + "."
    )
    breakpoints: list[Breakpoint] | None = Field(default=None, description="These replace the current breakpoints.")
    expected_seq: Whole | None = Field(
        default=None,
        description="The last record that you have seen. If there are newer ones, the response "
        "is 409 with the newer action and its user.",
    )


class NewComment(Body):
    """A comment on a transition of a turn, or on the turn."""

    text: Text = Field(description="At most 4,000 characters.")
    transition: Whole = Field(default=0, description="The number of the transition, from 1. 0: the whole turn.")
