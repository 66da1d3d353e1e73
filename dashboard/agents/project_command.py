"""Commands of `manage.py` that work in one project."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from agentcore.quoting import quoted
from dashboard.agents.current_project import DEFAULT_PROJECT, current, working_in
from dashboard.agents.models import Project
from dashboard.agents.selectors import project_default, project_get


class ProjectCommand(BaseCommand):
    """Takes `--project`. It calls `enter` once the database is there, and works in that project from then on."""

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--project",
            metavar="NAME",
            default=DEFAULT_PROJECT,
            help=f"the project to work in (default: {DEFAULT_PROJECT})",
        )

    def execute(self, *args: Any, **options: Any) -> Any:
        with working_in(current.get()):
            return super().execute(*args, **options)

    def enter(self, name: str) -> Project:
        """Make this the current project. Raises `CommandError` where there is none of this name."""
        try:
            found = project_default() if name == DEFAULT_PROJECT else project_get(name)
        except Project.DoesNotExist:
            raise CommandError(f"There is no project {quoted(name)}.") from None
        current.set(found)
        return found
