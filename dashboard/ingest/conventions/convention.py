"""What a convention is: the names under which it tells a fact, and how its spans are told apart."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

Names = tuple[str, ...]


class Kind(StrEnum):
    """The kinds of spans in a convention."""

    CALL = "call"
    ASKED = "asked"  #: one tool call of an answer
    AGENT = "agent"
    CHAIN = "chain"
    TOOL = "tool"


@dataclass(frozen=True, slots=True)
class Convention:
    """`kinds`: by the value of one of the attributes `told_by`, in lower case; where there is none of these, by the
    span's name. `facts`: by fact. `scope`: how the instrumentation's name begins, where `told_by` are common words."""

    name: str
    told_by: Names
    kinds: Mapping[str, Kind]
    facts: Mapping[str, Names]
    scope: str = ""
