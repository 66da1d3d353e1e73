"""Failures of calls, as values; and the exceptions of this package, by cause.

CoreError                 nothing else is raised by this package
├── WrongInput            an argument that is not what it must be (the caller's fault)
├── UnknownProviderError  a provider name without a codec (the caller's fault)
├── DecodeError           bytes that are not the provider's dialect (the provider's fault)
├── IllegalEvent          an event the machine cannot take in this state (the driver's fault)
└── RecordingError        a stored history that cannot be read (the file's fault)
"""

from dataclasses import dataclass
from enum import StrEnum

from agentcore.argument_validation import CoreError, WrongInput, strict
from agentcore.reasons import NormalizedStopReason
from agentcore.values import settle

CHECK_BASE_URL = "Check the base URL."  #: The advice at the end of a `DecodeError`, for callers of a provider.


class DecodeError(CoreError):
    """The body is not of this dialect, such as an HTML page, an empty body or another vendor's JSON.

    `fault`: the message without the `advice` at its end, which is for the caller of the provider.
    """

    def __init__(self, fault: str = "", *, advice: str = "") -> None:
        super().__init__(f"{fault} {advice}".rstrip())
        self.fault = fault


class IllegalEvent(CoreError):
    """The state has no transition for this event. Nothing was changed."""


class RecordingError(CoreError):
    """A recording that cannot be read back: an unknown type, a missing field, a gap in its sequence."""

    def __init__(self, message: str = "", *, place: str = "") -> None:
        super().__init__(message)
        self.place = place  #: of the field within what was read, its names joined by dots; empty: not one field alone


class ErrorType(StrEnum):
    """The types of errors that an error policy distinguishes (spec: continuation-and-error-policy, `ErrorType`)."""

    TOOL = "tool"  #: a tool failed: arguments, exception, timeout
    MODEL = "model"  #: the provider failed or refused the request
    VALIDATION = "validation"  #: the answer is not in the dialect's format
    RATE_LIMIT = "rate_limit"  #: 429 and throttling
    TIMEOUT = "timeout"  #: 408, 504, 524 and our own
    UNKNOWN = "unknown"  #: none of these


@strict()
@dataclass(frozen=True, slots=True)
class ProviderError:
    """A failed model call, with the normalized kind of error and the provider's message.

    `kind` is more specific than `type` (rate_limit, quota, auth, not_found, context_length, content_policy, overloaded,
    server, connection, timeout, invalid_request, incomplete_stream, answer_too_large, not_dialect, no_answer …).
    `retry_after` is in seconds. `stop_reason` is set where the error means a stop reason, such as a context-length 400.
    """

    type: ErrorType
    kind: str
    message: str  #: the provider's message, without secrets
    status: int | None = None  #: HTTP status; None: no answer, or inside a stream
    code: str | None = None  #: the provider's code, verbatim
    retry_after: float | None = None  #: at least 0
    stop_reason: NormalizedStopReason | None = None
    retryable: bool = True  #: False: a permanent error of this request (400, 401, 402, 403, 404, 413, 422, spent quota)

    def __post_init__(self) -> None:
        settle(self, type=ErrorType, stop_reason=NormalizedStopReason)


__all__ = ["CoreError", "DecodeError", "ErrorType", "IllegalEvent", "ProviderError", "RecordingError", "WrongInput"]
