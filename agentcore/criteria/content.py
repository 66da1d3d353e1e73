"""What an answer's text must have to be enough: the plain tests a policy can ask of `ResponseContentCheck`."""

from dataclasses import dataclass

from agentcore.argument_validation import strict
from agentcore.values import settle


@strict()
@dataclass(frozen=True, slots=True)
class WantsMore:
    """Finds a text not enough while it has less than `min_chars` characters or lacks one of `must_contain`.

    Case does not count. No patterns: a text of a model's own must not decide how long a judgement takes.
    """

    min_chars: int = 0
    must_contain: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        settle(self, must_contain=tuple)

    def __call__(self, text: str) -> bool:
        folded = text.casefold()
        return len(text) < self.min_chars or any(wanted.casefold() not in folded for wanted in self.must_contain)
