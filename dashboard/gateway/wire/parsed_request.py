"""A caller's request as a value, the same for every dialect, with the tools that it offers. Pure."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from agentcore.messages import Message, Role, ToolSpec
from agentcore.values import quickly_made
from dashboard.gateway.wire.faults import Fault
from dashboard.platform.strict_json import read_strictly

ANYTHING: Mapping[str, Any] = {"type": "object", "properties": {}}


@quickly_made
@dataclass(frozen=True, slots=True)
class OfferedTools:
    """The tools, and how the model is to choose among them.

    `choice` has the form of chat completions. `verbatim`: the list as it came, where the specs do not say all of it
    (`strict`, tools that the provider runs). `other`: the type of a tool that only servers of the caller's dialect
    know. `legacy`: they came as `functions`, so a call goes back as a `function_call`. `allowed`: the names that a
    choice of `allowed_tools` leaves; None: it leaves them all.
    """

    specs: tuple[ToolSpec, ...] = ()
    choice: Any = None  #: `tool_choice`; of `function_call` what it says in those words
    allowed: frozenset[str] | None = None
    verbatim: tuple[Any, ...] = ()
    other: str = ""
    legacy: bool = False

    @property
    def word(self) -> Any:
        """The choice in one word, where it is one, without the names that are allowed."""
        return self.choice["allowed_tools"].get("mode") if self.allowed is not None else self.choice

    @property
    def strict(self) -> frozenset[str]:
        """The names of the tools whose arguments are to follow their schemas exactly."""
        functions = [entry["function"] for entry in self.verbatim if isinstance(entry.get("function"), dict)]
        return frozenset(str(function.get("name")) for function in functions if function.get("strict") is True)


NO_TOOLS = OfferedTools()


def read_specs(
    given: Iterable[Any], read: Callable[[Any, str], ToolSpec | Fault], path: str
) -> tuple[ToolSpec, ...] | Fault:
    """Each entry as a spec, or what is wrong with the first that is none. `path`: where an entry stands, with `{}` for
    its place in the list."""
    specs = []
    for n, entry in enumerate(given):
        spec = read(entry, path.format(n))
        if isinstance(spec, Fault):
            return spec
        specs.append(spec)
    return tuple(specs)


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
    refers_to: tuple[str, ...] = ()  #: the ids of items of earlier answers, which stand in the conversation by id alone

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
