"""The JSON repairer given to the core, used where a policy allows repair (`envelope.recovery`)."""

from typing import Any

import json_repair

MAX_REPAIRED = 100_000  #: characters
#: Times that the repairer looks at a character of the text. It looks at each some ten times, but for texts such as
#: `{"{"{"…`, whose time grows with the square of their length. Unlike a time, this is the same at every replay.
MOST_LOOKS = 1_000_000


def repaired(text: str) -> str:
    """The text as JSON; empty where there is nothing to repair, or too much."""
    if len(text) > MAX_REPAIRED:
        return ""
    try:
        # The core reads the result strictly; no second reading here.
        return str(json_repair.repair_json(_Counted(text), skip_json_loads=True, ensure_ascii=False))
    except Exception:
        # Whatever it stumbles over in what a model said: nothing was repaired, and the answer is judged as it is.
        return ""


class _TooOften(Exception):
    """The repairer has looked at enough."""


class _Counted(str):
    """A text that can be looked at so often."""

    _left = MOST_LOOKS

    def __getitem__(self, place: Any) -> str:
        self._left -= 1
        if self._left < 0:
            raise _TooOften
        return super().__getitem__(place)
