"""`{% manage_py as command %}`: the beginning of a command to paste into a shell of this machine. Empty for people who
may not start turns: it names folders."""

from typing import Any

from django import template

from dashboard.accounts.roles import START, may
from dashboard.platform import shell_command

register = template.Library()


@register.simple_tag(takes_context=True)
def manage_py(context: template.Context) -> str:
    request: Any = context.get("request")
    return shell_command.manage_py() if request is not None and may(request.user, START) else ""
