"""The query of a replay page, parsed once for every page of the replay."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from urllib.parse import urlencode

from django.core.exceptions import ValidationError

from agentcore.policy import Policy
from agentcore.replay import Recording
from dashboard.agents.policies import stored_policy
from dashboard.replay import services
from dashboard.replay.forms import BudgetForm, given_of
from dashboard.replay.limit_controls import LimitControl, limit_controls_of
from dashboard.replay.run_comparison import Side, recorded_side, what_if_side
from dashboard.turns.history import recording_of
from dashboard.turns.models import UNFINISHED, Turn


@dataclass(frozen=True)
class ReplayQuery:
    """One turn under the numbers of a query. The form keeps whatever was given, also what cannot be."""

    turn: Turn
    policy: Policy
    dials: tuple[LimitControl, ...]
    given: Mapping[str, str]
    form: BudgetForm

    @classmethod
    def of(cls, turn: Turn, query: Mapping[str, Any]) -> "ReplayQuery":
        policy, given = stored_policy(turn.policy), given_of(query)
        dials = limit_controls_of(turn, policy)
        return cls(turn, policy, dials, given, BudgetForm(dials, policy, given))

    @cached_property
    def recording(self) -> Recording:
        return recording_of(self.turn)

    @property
    def query(self) -> str:
        """The numbers as an address has them."""
        return urlencode(self.given)

    def what_if(self) -> Side | None:
        """None where there is nothing to imagine: no record yet, or numbers that cannot be (the form says why)."""
        if not self.recording.records or not self.form.is_valid():
            return None
        try:
            found = services.what_if_under(self.recording, self.turn, self.form.overrides)
        except ValidationError as error:
            self.form.take_errors(error)
            return None
        return what_if_side(self.turn, self.recording, found)

    def context(self) -> dict[str, Any]:
        """What every page of a replay shows."""
        return {
            "turn": self.turn,
            "form": self.form,
            "query": self.query,
            "given": self.given,
            "unfinished": self.turn.status in UNFINISHED,
        }

    def compared(self) -> dict[str, Any]:
        """With the recording beside what it would have been."""
        return {**self.column(), "original": recorded_side(self.turn, self.recording)}

    def column(self) -> dict[str, Any]:
        """What it would have been, alone: what is asked for while a slider moves."""
        what_if = self.what_if()
        return {**self.context(), "what_if": what_if}
