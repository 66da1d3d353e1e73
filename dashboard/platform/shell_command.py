"""`manage.py` as a command that any shell of this machine understands, whatever its folder and environment."""

import os
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path

from dashboard.platform.environment import CHECKOUT

NEEDED = "WHYSTOP_DATA_DIR"  #: names the same installation; other settings may be secrets, and are not shown


def manage_py(environment: Mapping[str, str] = os.environ, *, python: str = sys.executable) -> str:
    """`cd /srv/whystop && .venv/bin/python manage.py`, with the data folder where one was chosen."""
    inside = Path(python).is_relative_to(CHECKOUT)
    program = str(Path(python).relative_to(CHECKOUT)) if inside else python
    data = environment.get(NEEDED)
    chosen = f"{NEEDED}={shlex.quote(str(Path(data).resolve()))} " if data else ""
    return f"cd {shlex.quote(str(CHECKOUT))} && {chosen}{shlex.quote(program)} manage.py"
