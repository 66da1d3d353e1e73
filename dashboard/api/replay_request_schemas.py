"""Request schemas of replays and backtests."""

from typing import Annotated, Literal

from pydantic import Field

from dashboard.api.request_base import Body, Object, Text, Whole
from dashboard.api.request_schemas import Breakpoint, Overrides, PolicyDraft, SuppliedResult
from dashboard.replay.sweep_service import SWEPT


class AskVerify(Body):
    """Do the recorded events give the recorded transitions?"""

    mode: Literal["verify"]


class AskWhatIf(Body):
    """The recording evaluated under other limits. No provider is called."""

    mode: Literal["what_if"]
    overrides: Overrides = Overrides()


class OtherMessage(Body):
    """A replacement for a message of the conversation."""

    place: Whole = Field(description="The number of the message, from 1.")
    text: Text


class AskRerun(Body):
    """A live re-run of the turn, with changes."""

    mode: Literal["rerun"]
    overrides: Overrides = Overrides()
    from_record: Whole | None = Field(default=None, description="Fork at this record. Default: re-run from the start.")
    connection: Text | None = Field(default=None, description="The name of another connection to call.")
    messages: list[OtherMessage] | None = Field(
        default=None, description="Replacements for messages of the conversation at that record."
    )
    tool_results: list[SuppliedResult] | None = Field(
        default=None, description="Results of the tools that are about to run at that record. These tools are not run."
    )
    breakpoints: list[Breakpoint] | None = None


class AskSweep(Body):
    """What-ifs for each value of one limit. No provider is called."""

    mode: Literal["sweep"]
    limit: Text = Field(examples=["max_tokens"], description="One of: " + ", ".join(SWEPT) + ".")
    begin: Whole = Field(description="The first value.", examples=[50])
    end: Whole = Field(description="The last value.", examples=[1000])
    step: Whole = Field(default=1, description="The step between two values.", examples=[50])
    overrides: Overrides = Overrides()


Replay = Annotated[AskVerify | AskWhatIf | AskRerun | AskSweep, Field(discriminator="mode")]


class NewBacktest(Body):
    """A policy to evaluate on stored turns."""

    policy: PolicyDraft
    stands_for: Text | None = Field(
        default=None,
        description="The name of a policy that the draft replaces in each turn; overrides and other policies stay as "
        "they were. If it is left out, the draft replaces all settings.",
    )
    keeps_overrides: bool = Field(
        default=False,
        description="Without `stands_for`: whether the overrides of each turn take precedence over the draft, as in a "
        "new turn under it. With `stands_for` they always do.",
    )
    max_tokens: Whole | None = Field(
        default=None, description="The max_tokens of each turn's first call, instead of the recorded value."
    )
    filter: Object | None = Field(
        default=None, description="The filters of the timeline.", examples=[{"stop_reason": "retry_limit"}]
    )
