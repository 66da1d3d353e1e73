"""Request schemas of replays and backtests."""

from typing import Annotated, Literal

from pydantic import Field

from dashboard.api.request_base import Body, Object, Text
from dashboard.api.request_schemas import Breakpoint, Overrides, PolicyDraft, SuppliedResult
from dashboard.replay.sweep_service import SWEPT


class AskVerify(Body):
    """Do the recorded events give the recorded transitions?"""

    mode: Literal["verify"]


class AskWhatIf(Body):
    """The recording under other words; no provider is asked."""

    mode: Literal["what_if"]
    overrides: Overrides = Overrides()


class OtherMessage(Body):
    """A message of the conversation in other words."""

    place: int = Field(description="The number of the message, from 1.")
    text: Text


class AskRerun(Body):
    """The turn again, live, under other words."""

    mode: Literal["rerun"]
    overrides: Overrides = Overrides()
    from_record: int | None = Field(default=None, description="Fork at this record. Default: re-run from the start.")
    connection: Text | None = Field(default=None, description="The name of another connection to call.")
    messages: list[OtherMessage] | None = Field(
        default=None, description="Replacements for messages of the conversation at that record."
    )
    tool_results: list[SuppliedResult] | None = Field(
        default=None, description="Results of the tools that are about to run at that record. These tools are not run."
    )
    breakpoints: list[Breakpoint] | None = None


class AskSweep(Body):
    """One limit over a range, from the recording; no provider is asked."""

    mode: Literal["sweep"]
    limit: Text = Field(examples=["max_tokens"], description="One of: " + ", ".join(SWEPT) + ".")
    begin: int = Field(description="The first value.", examples=[50])
    end: int = Field(description="The last value.", examples=[1000])
    step: int = Field(default=1, description="The step between two values.", examples=[50])
    overrides: Overrides = Overrides()


Replay = Annotated[AskVerify | AskWhatIf | AskRerun | AskSweep, Field(discriminator="mode")]


class NewBacktest(Body):
    """A policy to be tried over stored turns by what-if."""

    policy: PolicyDraft
    stands_for: Text | None = Field(
        default=None,
        description="A policy's name: the draft takes its place in the settings each turn ran under, so that overrides "
        "and other policies stand as they did. Left out: the draft stands alone, for all of them.",
    )
    max_tokens: int | None = Field(
        default=None, description="The max_tokens of each turn's first call, instead of the recorded value."
    )
    filter: Object | None = Field(
        default=None, description="The filters of the timeline.", examples=[{"stop_reason": "retry_limit"}]
    )
