"""`{% manage_py as command %}`: the beginning of a command to paste into a shell of this machine. Empty for people who
may not start turns: it names folders."""

import os
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from django import template

from dashboard.accounts.roles import START, may
from dashboard.platform.environment import CHECKOUT

register = template.Library()

NEEDED = "WHYSTOP_DATA_DIR"  #: names the same installation; other settings may be secrets, and are not shown


@register.simple_tag(takes_context=True)
def manage_py(context: template.Context) -> str:
    request: Any = context.get("request")
    return shell_command() if request is not None and may(request.user, START) else ""


def shell_command(environment: Mapping[str, str] = os.environ, *, python: str = sys.executable) -> str:
    """`manage.py` as a command that any shell of this machine understands, whatever its folder and environment:
    `cd /srv/whystop && .venv/bin/python manage.py`, with the data folder where one was chosen."""
    inside = Path(python).is_relative_to(CHECKOUT)
    program = str(Path(python).relative_to(CHECKOUT)) if inside else python
    data = environment.get(NEEDED)
    chosen = f"{NEEDED}={shlex.quote(str(Path(data).resolve()))} " if data else ""
    return f"cd {shlex.quote(str(CHECKOUT))} && {chosen}{shlex.quote(program)} manage.py"
