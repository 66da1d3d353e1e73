"""An error of the model or of a tool, before the error policy has decided about it."""

from dataclasses import dataclass

from agentcore.error_policy import ErrorContext
from agentcore.errors import ErrorType, ProviderError
from agentcore.messages import ChatResponse


@dataclass(frozen=True, slots=True)
class Failure:
    """The error being judged. `provider` is None for tool errors."""

    type: ErrorType  #: the type used by the error policy
    message: str  #: in words
    tool_name: str | None = None  #: where a tool failed
    provider: ProviderError | None = None
    said: ChatResponse | None = None  #: the part of the answer received, with the stop reason that the error means
    context: ErrorContext | None = None  #: from `Policy.resolver`; None: counted by the snapshot
    unresolved: str = ""  #: why `Policy.resolver` failed, in words
