"""The tree of a derivation, and its lines of text."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from agentcore.number_format import number


class Kind(StrEnum):
    """The kind of a node, from the end of the turn back to the provider."""

    TERMINAL = "terminal"  #: the final status of the turn
    TRANSITION = "transition"  #: the deciding transition
    EVALUATION = "evaluation"  #: the evaluation of a criterion there
    CLAUSE = "clause"  #: the policy field that it checked
    INPUT = "input"  #: a value that it was judged by
    PROVIDER_WORD = "provider_word"  #: the provider's own stop reason, verbatim
    CLAIM = "claim"  #: the value that the verdict says would have sufficed, above its evidence


@dataclass(frozen=True, slots=True)
class Fact:
    """One value of a node. `unit` is in the plural, or empty. `estimated`: the number is an estimate."""

    name: str  #: such as `used`, `limit`, `spec_key`
    value: str | float | bool | None
    unit: str = ""
    estimated: bool = False

    @property
    def shown(self) -> str:
        """As text: `3 continuations`, `about 200 completion tokens`, `none`."""
        if self.value is None:
            return "none"
        if isinstance(self.value, bool | str):
            return str(self.value)
        about = "about " if self.estimated else ""
        return f"{about}{number(self.value)}{f' {self.unit}' if self.unit else ''}"


@dataclass(frozen=True, slots=True)
class Node:
    """One step of the derivation, and the nodes that it follows from."""

    kind: Kind  #: its place in the chain
    name: str  #: a name from the core or the provider, such as `retry_limit` or `limits.max_continuations`
    words: str  #: a phrase, without a full stop
    facts: tuple[Fact, ...] = ()  #: its values, for programs
    because: tuple["Node", ...] = ()  #: what it follows from

    def fact(self, name: str) -> str | float | bool | None:
        """The value of the fact of this name; None where there is none."""
        return next((fact.value for fact in self.facts if fact.name == name), None)

    def walk(self) -> Iterator["Node"]:
        """This node and all under it, each before what it follows from."""
        yield self
        for node in self.because:
            yield from node.walk()


#: The label before a node in its line of text.
LABELS = {
    Kind.TERMINAL: "ended",
    Kind.TRANSITION: "by",
    Kind.EVALUATION: "because",
    Kind.CLAUSE: "under",
    Kind.INPUT: "from",
    Kind.PROVIDER_WORD: "provider",
    Kind.CLAIM: "claim",
}


def lines_of(node: Node, before: str = "", *, last: bool = True, top: bool = True) -> Iterator[str]:
    """The tree as lines of text, drawn like a directory tree."""
    yield f"{before}{'' if top else '└─ ' if last else '├─ '}{LABELS[node.kind]}: {node.words}"
    under = before + ("" if top else "   " if last else "│  ")
    for place, child in enumerate(node.because, start=1):
        yield from lines_of(child, under, last=place == len(node.because), top=False)
