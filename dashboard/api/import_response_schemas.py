"""Response schemas of imports."""

from typing import Literal
from uuid import UUID

from pydantic import BaseModel, Field


class LogFault(BaseModel):
    line: int = Field(
        description="The line number, from 1; for a list, the number of the element; 0 for the file as a whole."
    )
    words: str


class LogImported(BaseModel):
    """The result of importing a log, or of a dry run."""

    turns: int = Field(description="Turns that were stored, or replaced because their session has new calls.")
    here: int = Field(description="Turns that already existed. They were not stored again.")
    skipped: int = Field(description="Records that are not model calls.")
    refused: int = Field(description="Records that could not be read or stored.")
    faults: list[LogFault] = Field(
        description="Location and reason of the first hundred refused records. `manage.py import` lists all of them."
    )
    last: UUID | None = Field(description="The turn that was stored last.")


class Imported(BaseModel):
    id: UUID = Field(
        description="The id of the imported turn. It differs from the id in the file if another turn has that id."
    )
    already_here: bool = Field(description="The same turn already existed; nothing was stored.")
    verified: bool = Field(
        description="Whether its decisions follow from its events, its requests match the recorded commands, and its "
        "answers match the provider's bytes. It does not prove that the turn happened: see `vouched_by`."
    )
    doubt: str = Field(description="Why the verification failed; empty if it succeeded.")
    missing: list[str] = Field(description="What could not be compared, one sentence each.")
    vouched_by: Literal["here", "sender", "own", "known", "unknown", "unsigned", "broken"] = Field(
        description="Who vouches for the recording: `here`, this installation recorded it; `sender`, the sender of its "
        "trace; otherwise the result of checking the signature of its file."
    )
