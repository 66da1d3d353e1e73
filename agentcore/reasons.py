"""Why the *model* stopped and why the *agent* stopped: two questions, two enumerations, never mixed."""

from enum import StrEnum


class NormalizedStopReason(StrEnum):
    """Why the model stopped (spec: stop-reason-state-machine); the provider's own word stands beside it."""

    END_TURN = "end_turn"
    TOOL_CALL = "tool_call"
    MAX_TOKENS = "max_tokens"
    CONTEXT_WINDOW_EXCEEDED = "context_window_exceeded"
    SAFETY_BLOCKED = "safety_blocked"
    CANCELLED = "cancelled"
    PAUSED = "paused"  #: the provider asks to be sent its own content back unchanged
    UNKNOWN = "unknown"  #: the raw word, or its absence, stands in `raw_stop_reason`


class StopReason(StrEnum):
    """Why the agent stopped (spec: continuation-and-error-policy, `StopReason`)."""

    COMPLETED = "completed"
    STEPS_LIMIT = "steps_limit"
    TOKEN_LIMIT = "token_limit"  # noqa: S105
    TIME_LIMIT = "time_limit"
    RETRY_LIMIT = "retry_limit"
    ERROR = "error"
    FINISH_REASON = "finish_reason"
    GUARD = "guard"
    USER_REQUESTED = "user_requested"


class TurnStatus(StrEnum):
    """Where a turn stands; the last six are final."""

    QUEUED = "queued"
    RUNNING = "running"
    HELD = "held"
    COMPLETED = "completed"
    PARTIAL = "partial"
    ABORTED = "aborted"
    FAILED = "failed"
    CANCELLED = "cancelled"
    INTERRUPTED = "interrupted"


class AttemptKind(StrEnum):
    """Why the model is called."""

    INITIAL = "initial"
    AFTER_TOOLS = "after_tools"
    CONTINUATION = "continuation"
    RESUME = "resume"
    TOOL_REPAIR = "tool_repair"
    ENVELOPE_RETRY = "envelope_retry"
    ERROR_RETRY = "error_retry"
    REQUESTED = "requested"


#: Words of an unknown reason that say the provider ran out of time.
TIMEOUT_WORDS = frozenset({"timeout", "reason_time_limit"})
#: Words of an unknown reason that mean something broke: the text is kept, the error policy decides.
ERROR_WORDS = TIMEOUT_WORDS | {
    "error",
    "failed",
    "terminated",
    "network_error",
    "insufficient_system_resource",
    "budget_exceeded",
    "queued",
    "in_progress",
}
#: Words of a tool call that may not run, whole as it looks, and cannot be repaired.
CALL_WORDS = frozenset({"unexpected_tool_call", "too_many_tool_calls", "missing_thought_signature"})
#: Words of a call the model wrote so badly that the provider did not even pass it on: a broken call.
MALFORMED_CALL_WORDS = frozenset({"malformed_function_call", "malformed_tool_use", "malformed_model_output"})
