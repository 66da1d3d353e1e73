"""The requests of two turns, field by field."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from agentcore import serial
from agentcore.messages import ToolSpec
from dashboard.agents.policies import stored_policy
from dashboard.replay.comparison.word_comparison import WordDiff, word_diff
from dashboard.turns.models import Turn
from dashboard.turns.sent_caps import cap_in_words
from dashboard.turns.turn_view import RecordingView

LONG = 60  #: characters from which two texts are compared by word
UNSET = "–"
#: Of a policy, what stands among the turn's own words already.
SAID_APART = ("max_tokens", "system_prompt", "model")


@dataclass(frozen=True, slots=True)
class Field:
    """One field. `words`: how two long texts differ; else the values are shown as they are."""

    name: str
    left: str
    right: str
    words: WordDiff | None = None

    @property
    def same(self) -> bool:
        return self.left == self.right


def fields_of(left: Turn, one: RecordingView, right: Turn, other: RecordingView) -> tuple[Field, ...]:
    """Everything that was said before the turns began, in the same order for both."""
    ours, theirs = _asked(left, one), _asked(right, other)
    names = [*ours, *(name for name in theirs if name not in ours)]
    return tuple(_field(name, ours.get(name, UNSET), theirs.get(name, UNSET)) for name in names)


def _field(name: str, left: str, right: str) -> Field:
    long = max(len(left), len(right)) > LONG and left != right
    return Field(name, left, right, word_diff(left, right) if long else None)


def _asked(turn: Turn, shown: RecordingView) -> dict[str, str]:
    setup = shown.snapshot.setup
    policy = serial.to_json(stored_policy(turn.policy))
    own = {
        "input": turn.input_text,
        "agent": turn.agent_name,
        "provider": turn.provider,
        "model": turn.model,
        "max_tokens": cap_in_words(turn.max_tokens),
        "system_prompt": setup.system_prompt if setup else "",
        "tools": _names(setup.tools) if setup else "",
        "envelope_schema": _written(setup.envelope_schema) if setup and setup.envelope_schema else UNSET,
    }
    return {**own, **dict(_flat({key: value for key, value in policy.items() if key not in SAID_APART}))}


def _names(tools: tuple[ToolSpec, ...]) -> str:
    return ", ".join(tool.name for tool in tools) or UNSET


def _flat(value: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, str]]:
    for name, inner in value.items():
        if isinstance(inner, Mapping):
            yield from _flat(inner, f"{before}{name}.")
        else:
            yield f"{before}{name}", _written(inner)


def _written(value: Any) -> str:
    if value is None or value == []:
        return UNSET
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
