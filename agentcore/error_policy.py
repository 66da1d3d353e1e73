"""How each type of error is handled (spec: continuation-and-error-policy, "Error Policy API")."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Protocol, Self

from agentcore.argument_validation import WrongInput, required, shown, strict
from agentcore.errors import ErrorType
from agentcore.values import settle


class ErrorHandlingDecision(StrEnum):
    """How an error is handled (spec: continuation-and-error-policy)."""

    STOP = "stop"  #: forbid continuation at once
    RETRY = "retry"  #: allow another call
    IGNORE = "ignore"  #: allow continuation, as if there were no error


_KINDS = {f"on_{error}_error": ErrorHandlingDecision for error in ErrorType}


@strict()
@dataclass(frozen=True, slots=True)
class ErrorContext:
    """The error being judged, with the number of failures so far. `consecutive_failures` is 0 if there is no error."""

    type: ErrorType  #: of the last failure
    consecutive_failures: int
    total_failures: int  #: iterations and calls of the turn that failed
    message: str | None = None  #: of the last failure, in words
    tool_name: str | None = None  #: the tool that failed, where one did
    metadata: Mapping[str, Any] = field(default_factory=dict)  #: anything else a resolver knows

    def __post_init__(self) -> None:
        settle(self, type=ErrorType)

    @classmethod
    def none(cls) -> Self:
        """The context where nothing has failed."""
        return cls(ErrorType.UNKNOWN, 0, 0)


class ResolvesErrorContext(Protocol):
    """Provides the error context of a state (spec: `CanResolveErrorContext`)."""

    def resolve(self, state: Any, /) -> ErrorContext:
        """The error context of this state, a `Snapshot` whose `failure` is set. Pure: the same for the same state."""


@strict()
@dataclass(frozen=True, slots=True)
class ErrorPolicy:
    """One decision per type of error. `max_retries` is the number of consecutive failures at which a retry stops."""

    on_tool_error: ErrorHandlingDecision = ErrorHandlingDecision.STOP  #: a tool failed
    on_model_error: ErrorHandlingDecision = ErrorHandlingDecision.STOP  #: the provider failed
    on_validation_error: ErrorHandlingDecision = ErrorHandlingDecision.STOP  #: an answer is not the dialect's
    on_rate_limit_error: ErrorHandlingDecision = ErrorHandlingDecision.STOP  #: 429 and throttling
    on_timeout_error: ErrorHandlingDecision = ErrorHandlingDecision.STOP  #: no answer in time
    on_unknown_error: ErrorHandlingDecision = ErrorHandlingDecision.STOP  #: none of these
    max_retries: int = 0

    def __post_init__(self) -> None:
        settle(self, **_KINDS)

    @classmethod
    def stop_on_any_error(cls) -> Self:
        """The default: any error ends the turn."""
        return cls()

    @classmethod
    def retry_tool_errors(cls, max_retries: int = 3) -> Self:
        """Retry tool, validation, rate-limit and timeout errors; stop on model errors and unknown errors."""
        retry = ErrorHandlingDecision.RETRY
        return cls(
            on_tool_error=retry,
            on_validation_error=retry,
            on_rate_limit_error=retry,
            on_timeout_error=retry,
            max_retries=max_retries,
        )

    @classmethod
    def ignore_tool_errors(cls) -> Self:
        """Ignore tool, validation and unknown errors. All other errors stop: those set to retry too, because
        `max_retries` is 0."""
        ignore, retry = ErrorHandlingDecision.IGNORE, ErrorHandlingDecision.RETRY
        return cls(
            on_tool_error=ignore,
            on_validation_error=ignore,
            on_rate_limit_error=retry,
            on_timeout_error=retry,
            on_unknown_error=ignore,
        )

    @classmethod
    def retry_all(cls, max_retries: int = 5) -> Self:
        """Retry everything."""
        retry = ErrorHandlingDecision.RETRY
        return cls(retry, retry, retry, retry, retry, retry, max_retries)

    def with_max_retries(self, max_retries: int) -> Self:
        """This policy with another number of consecutive failures at which it stops."""
        return replace(self, max_retries=max_retries)

    def with_tool_error_handling(self, decision: ErrorHandlingDecision) -> Self:
        """This policy with another handling of tool errors."""
        if decision not in list(ErrorHandlingDecision):
            raise WrongInput(f"decision must be one of {', '.join(ErrorHandlingDecision)}, not {shown(decision)}.")
        return replace(self, on_tool_error=decision)

    def configured(self, error: ErrorType) -> ErrorHandlingDecision:
        """The configured handling of this type of error, before retries are counted."""
        decision: ErrorHandlingDecision | None = getattr(self, f"on_{error}_error", None)
        if decision is None:
            raise WrongInput(f"error must be one of {', '.join(ErrorType)}, not {shown(error)}.")
        return decision

    def evaluate(self, context: ErrorContext) -> ErrorHandlingDecision:
        """The handling of this error: a retry becomes `stop` at `max_retries` consecutive failures. Without a failure:
        `ignore`."""
        if context.__class__ is not ErrorContext:
            required(context, ErrorContext, "context")
        if context.consecutive_failures == 0:
            return ErrorHandlingDecision.IGNORE
        decision = self.configured(context.type)
        ran_out = context.consecutive_failures >= self.max_retries
        return ErrorHandlingDecision.STOP if decision is ErrorHandlingDecision.RETRY and ran_out else decision


#: The four named policies of the spec, by the names the API and the admin use.
PRESETS: Mapping[str, ErrorPolicy] = {
    "stop_on_any_error": ErrorPolicy.stop_on_any_error(),
    "retry_tool_errors": ErrorPolicy.retry_tool_errors(),
    "ignore_tool_errors": ErrorPolicy.ignore_tool_errors(),
    "retry_all": ErrorPolicy.retry_all(),
}
