"""Stop reasons: why the *model* stopped and why the *agent* stopped, as two separate enumerations."""

from enum import StrEnum

#: Anthropic's field with the reason of a refusal: a `category`, given by classifiers only, and an explanation.
REFUSAL_DETAILS = "stop_details"


class NormalizedStopReason(StrEnum):
    """Why the model stopped (spec: stop-reason-state-machine); the provider's stop reason is stored beside it."""

    END_TURN = "end_turn"  #: it finished by itself, or met a stop sequence
    TOOL_CALL = "tool_call"  #: it requests tools that the client runs
    MAX_TOKENS = "max_tokens"  #: the limit on output tokens truncated it
    CONTEXT_WINDOW_EXCEEDED = "context_window_exceeded"  #: input and output together no longer fit
    SAFETY_BLOCKED = "safety_blocked"  #: a filter, a guardrail or the model itself refused
    CANCELLED = "cancelled"  #: the call was ended from outside, by us or by the provider
    PAUSED = "paused"  #: the provider asks to be sent its own content back unchanged
    UNKNOWN = "unknown"  #: not in the table, or missing: see `raw_stop_reason`


class StopReason(StrEnum):
    """Why the agent stopped (spec: continuation-and-error-policy, `StopReason`)."""

    COMPLETED = "completed"  #: no further call was needed
    STEPS_LIMIT = "steps_limit"  #: max_steps iterations
    #: a total of tokens
    TOKEN_LIMIT = "token_limit"  # noqa: S105
    TIME_LIMIT = "time_limit"  #: max_seconds since the start, without pauses
    RETRY_LIMIT = "retry_limit"  #: continuations, repairs, envelope retries or error retries are used up
    ERROR = "error"  #: the error policy said stop, or a criterion failed
    FINISH_REASON = "finish_reason"  #: the model's stop reason ends the turn, as the policy says
    GUARD = "guard"  #: another criterion forbade
    USER_REQUESTED = "user_requested"  #: a person cancelled


class TurnStatus(StrEnum):
    """The status of a turn. The last six values are final."""

    QUEUED = "queued"  #: no worker has started it yet
    RUNNING = "running"  #: a worker performs its commands
    HELD = "held"  #: an operator's breakpoint or pause holds it
    COMPLETED = "completed"  #: the answer is complete: the model ended it
    PARTIAL = "partial"  #: ended with an incomplete answer and a notice
    ABORTED = "aborted"  #: ended by a block, a full context window or an unknown stop reason
    FAILED = "failed"  #: ended by an error or an invalid envelope, without an answer
    CANCELLED = "cancelled"  #: a person ended it
    INTERRUPTED = "interrupted"  #: lost, or undecidable in a what-if


class AttemptKind(StrEnum):
    """The purpose of a model call."""

    INITIAL = "initial"  #: the first call
    AFTER_TOOLS = "after_tools"  #: with the results of tools
    CONTINUATION = "continuation"  #: the rest of a cut answer
    RESUME = "resume"  #: a paused answer, sent back unchanged
    TOOL_REPAIR = "tool_repair"  #: requests a broken tool call again
    ENVELOPE_RETRY = "envelope_retry"  #: requests a structured answer again
    ERROR_RETRY = "error_retry"  #: after an error, as the error policy allows
    REQUESTED = "requested"  #: a criterion requested more after a natural end


#: Unknown stop reasons that mean that the provider timed out.
TIMEOUT_WORDS = frozenset({"timeout", "reason_time_limit"})
#: Unknown stop reasons that mean an error. The text is kept and the error policy decides.
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
#: Unknown stop reasons of a tool call that must not run, even if it looks complete, and cannot be repaired.
CALL_WORDS = frozenset({"unexpected_tool_call", "too_many_tool_calls", "missing_thought_signature"})
#: Unknown stop reasons of a malformed tool call that the provider did not pass on. It counts as a broken call.
MALFORMED_CALL_WORDS = frozenset({"malformed_function_call", "malformed_tool_use", "malformed_model_output"})
