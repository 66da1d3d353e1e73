"""The tools a request offers, and its tool choice. Pure."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from agentcore.messages import ToolSpec
from agentcore.values import quickly_made
from dashboard.gateway.wire.faults import Fault

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
