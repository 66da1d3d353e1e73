"""The limit that would have let a turn finish, as one value: pages, API, client and commands are worded from it."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any
from uuid import UUID

from agentcore.replay import Certainty
from agentcore.resource import APPROVAL_SECONDS
from agentcore.sufficient_max_tokens import END_AT_MOST
from agentcore.values import replace
from dashboard.turns.prices.rates import Price

Number = int | float


class Basis(StrEnum):
    """The basis of a suggested value, the most certain first."""

    RECORDING = "recording"  #: the turn's own recording, judged under the value
    RERUN = "rerun"  #: a live re-run of the turn that completed
    AGENT = "agent"  #: the answers of the same agent and model
    MODEL = "model"  #: the answers of the same model, of any agent
    SETTING = "setting"  #: what the provider itself asked for
    NONE = "none"  #: nothing tells; the value is one to begin with


class Goal(StrEnum):
    """What the value is for, and what a re-run under it must show."""

    FINISH = "finish"  #: the turn stopped before it was complete
    ONE_CALL = "one_call"  #: it completed, and took several calls for one answer
    NO_REPAIR = "no_repair"  #: it completed, after a truncated tool call was requested again
    RETRY = "retry"  #: a failed call was not tried again; whether another try is answered is not known


class Lack(StrEnum):
    """Why other turns support no estimate."""

    FEW = "few"  #: too few that used more completed
    STOPPED = "stopped"  #: too many of those that used more did not complete
    UNREPORTED = "unreported"  #: the model counts tokens that it does not report, and too few calls show how many
    CHARACTERS = "characters"  #: so long an answer would exceed the characters that the turn may have
    CEILING = "ceiling"  #: no call may request so much


@dataclass(frozen=True, slots=True)
class Usual:
    """What other completed turns used of a limit that used more than this one: the median of so many, and the most."""

    median: Number
    most: Number
    turns: int
    of: str  #: the agent or model
    noun: str  #: which of the two it is
    counted: str  #: what was counted, as `Suggestion.counted`
    output: int = 0  #: the median of the output tokens of those turns


@dataclass(frozen=True, slots=True)
class Evidence:
    """What other turns tell that used more of a limit, where that supports no estimate."""

    lack: Lack
    ended: int = 0  #: how many of them completed
    cut: int = 0  #: how many did not
    of: str = ""  #: the agent or model
    noun: str = ""  #: which of the two it is
    counted: str = "answer"  #: what was counted, as `Suggestion.counted`
    usual: Usual | None = None


@dataclass(frozen=True, slots=True)
class Costs:
    """What a live try of the value costs. The prices are None where no list price is known."""

    output_tokens: int  #: as a re-run or the recording shows, else as other turns used, else as this turn used
    price: Price | None
    most_tokens: int  #: output tokens, if every call that the limits allow is made and reaches its cap
    most_price: Price | None
    filled_tokens: int = 0  #: output tokens, where all of the value is used; of what is not counted in them, at most
    filled_price: Price | None = None
    usual: Usual | None = None  #: `output_tokens` is by these turns
    is_least: bool = False  #: it is what this turn used, and nothing tells how much more a try takes
    by_rerun: bool = False  #: that least is what a re-run used which was not enough

    @property
    def twice(self) -> "Costs":
        """Of two such tries. The second may not be made, so that the least is that of one."""
        whole = replace(self, most_tokens=2 * self.most_tokens, most_price=_doubled(self.most_price))
        if self.is_least:
            return whole
        return replace(whole, output_tokens=2 * self.output_tokens, price=_doubled(self.price))


def _doubled(price: Price | None) -> Price | None:
    return None if price is None else replace(price, dollars=2 * price.dollars)


@dataclass(frozen=True, slots=True)
class Suggestion:
    """One limit and the value of it that would have let the turn finish.

    `share` of further answers that are longer than `longer_than` are estimated to be complete within the value, by
    `answers` of them, where those tell (`AGENT`, `MODEL`); `cut` of them were cut, which says only that they are at
    least so long. `within` of them ended within the value, and `cut_earlier` were cut before. `calls` and `used`: what
    the turn then takes, if known.
    `together`: what has to be raised beside it, for the same reason.
    """

    limit: str  #: its key, as `agentcore.policy.LIMIT_NAMES` has it
    value: Number
    recorded: Number | None  #: the value it had; None: no limit
    certainty: Certainty
    basis: Basis
    goal: Goal = Goal.FINISH
    share: float | None = None
    answers: int = 0
    cut: int = 0
    within: int = 0
    cut_earlier: int = 0
    sooner: Number | None = None  #: the most that `answers` other turns used, where none tells that more was needed
    newest: bool = False  #: only the newest answers tell, for they have become longer
    unreported: int = 0  #: tokens of the value that the model counts and does not report
    longer_than: Number | None = None  #: what this turn used of the limit, or a re-run that was not complete was given
    calls: int | None = None
    used: int | None = None
    rerun: UUID | None = None
    original: bool = False  #: `rerun` is the turn that this one runs again
    given: Number | None = None  #: the value that the re-run had; it may have needed less
    used_most: int | None = None  #: the most that one call would have taken by the recording, where it is an estimate
    room: int | None = None  #: the cap of the re-run's calls, where the value is a total
    before: int | None = None  #: tokens that the re-run had used before its last call, where the value is a total
    longest: int | None = None  #: tokens of the longest call of the re-run that shows a cap
    more_calls: int = 0  #: of the re-run, those that continued an answer or requested it again
    unreported_use: bool = False  #: its tokens are estimated by its text, because the provider reported none
    spent: Number | None = None  #: what the re-run used of the limit
    may_be_cut: bool = False  #: the re-run's last call used all of its cap, so its answer may have been cut there
    ended_at_it: bool = False  #: and that was all that the value allows
    wait: float | None = None  #: seconds after which the provider asked to be called again
    of: str = ""  #: the agent or model whose answers tell
    noun: str = ""  #: which of the two it is
    counted: str = "answer"  #: what of them is counted: answers, tool-call responses or whole turns
    ended: bool = False  #: the turn is said to have completed, and may be cut
    usual: Usual | None = None  #: what the turns used that tell the value
    evidence: Evidence | None = None  #: of a value to begin with: why other turns support no estimate
    together: Mapping[str, Any] | None = None
    costs: Costs | None = None
    refused: int | None = None  #: the least max_tokens that the provider refused as too large
    most: int | None = None  #: the most that it then said it allows
    full_at: int | None = None  #: what one call may request on the connection, where no larger cap is possible
    is_below_full: bool = False  #: the turn had less than that, and all of it is known or likely to be too little
    unrecorded: bool = False  #: what the limit was is not recorded; `recorded` is what the cut answer used

    @property
    def by_longest(self) -> bool:
        """Whether the value is what the longest call of a re-run used, and an end."""
        is_sum = self.longest is not None and self.value == self.longest + END_AT_MOST
        return is_sum and self.given not in (None, self.value)

    @property
    def known(self) -> bool:
        """Whether something tells that the value is enough, for certain or likely."""
        return self.basis is not Basis.NONE

    @property
    def only_tries_again(self) -> bool:
        """Whether the value lets a failed call be tried again, and nothing tells whether it is answered then."""
        return self.basis is Basis.SETTING

    @property
    def sufficient(self) -> bool:
        """Whether something tells that the turn finishes under the value, for certain or likely."""
        return self.known and not self.only_tries_again

    @property
    def finish_certainty(self) -> Certainty:
        """How certain it is that the turn finishes under the value; `certainty` may be that of a retry alone."""
        return self.certainty if self.sufficient else Certainty.UNDECIDABLE

    @property
    def overrides(self) -> dict[str, Any]:
        """The change, as a re-run and the API take it."""
        beside = dict(self.together or {})
        if self.limit == "max_tokens":
            return {**beside, "max_tokens": self.value}
        if self.limit == APPROVAL_SECONDS:
            return {}  # it is the agent's, and no turn has another one
        if self.limit == "max_retries":
            return {"error_policy": {**beside.get("error_policy", {}), "max_retries": self.value}}
        return {**beside, "limits": {**beside.get("limits", {}), self.limit: self.value}}
