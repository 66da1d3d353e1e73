"""An error of the model or of a tool, before the error policy has decided about it."""

from dataclasses import dataclass

from agentcore.error_policy import ErrorContext
from agentcore.errors import ErrorType, ProviderError
from agentcore.messages import ChatResponse


@dataclass(frozen=True, slots=True)
class Failure:
    """The error being judged. `provider` is None for tool errors."""

    type: ErrorType  #: as the error policy knows it
    message: str  #: in words
    tool_name: str | None = None  #: where a tool failed
    provider: ProviderError | None = None
    said: ChatResponse | None = None  #: what had arrived, with the reason that the error really is
    context: ErrorContext | None = None  #: what `Policy.resolver` made of it; None: what the snapshot counts
    unresolved: str = ""  #: in words, why `Policy.resolver` could make nothing of it
