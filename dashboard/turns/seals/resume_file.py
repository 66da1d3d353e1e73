"""The file of `manage.py verify --all --resume FILE`: how far the check has come, so that it goes on from there."""

import json
import os
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from uuid import UUID

from agentcore.version import VERSION
from dashboard.turns.seals.seal_check import Checked

_EVERY = 2.0  #: seconds between two notes


@dataclass(slots=True)
class ResumeFile:
    """The file of one check. A file of another version of the core counts for nothing: all is judged again."""

    path: Path
    _written: float = field(default=0.0, init=False)

    def read(self) -> tuple[Checked, UUID] | None:
        """What was found of the turns up to one, and that one; None where there is nothing to go on from."""
        if not self.path.exists():
            return None
        told = json.loads(self.path.read_text())
        if told.get("core_version") != VERSION:
            return None
        checked = Checked(turns=told["turns"], unchained=told["unchained"])
        checked.faults = [(place, words) for place, words in told["faults"]]
        checked.changed = [(place, words) for place, words in told["changed"]]
        return checked, UUID(told["after"])

    def write(self, checked: Checked, after: UUID) -> None:
        """Note it, now and then; the file is always whole."""
        if time.monotonic() - self._written < _EVERY:
            return
        # Faults of seals are found anew each time.
        faults = [(place, words) for place, words in checked.faults if _is_turn(place)]
        told = {
            "core_version": VERSION,
            "after": str(after),
            "turns": checked.turns,
            "unchained": checked.unchained,
            "faults": faults,
            "changed": checked.changed,
        }
        fresh = self.path.with_name(f".{self.path.name}-new")
        fresh.write_text(json.dumps(told))
        os.replace(fresh, self.path)  # noqa: PTH105 - whole or not at all
        self._written = time.monotonic()

    def forget(self) -> None:
        """The check has come to its end."""
        self.path.unlink(missing_ok=True)


def _is_turn(place: str) -> bool:
    with suppress(ValueError):
        return bool(UUID(place))
    return False
