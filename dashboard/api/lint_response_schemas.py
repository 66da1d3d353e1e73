"""Response schemas of the signs of hidden cuts."""

from uuid import UUID

from pydantic import BaseModel, Field

from agentcore.lint import CODES
from dashboard.api.response_fields import words


class Sign(BaseModel):
    """Evidence that a stop reason hides a truncation."""

    attempt: int
    raw_stop_reason: str | None = Field(description="The provider's stop reason, unchanged.")
    code: str = Field(description=words(CODES))
    words: str
    text: str = Field(description="The text that shows it; empty if a number shows it.")
    at: int | None = Field(description="Where the text begins in the answer, from 0.")
    readings: list[str] = Field(
        description="For `ambiguous_seam`, with the surrounding text: the answer with the possible repeat, as it is "
        "stored, and the answer without it. Otherwise empty."
    )


class LintReport(BaseModel):
    class Code(BaseModel):
        code: str = Field(description=words(CODES))
        means: str
        advice: str
        turns: int = Field(description="The number of turns with this sign.")
        days: dict[str, int] = Field(description="The same by day, in UTC.")
        examples: list[UUID] = Field(description="The newest of these turns.")

    class Source(BaseModel):
        connection: str
        provider: str
        model: str
        turns: int = Field(description="All turns of the model, with or without a sign of truncation.")
        codes: dict[str, int] = Field(description="The number of turns with each sign.")

    codes: list[Code]
    sources: list[Source]
    capped: bool = Field(description="True: more turns have a sign of truncation; only the newest were counted.")
