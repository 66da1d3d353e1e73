"""One answer of a provider to one call, as lint judges it."""

from dataclasses import dataclass
from pathlib import Path

from agentcore.lint import Sign, signs
from agentcore.messages import ChatResponse
from tests.agentcore.lint.payloads import Answer, decoded

TEXTS = (Path(__file__).parent / "honest_answers.txt").read_text(encoding="utf-8").split("\n=====\n")


@dataclass(frozen=True, slots=True)
class Told:
    """One answer of one dialect to a call of `cap` tokens. `before`: what it continues; `code`: the lie in it."""

    name: str
    dialect: str
    cap: int
    answer: Answer
    code: str = ""
    before: str = ""

    @property
    def response(self) -> ChatResponse:
        return decoded(self.dialect, self.answer, self.cap)

    @property
    def signs(self) -> tuple[Sign, ...]:
        return signs(self.response, self.cap, self.before)


def tokens_of(text: str) -> int:
    """About as many as a provider would count."""
    return max(1, round(len(text.encode()) / 4))
