"""The tools that an agent may be given. `tools` has them, and provides the list (`platform.provided`)."""

from collections.abc import Sequence
from typing import Protocol
from uuid import UUID

from agentcore.messages import ToolSpec
from dashboard.platform.provided import Provided


class OfferedTool(Protocol):
    """A tool as a form shows it."""

    @property
    def name(self) -> str: ...

    @property
    def spec(self) -> ToolSpec: ...


class ToolList(Protocol):
    """The tools for an agent of a project; None: those of every project."""

    def __call__(self, *, project_id: UUID | None) -> Sequence[OfferedTool]: ...


offered_tools = Provided[ToolList]("the tools of agents")
