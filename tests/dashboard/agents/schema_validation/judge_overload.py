"""Judges that have no time for a value, as long as a test wants; schemas they still read."""

import threading
from dataclasses import dataclass, field
from typing import Any

from dashboard.agents.schema_validation.judge_overload import JudgesBusy
from dashboard.agents.schema_validation.judge_processes import Question, judges
from dashboard.agents.schema_validation.judge_program import FAULT

#: A schema that only judges judge by, and answers that fit and do not fit.
SCHEMA = {"type": "object", "properties": {"a": {"anyOf": [{"type": "integer"}, {"type": "null"}]}}, "required": ["a"]}
GOOD, BAD = '{"a": 1}', '{"a": "x"}'


@dataclass
class BusyJudges:
    """`left`: how often they are busy; None: always. `reads`: whether they still look at schemas alone. `held`: what
    they wait for first."""

    left: int | None = None
    reads: bool = True
    asked: list[Question] = field(default_factory=list)
    held: threading.Event | None = None

    def ask(self, question: Question, who: str = "") -> Any:
        if (question.asked == FAULT and self.reads) or self.left == 0:
            return judges.ask(question, who)
        self.asked.append(question)
        if self.held is not None:
            self.held.wait(30)
        if self.left is not None:
            self.left -= 1
        raise JudgesBusy
