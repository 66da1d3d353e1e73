"""What is read from spans: model calls with their tool calls, loops around calls, and tool runs."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from agentcore.errors import ProviderError
from agentcore.messages import ChatResponse, Message, TokenUsage, ToolSpec
from agentcore.values import quickly_made
from dashboard.ingest.conventions.spans import Span


@quickly_made
@dataclass(frozen=True, slots=True)
class StopReasonSighting:
    """A stop reason as one attribute tells it."""

    source: str  #: the attribute's name
    raw: str


@quickly_made
@dataclass(frozen=True, slots=True)
class AskedCall:
    """A tool call as the trace holds it. `raw`: its arguments as text, as far as they came.

    `is_object`: the trace holds an object, which an instrumentation made of the text, and may have closed.
    """

    id: str
    name: str
    raw: str
    is_object: bool = False

    @property
    def may_hide_a_cut(self) -> bool:
        """Whether the arguments of a call that was cut may have stood there with other words: some instrumentations
        write an empty object, as text, in their place."""
        return self.is_object or self.raw.strip() in {"", "{}"}


@quickly_made
@dataclass(frozen=True, slots=True)
class Content:
    """What was asked and answered; None where the trace does not hold it."""

    system: str | None = None
    input: tuple[Message, ...] | None = None
    tools: tuple[ToolSpec, ...] = ()
    text: str | None = None
    calls: tuple[AskedCall, ...] | None = None
    reasoning: str = ""
    refusal: str | None = None
    words: tuple[StopReasonSighting, ...] = ()
    response_id: str = ""

    @property
    def answered(self) -> bool:
        """Whether the trace holds the answer."""
        return self.text is not None or self.calls is not None


NOTHING = Content()  #: what is read where nothing is told


@quickly_made
@dataclass(frozen=True, slots=True)
class RequestAndResponse:
    """A call's request and answer as a log keeps them.

    `body`: the request; None where the log lacks it, or it cannot be stored as one. `raw`: the answer's bytes, from
    which `answer` was decoded; empty where they are not in the log. `timed`: whether the log says how long it took.
    """

    body: Mapping[str, Any] | None = None
    raw: bytes = b""
    answer: ChatResponse | None = None
    status: int | None = None
    content_type: str = ""
    timed: bool = False
    notes: tuple[tuple[str, str], ...] = ()  #: what is not known of it: code, and words for people


@quickly_made
@dataclass(frozen=True, slots=True)
class ModelCall:
    """One call of a model. `spans`: all that tell of it, the first of which is the one it is named by."""

    span: Span
    provider: str = ""  #: as the trace names it
    model: str = ""
    max_tokens: int | None = None
    uncapped: bool = False  #: its request is known whole, and sets no `max_tokens`
    stream: bool = False
    response_id: str = ""
    agent: str = ""
    usage: TokenUsage | None = None
    words: tuple[StopReasonSighting, ...] = ()  #: every stop reason that is told, the provider's own SDK's first
    content: Content = field(default_factory=Content)
    error: ProviderError | None = None
    first_token: float | None = None  #: seconds
    spans: tuple[str, ...] = ()
    scopes: tuple[str, ...] = ()
    exchange: RequestAndResponse | None = None  #: where a log holds it; None: spans tell of it
    calls_from_next: bool = False  #: its tool calls stand in the next request only
    calls_from_tools: bool = False  #: its tool calls are those whose tools ran, of which the names are known
    ran_within: tuple[str, ...] = ()  #: the tools that ran within its span, which so holds several requests
    is_run: bool = False  #: it is an agent's whole run, of whose calls the trace has none
    holds_steps: bool = False  #: its span holds every request of a loop, and the tools stand beside it
    text_from_agent: bool = False  #: the text of its answer stands on the agent's span only
    elsewhere: tuple[str, ...] = ()  #: other traces that tell of it
    invented: str = ""  #: the stop reason that its instrumentation writes for every answer of this kind
    #: From the model's name, for the dialect: it is not told as the provider. No part of what tells accounts apart.
    provider_guessed: bool = field(default=False, repr=False)


@dataclass(frozen=True, slots=True)
class LoopFailure:
    """How a loop ended that did not end by itself. `error`: what of a provider it was, where that is told."""

    name: str  #: of the exception; empty where it is not told
    message: str
    is_limit: bool  #: whether a limit of the loop's own ended it
    error: ProviderError | None = None
    in_words: bool = False  #: it has no error: `message` says in whole sentences how it ended


@quickly_made
@dataclass(frozen=True, slots=True)
class Loop:
    """A span around calls: an agent's run, a chain, a function that calls until there are no more tools to run."""

    span: Span
    name: str
    is_agent: bool  #: else a chain, or a workflow
    word: str | None = None  #: the stop reason of the whole loop
    failure: LoopFailure | None = None
    output: str = ""  #: what it gave in the end; empty where that is not told
    is_named: bool = False  #: its name is an attribute, and not merely that of the span
    gives_text: bool = False  #: its output is the text of its last call's answer


@quickly_made
@dataclass(frozen=True, slots=True)
class ToolRun:
    """A tool that ran. `result` is None where the trace does not hold it."""

    span: Span
    name: str
    call_id: str = ""
    result: str | None = None
    failed: bool = False
    arguments: Mapping[str, Any] | None = None  #: None where the trace does not hold them


@quickly_made
@dataclass(frozen=True, slots=True)
class ToolCallSpan:
    """A tool call of an answer that has a span of its own, within that of the model's call."""

    span: Span
    call: AskedCall


Seen = ModelCall | Loop | ToolRun | ToolCallSpan
