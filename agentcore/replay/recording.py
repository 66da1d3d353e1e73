"""A recording: a turn's history as a value, with its events and the machine's reactions."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, get_args

from agentcore import serial
from agentcore.argument_validation import WrongInput, required, shown, strict
from agentcore.events import Event
from agentcore.machine.advance import Step
from agentcore.policy import Policy
from agentcore.replay.certainty import Assumption, Certainty, Why
from agentcore.snapshot import Snapshot
from agentcore.snapshot_parts import Spent
from agentcore.values import quickly_made, replace, settle

_EVENTS = get_args(Event)
_MIDDLED = ("input_tokens", "output_tokens")  #: of what a turn has used, what differs with the assumptions


class Provenance(StrEnum):
    """Where a step of a replay comes from."""

    RECORDED = "recorded"  #: recorded unchanged
    DERIVED = "derived"  #: it follows from what was recorded
    LIVE = "live"  #: from a live call of a provider


#: What a record's parts must be, beside its number and its event.
_PARTS: tuple[tuple[str, type], ...] = (
    ("transitions", tuple),
    ("command", Mapping),
    ("observed", tuple),
    ("provenance", Provenance),
    ("certainty", Certainty),
    ("assumes", tuple),
)
_USUAL: dict[type, type] = {Mapping: dict}


@quickly_made
@dataclass(frozen=True, slots=True)
class Record:
    """One row of a history. `transitions`, `command` and `observed` are JSON, as stored and served."""

    seq: int  #: from 1, without gaps
    event: Event  #: what happened
    transitions: tuple[Mapping[str, Any], ...] = ()
    command: Mapping[str, Any] = field(default_factory=dict)
    observed: tuple[Mapping[str, Any], ...] = ()
    provenance: Provenance = Provenance.RECORDED  #: whether it is fact, derived from the recording, or live
    certainty: Certainty = Certainty.RECORDED  #: of a what-if's step
    assumes: tuple[Assumption, ...] = ()  #: the assumptions of a what-if's step

    def __post_init__(self) -> None:
        if self.seq.__class__ is not int or self.seq < 1:
            raise WrongInput(f"Record: seq must be a whole number of at least 1, not {shown(self.seq)}.")
        if self.event.__class__ not in _EVENTS:
            kinds = ", ".join(kind.__name__ for kind in _EVENTS)
            raise WrongInput(f"Record: event must be one of {kinds}, not {shown(self.event)}.")
        for name, kind in _PARTS:
            part = getattr(self, name)
            if part.__class__ is not _USUAL.get(kind, kind):  # every record is looked at: the words are made for few
                required(part, kind, f"Record: {name}")

    @classmethod
    def of(cls, seq: int, event: Event, step: Step, provenance: Provenance = Provenance.RECORDED) -> "Record":
        """The record of one step; `seq` counts from 1."""
        if step.__class__ is not Step:
            required(step, Step, "step")
        return cls(
            seq,
            event,
            tuple([serial.transition_to_json(transition) for transition in step.transitions]),
            serial.command_to_json(step.command),
            tuple([serial.observation_to_json(observation) for observation in step.observed]),
            provenance,
        )


@strict()
@quickly_made
@dataclass(frozen=True, slots=True)
class Recording:
    """A history and its policy. `base_snapshot` is the idle snapshot, or the starting point of a fork.

    `final` is the last snapshot, where it is known.
    """

    policy: Policy  #: the turn's
    base_snapshot: Snapshot
    records: tuple[Record, ...]  #: the history, in order
    undecidable: bool = False  #: a what-if needed an answer that was never recorded
    final: Snapshot | None = None
    #: A cache of what `agentcore.replay.recorded_run` has read from the records, for further what-ifs of the same
    #: recording.
    kept: list[Any] = field(default_factory=list, init=False, compare=False, repr=False)

    #: What of the policy the JSON did not contain, such as criteria, and what was used in its place: a sentence each.
    missing: tuple[str, ...] = field(default=(), compare=False, kw_only=True)

    def __post_init__(self) -> None:
        if self.records.__class__ is not tuple or self.missing.__class__ is not tuple:
            settle(self, records=tuple, missing=tuple)


@quickly_made
@dataclass(frozen=True, slots=True)
class WhatIf(Recording):
    """The result of a what-if: the history that would have resulted, its certainty, and its assumptions.

    `certainty` is the weakest of its steps. If the two ends of the assumed ranges lead to different endings, the
    what-if is undecidable: its records stop before the first assumption, and `endings` has both endings, the one with
    the smaller assumptions first.
    """

    certainty: Certainty = Certainty.RECORDED
    assumes: tuple[Assumption, ...] = ()  #: each name once, with the widest range that a step took
    endings: tuple["WhatIf", ...] = ()  #: none, or two
    #: the work it took, in steps of following a recording, both endings included
    work: int = field(default=0, compare=False)
    stopped: str = ""  #: in words, where it is undecidable because it would have taken too much work; else empty
    why: Why | None = None  #: it is undecidable; None where it is not
    held: float = field(default=0.0, compare=False)  #: seconds in which it waited for an operator, as recorded
    #: the last snapshot at the upper end of the assumed ranges, where it is an estimate; `final` is at the lower end,
    #: and the records lie midway, as `spent` does
    upper: Snapshot | None = field(default=None, compare=False)

    @property
    def spent(self) -> Spent:
        """What the turn would have used: midway between the two ends of the assumed ranges, where there are two. Raises
        `ValueError` for a what-if without a last snapshot."""
        if self.final is None:
            raise ValueError("This what-if has no last snapshot.")
        low, high = self.final.own, (self.upper or self.final).own
        middle = {name: round((getattr(low, name) + getattr(high, name)) / 2) for name in _MIDDLED}
        return replace(low, **middle)

    @property
    def output_tokens_range(self) -> tuple[int, int]:
        """The output tokens at the two ends, the smaller number first. Raises `ValueError` as `spent` does."""
        if self.final is None:
            raise ValueError("This what-if has no last snapshot.")
        low, high = sorted((self.final.own.output_tokens, (self.upper or self.final).own.output_tokens))
        return low, high

    @property
    def seconds(self) -> float:
        """How long the turn would have taken: midway, and without the time for which an operator held it. Raises
        `ValueError` as `spent` does."""
        if self.final is None:
            raise ValueError("This what-if has no last snapshot.")
        return (self.final.at + (self.upper or self.final).at) / 2 - self.held
