"""What a model is: a row of the table in `model_table`."""

from collections.abc import Callable, Collection
from dataclasses import dataclass

from dashboard.simulator.errors import Reply
from dashboard.simulator.request_values import CheckedRequest
from dashboard.simulator.script_player import Ending, Script


class Silence:
    """No answer at all, until the caller leaves."""


Response = Script | Reply | Silence


@dataclass(frozen=True, slots=True)
class Behaviour:
    """One model. `script` may give a `Reply` instead, which is sent as it is, and may raise `RequestError`.

    `token_ms`: its own pace; `None` for the simulator's. `needs`: an ending without which a dialect cannot have it.
    `delay`: seconds before it answers at all. `dialects`: those that have it; `None`: all.
    """

    script: Callable[[CheckedRequest], Response]
    token_ms: float | None = None
    needs: Ending | None = None
    delay: float = 0.0
    dialects: Collection[str] | None = None

    def is_spoken_in(self, dialect: str, words: Collection[Ending]) -> bool:
        """Whether a dialect of this name, with words for these endings, has the model."""
        known = self.needs is None or self.needs in words
        return known and (self.dialects is None or dialect in self.dialects)
