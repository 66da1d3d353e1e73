"""Which limit is swept, over which values: as the address says, or what is worth seeing of this turn."""

from collections.abc import Mapping
from math import ceil
from typing import Any

from django import forms

from agentcore.policy import LIMIT_NAMES
from dashboard.platform.form_errors import FieldErrors
from dashboard.replay.limit_controls import LimitControl
from dashboard.replay.sweep_service import SWEPT
from dashboard.turns.models import Turn

RANGE = ("begin", "end", "step")
POINTS = 40  #: about so many, where nobody says how many


class RangeForm(FieldErrors, forms.Form):
    """What is swept: `limit`, and `begin` to `end` in steps of `step`, both included."""

    limit = forms.ChoiceField(label="limit", choices=[(name, f"{LIMIT_NAMES[name]} ({name})") for name in SWEPT])
    begin = forms.IntegerField(label="from", min_value=0)
    end = forms.IntegerField(label="to", min_value=0)
    step = forms.IntegerField(label="step", min_value=1)

    @property
    def values(self) -> range:
        said = self.cleaned_data
        return range(said["begin"], said["end"] + 1, said["step"])


def range_form(
    turn: Turn, dials: tuple[LimitControl, ...], query: Mapping[str, Any], suggested: Mapping[str, int] | None = None
) -> RangeForm:
    """The form as the address says; what it leaves out is what is worth seeing. `suggested`: by limit, the largest
    value that the turn's page names; without a limit in the address it is the first of these that can be swept."""
    suggested = suggested or {}
    name = str(query.get("limit") or next((limit for limit in suggested if limit in SWEPT), "max_tokens"))
    dial = next((dial for dial in dials if dial.name == name and name in SWEPT), dials[0])
    usual = usual_range(turn, dial, beyond=suggested.get(dial.name, 0))
    given: Mapping[str, Any] = {} if other_limit_chosen(query) else query
    begin, end, step = (str(given.get(key) or "") for key in RANGE)
    data = {
        "limit": name,
        "begin": begin or usual.start,
        "end": end or usual[-1],
        "step": step or usual.step,
    }
    return RangeForm(data, auto_id="sweep_%s")


def other_limit_chosen(query: Mapping[str, Any]) -> bool:
    """Whether the range that was sent along is that of another limit: `range_of` names the limit it was shown for."""
    return bool(query.get("range_of")) and query.get("range_of") != query.get("limit")


def usual_range(turn: Turn, dial: LimitControl, *, beyond: int = 0) -> range:
    """From little to well beyond what was recorded, and beyond that value, in round steps; no further than may be
    asked for."""
    most = int(dial.slides_to)
    if dial.name == "max_tokens":
        used = int(turn.output_tokens)
        most = 2 * max(used, turn.max_tokens or 2 * used, 1)  # without a cap, an estimate may lie beyond what was used
    elif dial.name == "max_continuations":
        most = max(10, 2 * int(dial.recorded or 0))
    most = max(most, beyond + beyond // 4 + 1 if beyond else 0)
    most = most if dial.most is None else min(most, dial.most)
    step = _round(max(1, most // POINTS))
    least = ceil(dial.least)
    begin = least if step == 1 else step
    return range(begin, max(begin, most) + 1, step)


def _round(step: int) -> int:
    """1, 2, 5, 10, 20, 50 …: the next at or above."""
    size = 1
    while True:
        for factor in (1, 2, 5):
            if factor * size >= step:
                return factor * size
        size *= 10
