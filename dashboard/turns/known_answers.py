"""Answers of criteria as the row of a judgement holds them.

Most say one of a few things with other numbers in it: `1 of 20 iterations`. What they say stands in
`known_answers.txt`, a line each, with `%s` for a number; the row has the number of the line, from 1, and the numbers of
the answer, as one text: `3 20 1 1 20`. All other answers, and those of older releases, stand in the row as they are.
Nobody's words are in the file, so nothing need be removed when a turn is erased.

Lines are only ever added: rows refer to them. The database knows the same lines (`whystop_answer`, migrations 0025,
0029 and 0035), so a line that is added goes there too.
"""

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

from django.db.models.expressions import Col
from pydantic_core import PydanticSerializationError, to_json

from dashboard.platform.fields import ExactJSONField

Answer = Mapping[str, Any]  #: as `agentcore.serial` has it

LINES = tuple(Path(__file__).with_name("known_answers.txt").read_text(encoding="ascii").splitlines())
_NUMBERED = {line: number for number, line in enumerate(LINES, start=1)}
_LONGEST = 1024  #: characters; none of the answers that are known is as long
_NUMBER = re.compile(r"(\d+(?:\.\d+)?)")
_text = json.JSONEncoder(sort_keys=True, separators=(",", ":")).encode


def stored(answers: Sequence[Answer]) -> list[Answer | str]:
    """The answers of one judgement as its row holds them."""
    return [_short(answer) or answer for answer in answers]


def _short(answer: Answer) -> str | None:
    try:
        text = to_json(answer)
    except PydanticSerializationError:  # a lone surrogate, which is in none of the lines
        return None
    return _known(text) if len(text) < _LONGEST else None


@lru_cache(maxsize=4096)
def _known(told: bytes) -> str | None:
    """The number of a line, and the numbers in it; None where it is none of the lines. Most are asked for again."""
    text = _text(json.loads(told))
    parts = _NUMBER.split(text.replace("%", "%%"))
    line = _NUMBERED.get("%s".join(parts[::2]))
    return None if line is None else " ".join((str(line), *parts[1::2]))


def told(held: Answer | str) -> Answer:
    """The answer again. Raises `LookupError` or `ValueError` for a text that stands for none."""
    if not isinstance(held, str):
        return held
    line, *numbers = held.split(" ")
    if not line.isdecimal() or not 0 < int(line) <= len(LINES) or LINES[int(line) - 1].count("%s") != len(numbers):
        raise LookupError(f"{held!r} stands for no answer.")
    answer: Answer = json.loads(LINES[int(line) - 1] % tuple(numbers))
    return answer


class AnswersField(ExactJSONField):
    """The answers of one judgement; what stands for one, where it cannot be read."""

    def get_db_prep_save(self, value: Any, connection: Any) -> Any:
        return super().get_db_prep_save(stored(value) if isinstance(value, list | tuple) else value, connection)

    def from_db_value(self, value: Any, expression: Any, connection: Any) -> Any:
        held = super().from_db_value(value, expression, connection)
        if isinstance(expression, Col) and isinstance(held, list):  # a part of it is one answer
            with suppress(LookupError, ValueError):
                return [told(answer) for answer in held]
        return held
