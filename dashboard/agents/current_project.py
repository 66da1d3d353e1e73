"""The project in which the request, the socket or the command under way works.

`accounts.project_middleware` sets it for pages and the API, `accounts.websocket` for sockets, and `--project` for
commands. A thread that is given the context has it too. Outside of these it is the project `default`.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dashboard.agents.models import Project

DEFAULT_PROJECT = "default"

current: ContextVar["Project | None"] = ContextVar("current_project", default=None)


def is_default_current() -> bool:
    """Whether the current project is `default`, or none was chosen."""
    project = current.get()
    return project is None or project.name == DEFAULT_PROJECT


@contextmanager
def working_in(project: "Project | None") -> Iterator[None]:
    """Make it the current project for the length of the block."""
    token = current.set(project)
    try:
        yield
    finally:
        current.reset(token)
