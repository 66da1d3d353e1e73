"""What a program is told through the seam, and of what this host can do."""

from datetime import datetime

from pydantic import BaseModel, Field

from dashboard.api.response_fields import Object


class Capabilities(BaseModel):
    envelopes: Object = Field(
        description="`{reliability: {supported, events, maxRetryAttempts, completion}}` (RFC 0033 §E)."
    )
    capabilities: Object = Field(description="The same as `{envelopes}`.")


class Script(BaseModel):
    """A simulator model with scripted answers."""

    name: str
    model: str = Field(description="The model name that an agent uses.")
    answers: int = Field(description="The number of scripted answers.")
    calls: int = Field(description="The number of calls that it has received.")
    base_urls: dict[str, str] = Field(description="The base URLs for a connection, by provider.")


class ReceivedMessage(BaseModel):
    role: str = Field(description="user, assistant, tool")
    text: str


class ReceivedCall(BaseModel):
    """The request of one call; long values are cut."""

    call: int
    provider: str
    model: str
    stream: bool
    max_tokens: int = Field(description="4,096 if the request set no limit.")
    system_prompt: str
    messages: list[ReceivedMessage]
    at: datetime


class ReceivedCalls(BaseModel):
    """The latest calls of a script, in order."""

    name: str
    model: str
    total: int = Field(description="The number of all its calls.")
    lastReceivedMaxTokens: int | None  # noqa: N815 - the RFC's name
    lastReceivedSystemPrompt: str | None  # noqa: N815 - the RFC's name
    calls: list[ReceivedCall]
