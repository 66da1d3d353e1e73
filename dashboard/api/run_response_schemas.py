"""Response schemas of what turns are part of: conversations and runs."""

from datetime import datetime
from uuid import UUID

from pydantic import BaseModel, Field

from dashboard.api.turn_response_schemas import Turn


class Conversation(BaseModel):
    """Turns with one agent, one after another."""

    id: UUID
    agent: str
    title: str = Field(description="The beginning of the first prompt; empty until there is one.")
    token_budget: int | None = Field(
        description="The token budget of all its turns together, input and output; null: no budget."
    )
    used_tokens: int
    turns: list[UUID] = Field(description="The ids of its turns, oldest first.")


class Run(BaseModel):
    """Turns that continue each other."""

    id: UUID = Field(description="The id of its first turn.")
    turns: int
    input_tokens: int = Field(description="The sum of all its turns.")
    output_tokens: int
    tokens_estimated: bool
    started_at: datetime
    last_at: datetime = Field(description="When its last turn ended, or was created.")
    unfinished: bool = Field(description="Whether a turn of the run has not ended.")
    newest_turn: UUID = Field(description="The newest turn of the run; in a list, the newest that matches the filters.")


class RunPage(BaseModel):
    items: list[Run]
    next: str | None = Field(description="The cursor of the older runs; null on the last page.")
    previous: str | None = Field(description="The cursor of the newer runs; null on the first page.")


class PathStep(BaseModel):
    """The place of a turn in its run."""

    turn_id: UUID
    follows: UUID | None = Field(
        description="The turn whose answer it continues; several turns may continue the same one."
    )
    dollars: float | None = Field(description="US dollars at list prices; null if a price is not known.")


class RunWhole(Run):
    dollars: float | None = Field(description="US dollars of all turns listed here; null if a price is not known.")
    path: list[PathStep]
    items: list[Turn] = Field(description="Oldest first.")
