"""The schema of an error (RFC 9457)."""

from pydantic import BaseModel, Field


class Problem(BaseModel):
    """What went wrong, and what to do (RFC 9457)."""

    class Fault(BaseModel):
        field: str | None = Field(description="The invalid field in dotted form; null for the body as a whole.")
        message: str

    type: str = "about:blank"
    title: str
    status: int
    detail: str
    errors: list[Fault]
