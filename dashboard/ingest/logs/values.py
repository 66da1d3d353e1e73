"""What a reader finds in a file."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dashboard.ingest.conventions.observations import Seen

Json = Mapping[str, Any]

UNKNOWN_MODEL = "unknown"  #: of a call whose log names none


class UnreadableError(Exception):
    """A record cannot be taken; its words say why, for people."""


@dataclass(frozen=True, slots=True)
class Fault:
    """A record that was not taken. `line`: its number in the file, from 1; of a list, that of the element."""

    line: int
    words: str


@dataclass(frozen=True, slots=True)
class Episode:
    """The calls of one turn, or of a few. `key` tells it from all others, in every file.

    `is_settled`: the key is made of all that is in it, so an episode of this key is never another. `session`: episodes
    of the same one, in their order, are a run.
    """

    key: str
    seen: tuple[Seen, ...]
    line: int
    parents: Mapping[str, str] = field(default_factory=dict)
    is_settled: bool = False
    session: str = ""


@dataclass(frozen=True, slots=True)
class Skipped:
    """A record that is no call of a model, such as a line that only names the session."""

    line: int


Found = Episode | Fault | Skipped


def digest_of(*parts: str | bytes) -> str:
    """32 hexadecimal digits that stand for these parts."""
    digest = hashlib.blake2b(digest_size=16)
    for part in parts:
        raw = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
        digest.update(len(raw).to_bytes(8, "big") + raw)
    return digest.hexdigest()
