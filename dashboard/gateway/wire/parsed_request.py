"""A caller's request as a value, the same for every dialect. Pure."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from agentcore.messages import Message, Role, ToolSpec
from agentcore.values import quickly_made
from dashboard.gateway.wire.faults import Fault
from dashboard.gateway.wire.offered_tools import OfferedTools
from dashboard.platform.strict_json import read_strictly

MOST_TOKENS = 2**31 - 1
MOST_MESSAGES = 10_000
LONGEST_NAME = 512  #: of a model

#: Says what is wrong with a JSON Schema, in words; None: nothing.
SchemaFault = Callable[[Any], str | None]


@quickly_made
@dataclass(frozen=True, slots=True)
class ParsedRequest:
    """One request, in whatever dialect it came.

    `fields`: what the caller set beside what is named here, such as temperature, under the names of chat completions;
    `request_fields` says how other dialects call it. `native`: the same as it came, for an upstream of the caller's
    dialect;
    None: `fields` says it.
    """

    body: Mapping[str, Any]  #: as it was parsed
    raw: bytes  #: as it came
    model: str
    messages: tuple[Message, ...]
    offered: OfferedTools  #: the tools
    max_tokens: int | None = None  #: None: the caller left it open
    cap: str = ""  #: the name it came under
    stream: bool = False
    include_usage: bool = False  #: whether a stream is to end with its usage
    envelope_schema: Mapping[str, Any] | None = None  #: of `response_format: json_schema`
    beyond_text: str | None = None  #: where the first part of a message is that is no text
    several: str = ""  #: the field that makes its answer one that cannot be put together, such as `n` or `logprobs`
    fields: Mapping[str, Any] = field(default_factory=dict)
    dialect: str = "openai"  #: the caller's
    native: Mapping[str, Any] | None = None
    headers: Mapping[str, str] = field(default_factory=dict)  #: that go along to an upstream of its dialect
    beyond: str = ""  #: the first field that no other dialect can be told
    goes_on_from: str = ""  #: the id of an earlier answer, whose conversation comes before these messages

    @property
    def tools(self) -> tuple[ToolSpec, ...]:
        """The tools the model may call."""
        return self.offered.specs


def read_body(raw: bytes) -> Mapping[str, Any] | Fault:
    """The body as JSON: strict, and nested no deeper than the parser goes."""
    try:
        body = read_strictly(raw)
    except ValueError as error:
        why = str(error)[:200]
        return Fault(400, f"We could not parse the JSON body of your request. ({why})")
    return body if isinstance(body, dict) else Fault(400, "The body of your request must be a JSON object.")


def shown_input(messages: Sequence[Message]) -> str:
    """What the timeline shows of a question: the last words of the user, else the last ones there are."""
    spoken = (message.text for message in reversed(messages) if message.role is Role.USER and message.text)
    return next(spoken, messages[-1].text if messages else "")
