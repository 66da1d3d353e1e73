"""Request and response schemas of the seam. `script_validation` judges how much a program may send."""

from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, Field

from dashboard.api.request_base import Body, Text, Whole
from dashboard.api.response_fields import Object
from dashboard.simulator.scripts import ENDINGS

StopReason = Literal[
    "end_turn",
    "max_tokens",
    "tool_call",
    "malformed_tool_call",
    "safety_blocked",
    "prompt_blocked",
    "context_window_exceeded",
    "paused",
    "unknown",
    "missing",
]
assert set(StopReason.__args__) == ENDINGS.keys(), "a schema needs the words themselves"  # type: ignore[attr-defined]


class ScriptedCall(Body):
    """A tool call. Arguments given as text are sent unchanged, even if they are not valid JSON."""

    name: Text
    arguments: Text | dict[str, Any] = "{}"


class ScriptedError(Body):
    """An answer that is an error."""

    status: Whole = Field(description="400 to 599.")
    message: Text = "This error was written in a script."
    code: Text | None = None
    retry_after: Whole | None = Field(default=None, description="Seconds.")


class ScriptedAnswer(Body):
    """The answer to one call: that of a simulator model, an error, or a given text."""

    behaviour: Text | None = Field(default=None, description="A model of the simulator.", examples=["sim-pause"])
    error: ScriptedError | None = None
    text: Text = ""
    tool_calls: list[ScriptedCall] = []
    refusal: Text | None = Field(default=None, description="A refusal, in place of a text.")
    stop_reason: StopReason | None = Field(default=None, description="Default: as the parts of the answer imply.")
    raw_stop_reason: Text | None = Field(
        default=None, description="The stop reason on the wire, if it is not the dialect's usual one."
    )
    truncated: bool | Whole = Field(
        default=False, description="The number of tokens after which the answer is truncated; true: half way."
    )
    output_tokens: Whole | None = Field(default=None, description="What it says it used.")
    hangs_up: bool = Field(default=False, description="The connection is dropped half way.")
    delay_ms: Whole = Field(default=0, description="Milliseconds before the answer begins.")


class SimulatorScript(Body):
    """The answers of a model, one for each call; the last one is repeated. Either `answers`, or the RFC's two
    sequences."""

    name: Text = Field(description="The model is `script-<name>`.", examples=["cut-once"])
    answers: list[ScriptedAnswer] | None = None
    mockTruncationSequence: list[Whole] | None = Field(  # noqa: N815 - the RFC's name
        default=None,
        description="For each call: the number of tokens after which the answer is truncated; 0: not truncated.",
        examples=[[20, 0]],
    )
    mockSchemaViolationSequence: list[bool] | None = Field(  # noqa: N815 - the RFC's name
        default=None, description="For each call: whether its JSON violates the schema."
    )
    envelope: Any = Field(default=None, description="The valid answer; default: a report.")
    violation: Any = Field(default=None, description="The answer that violates the schema.")


class Capabilities(BaseModel):
    envelopes: Object = Field(
        description="`{reliability: {supported, events, maxRetryAttempts, completion}}` (RFC 0033 §E)."
    )
    capabilities: Object = Field(description="The same as `{envelopes}`.")


class Script(BaseModel):
    """A simulator model with scripted answers."""

    name: str
    model: str = Field(description="The model name that an agent uses.")
    answers: int = Field(description="The number of scripted answers.")
    calls: int = Field(description="The number of calls that it has received.")
    base_urls: dict[str, str] = Field(description="The base URLs for a connection, by provider.")


class ReceivedMessage(BaseModel):
    role: str = Field(description="user, assistant, tool")
    text: str


class ReceivedCall(BaseModel):
    """The request of one call; long values are cut."""

    call: int
    provider: str
    model: str
    stream: bool
    max_tokens: int = Field(description="4,096 if the request set no limit.")
    system_prompt: str
    messages: list[ReceivedMessage]
    at: datetime


class ReceivedCalls(BaseModel):
    """The latest calls of a script, in order."""

    name: str
    model: str
    total: int = Field(description="The number of all its calls.")
    lastReceivedMaxTokens: int | None  # noqa: N815 - the RFC's name
    lastReceivedSystemPrompt: str | None  # noqa: N815 - the RFC's name
    calls: list[ReceivedCall]
