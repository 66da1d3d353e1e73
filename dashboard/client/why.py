"""Why a turn stopped, as the client is told: a tree, and the roads not taken at each step."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .values import Json, Suggestion, read_as


@dataclass(frozen=True, slots=True)
class WhyNode:
    """One step of a derivation. `kind`: terminal, transition, evaluation, clause, input, provider_word or claim;
    `facts`: its values, `{name, value, unit, estimated}` each; `source`: of a clause, whose word it was."""

    kind: str
    name: str
    words: str
    facts: Sequence[Json]
    source: Json | None
    because: tuple["WhyNode", ...]

    @classmethod
    def read(cls, shown: Json) -> "WhyNode":
        return read_as(cls, shown, because=tuple(map(cls.read, shown["because"])))

    def walk(self) -> Iterator["WhyNode"]:
        """This node and all under it, each before what it follows from."""
        yield self
        for node in self.because:
            yield from node.walk()


@dataclass(frozen=True, slots=True)
class Why:
    """Why a turn stopped: why the agent, which limit ran out, why the model. `tree` is None while it runs."""

    verdict: str
    loop_reason: str | None
    terminal_reason: str | None
    resource: str | None
    model_reason: str | None
    raw_model_reason: str | None
    clause: str | None
    decided_at: Json | None
    tree: WhyNode | None
    suggestion: Suggestion | None  #: None: it needs none, or no limit would have helped

    @classmethod
    def read(cls, shown: Json) -> "Why":
        return read_as(cls, shown, tree=WhyNode.read(shown["tree"]) if shown["tree"] else None)


@dataclass(frozen=True, slots=True)
class Road:
    """A move that was not made: its condition in words, whether that held (None: not known), and how it stood."""

    trigger: str
    to: str
    guard: str
    open: bool | None
    miss: str
    near: bool


@dataclass(frozen=True, slots=True)
class Step:
    """A transition out of a deciding state, and the other possible transitions there."""

    seq: int
    number: int
    source: str
    trigger: str
    to: str
    roads: tuple[Road, ...]

    @classmethod
    def read(cls, shown: Json) -> "Step":
        return read_as(cls, shown, source=shown["from"], roads=tuple(read_as(Road, road) for road in shown["roads"]))
