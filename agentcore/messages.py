"""What is said to a model and what it says back, in no vendor's dialect. All values; all frozen.

Sources: design §4.1; `ChatResponse` extends the struct of spec/stop-reason-state-machine.md.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from agentcore.errors import ProviderError
from agentcore.reasons import NormalizedStopReason


class Role(StrEnum):
    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


class CallIssue(StrEnum):
    """Why a tool call must not run. Malformed is not truncated: only corroborated cuts are called truncated."""

    TRUNCATED = "truncated"
    MALFORMED = "malformed"


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One client-side call the model asked for.

    `raw` is the argument text as it came (or its canonical JSON where the dialect sends objects); `arguments` is empty
    while `issue` is set. `custom` marks a free-text call, whose text is `raw`. `shown_whole` says that the arguments
    came as text that closes, or not as the last block: then even a `max_tokens` answer has shown them whole.
    """

    id: str
    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    raw: str = ""
    issue: CallIssue | None = None
    custom: bool = False
    shown_whole: bool = True


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation. `tool_call_id` is set on tool results only.

    `echo` is the assistant content exactly as its dialect wants it back; another dialect gets `text` and `tool_calls`.
    """

    role: Role
    text: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None
    echo: Any = None


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as the model is told of it. `schema` is the JSON Schema of its arguments."""

    name: str
    description: str
    schema: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Continuation:
    """How to ask for more of a cut answer. `text`: the merged answer so far, possibly empty. `hint`: our words."""

    text: str
    hint: str


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """One request to a model; `max_tokens` bounds the output, reasoning included. `extra` goes into the body."""

    model: str
    messages: tuple[Message, ...]
    max_tokens: int
    system_prompt: str = ""
    tools: tuple[ToolSpec, ...] = ()
    stream: bool = True
    continuation: Continuation | None = None
    envelope_schema: Mapping[str, Any] | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TokenUsage:
    """Tokens of one attempt. `output_tokens` includes reasoning; `input_tokens` includes cached ones."""

    input_tokens: int = 0
    output_tokens: int = 0
    reasoning_tokens: int = 0
    cached_tokens: int = 0


@dataclass(frozen=True, slots=True)
class ReasonObservation:
    """One sighting of a stop reason: where it stood, the raw word, what it means, how much it weighs (higher wins)."""

    source: str
    raw: str | None
    normalized: NormalizedStopReason
    priority: int


@dataclass(frozen=True, slots=True)
class Delta:
    """One increment of a streamed answer, for showing: text, reasoning, or a piece of a tool call's arguments."""

    text: str = ""
    reasoning: str = ""
    tool_name: str = ""
    tool_arguments: str = ""


@dataclass(frozen=True, slots=True)
class ChatResponse:
    """One answer of a model, whole or as far as it came.

    `diagnostics` holds words such as `empty_output`, `relabelled`; `error` is an error object inside a 200;
    `incomplete_stream`: neither a stop reason nor the closing event came.
    """

    text: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    broken_tool_calls: tuple[ToolCall, ...] = ()
    usage: TokenUsage | None = None
    reasoning_content: str = ""
    quota_metadata: Mapping[str, Any] | None = None
    stop_reason: NormalizedStopReason = NormalizedStopReason.UNKNOWN
    raw_stop_reason: str | None = None
    reason_trail: tuple[ReasonObservation, ...] = ()
    refusal: str | None = None
    diagnostics: tuple[str, ...] = ()
    provider: str = ""
    model: str = ""
    response_id: str | None = None
    incomplete_stream: bool = False
    error: ProviderError | None = None
    resume_token: str | None = None
    echo: Any = None
