"""Response schemas of imports."""

from typing import Literal
from uuid import UUID

from pydantic import BaseModel, Field


class LogFault(BaseModel):
    line: int = Field(description="From 1; of a list, the number of the element; 0: the file as a whole.")
    words: str


class LogImported(BaseModel):
    """What became of a log, or would become of it."""

    turns: int = Field(description="Turns that were stored, or replaced because their session has grown.")
    here: int = Field(description="Turns that were here already; nothing was stored of them.")
    skipped: int = Field(description="Records that are no calls of a model.")
    refused: int = Field(description="Records that could not be read or stored.")
    faults: list[LogFault] = Field(description="Of the first hundred refused records: where, and why.")
    last: UUID | None = Field(description="The turn that was written last.")


class Imported(BaseModel):
    id: UUID = Field(description="Another than the file's, where that is taken by another turn.")
    already_here: bool = Field(description="The very same turn was here; nothing was stored.")
    verified: bool = Field(
        description="Whether its decisions follow from its events, its requests are those that were to be sent, and "
        "its answers are those in the provider's bytes. Whether all that happened, only who vouches for it can tell."
    )
    doubt: str = Field(description="Why it does not verify; empty where it does.")
    missing: list[str] = Field(description="What could not be compared, each in a sentence.")
    vouched_by: Literal["here", "sender", "own", "known", "unknown", "unsigned", "broken"] = Field(
        description="Who vouches for the recording, which a verification does not tell: `here`: recorded by this "
        "installation; `sender`: of its trace; else what the signature of its file proves."
    )
