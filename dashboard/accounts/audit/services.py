"""Writes of the audit log."""

import getpass
import os
from datetime import datetime
from uuid import UUID

from django.utils import timezone

from dashboard.accounts.audit.models import Entry
from dashboard.agents.current_project import current
from dashboard.platform.fields import storable_text

LONGEST = 500  #: characters of an address that are kept
COMMAND = "command"


def request_record(
    *, id: UUID, began_at: datetime, action: str, status: int, project_id: UUID | None = None, **told: str
) -> Entry:
    """Write that a request was answered. `told`: `by`, `via`, `address`, `method`, `target` and `led_to` of `Entry`."""
    kept = {name: storable_text(text)[:LONGEST] for name, text in told.items()}
    now = timezone.now()
    return Entry.objects.create(
        id=id, began_at=began_at, at=now, action=action, status=status, project_id=project_id, **kept
    )


def command_record(action: str, target: str = "") -> Entry:
    """Write that a command of `manage.py` was run, by the user of the operating system."""
    now = timezone.now()
    target = storable_text(target)[:LONGEST]
    project = current.get()
    return Entry.objects.create(
        began_at=now, at=now, by=_account(), via=COMMAND, action=action, target=target,
        project_id=None if project is None else project.pk,
    )  # fmt: skip


def _account() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a user without a name
        return f"uid {os.geteuid()}"
