"""The transition table: the only truth about what may follow what. Illegal is absent.

The picture on the turn page and the table in docs/state-machine.md are made from it.
"""

from collections.abc import Mapping
from enum import StrEnum


class State(StrEnum):
    IDLE = "idle"
    REQUEST = "request"
    REQUEST_CONTINUATION = "request_continuation"
    REQUEST_TOOL_REPAIR = "request_tool_repair"
    REQUEST_ENVELOPE_RETRY = "request_envelope_retry"
    EXECUTE_TOOLS = "execute_tools"
    BACKOFF = "backoff"
    HELD = "held"
    EVALUATE_STOP = "evaluate_stop"
    CONTINUE_PENDING = "continue_pending"
    REPAIR_PENDING = "repair_pending"
    EVALUATE_ENVELOPE = "evaluate_envelope"
    EVALUATE_ERROR = "evaluate_error"
    EVALUATE_CONTINUATION = "evaluate_continuation"
    ABORT_PARTIAL = "abort_partial"
    COMPLETE = "complete"
    ABORT = "abort"


class Trigger(StrEnum):
    STARTED = "started"
    RESPONDED = "responded"
    FAILED = "failed"
    INTERRUPTED = "interrupted"
    OPERATOR_ACTED = "operator_acted"
    CANCEL = "cancel"
    END_TURN = "end_turn"
    CONTINUE_REQUESTED = "continue_requested"
    TOOL_CALL = "tool_call"
    FORBIDDEN = "forbidden"
    MAX_TOKENS = "max_tokens"
    PAUSED = "paused"
    BROKEN_TOOL_CALL = "broken_tool_call"
    ENVELOPE = "envelope"
    RESPONSE_ERROR = "response_error"
    SAFETY_BLOCKED = "safety_blocked"
    CONTEXT_WINDOW_EXCEEDED = "context_window_exceeded"
    CANCELLED = "cancelled"
    UNKNOWN_FATAL = "unknown_fatal"
    UNDER_LIMITS = "under_limits"
    RETRY_LIMIT = "retry_limit"
    BUDGET_EXHAUSTED = "budget_exhausted"
    OUTPUT_CAP = "output_cap"
    REPETITION = "repetition"
    COMPLETE = "complete"
    TRUNCATED = "truncated"
    SCHEMA_VIOLATION = "schema_violation"
    EXHAUSTED = "exhausted"
    REFUSED = "refused"
    TOOLS_RETURNED = "tools_returned"
    CONTINUE = "continue"
    STOP = "stop"
    RETRY = "retry"
    TRUNCATED_BY_ERROR = "truncated_by_error"
    IGNORE = "ignore"
    STOP_WITH_TEXT = "stop_with_text"
    IGNORE_WITH_TEXT = "ignore_with_text"
    RETRY_REQUEST = "retry_request"
    RETRY_CONTINUATION = "retry_continuation"
    RETRY_TOOL_REPAIR = "retry_tool_repair"
    RETRY_ENVELOPE = "retry_envelope"
    BREAKPOINT = "breakpoint"
    RETURN_PARTIAL_WITH_NOTICE = "return_partial_with_notice"
    RELEASE_EVALUATE_STOP = "release_evaluate_stop"
    RELEASE_CONTINUE_PENDING = "release_continue_pending"
    RELEASE_REPAIR_PENDING = "release_repair_pending"
    RELEASE_EVALUATE_ENVELOPE = "release_evaluate_envelope"
    RELEASE_EVALUATE_ERROR = "release_evaluate_error"
    RELEASE_EVALUATE_CONTINUATION = "release_evaluate_continuation"
    RELEASE_ABORT_PARTIAL = "release_abort_partial"


CALLS = (
    State.REQUEST,
    State.REQUEST_CONTINUATION,
    State.REQUEST_TOOL_REPAIR,
    State.REQUEST_ENVELOPE_RETRY,
)
WAITING = (*CALLS, State.EXECUTE_TOOLS, State.BACKOFF, State.HELD)
DECIDING = (
    State.EVALUATE_STOP,
    State.CONTINUE_PENDING,
    State.REPAIR_PENDING,
    State.EVALUATE_ENVELOPE,
    State.EVALUATE_ERROR,
    State.EVALUATE_CONTINUATION,
    State.ABORT_PARTIAL,
)
TERMINAL = (State.COMPLETE, State.ABORT)

#: Which release leads back into which deciding state.
RELEASES: Mapping[State, Trigger] = {state: Trigger(f"release_{state}") for state in DECIDING}

#: Which trigger ends a backoff, by the call that failed.
RETRIES: Mapping[State, Trigger] = {
    State.REQUEST: Trigger.RETRY_REQUEST,
    State.REQUEST_CONTINUATION: Trigger.RETRY_CONTINUATION,
    State.REQUEST_TOOL_REPAIR: Trigger.RETRY_TOOL_REPAIR,
    State.REQUEST_ENVELOPE_RETRY: Trigger.RETRY_ENVELOPE,
}


def _call(state: State) -> dict[Trigger, State]:
    return {
        Trigger.RESPONDED: State.EVALUATE_STOP,
        Trigger.FAILED: State.EVALUATE_ERROR,
        Trigger.INTERRUPTED: state,
        Trigger.OPERATOR_ACTED: state,
        Trigger.CANCEL: State.ABORT,
    }


TRANSITIONS: Mapping[State, Mapping[Trigger, State]] = {
    State.IDLE: {Trigger.STARTED: State.REQUEST},
    **{state: _call(state) for state in CALLS},
    State.EXECUTE_TOOLS: {
        Trigger.TOOLS_RETURNED: State.EVALUATE_CONTINUATION,
        Trigger.INTERRUPTED: State.EXECUTE_TOOLS,
        Trigger.OPERATOR_ACTED: State.EXECUTE_TOOLS,
        Trigger.CANCEL: State.ABORT,
    },
    State.BACKOFF: {
        **{trigger: call for call, trigger in RETRIES.items()},
        Trigger.INTERRUPTED: State.BACKOFF,
        Trigger.OPERATOR_ACTED: State.BACKOFF,
        Trigger.CANCEL: State.ABORT,
    },
    State.HELD: {
        **{trigger: state for state, trigger in RELEASES.items()},
        Trigger.OPERATOR_ACTED: State.HELD,
        Trigger.CANCEL: State.ABORT,
    },
    State.EVALUATE_STOP: {
        Trigger.END_TURN: State.COMPLETE,
        Trigger.CONTINUE_REQUESTED: State.REQUEST,
        Trigger.TOOL_CALL: State.EXECUTE_TOOLS,
        Trigger.FORBIDDEN: State.ABORT_PARTIAL,
        Trigger.MAX_TOKENS: State.CONTINUE_PENDING,
        Trigger.PAUSED: State.CONTINUE_PENDING,
        Trigger.BROKEN_TOOL_CALL: State.REPAIR_PENDING,
        Trigger.ENVELOPE: State.EVALUATE_ENVELOPE,
        Trigger.RESPONSE_ERROR: State.EVALUATE_ERROR,
        Trigger.SAFETY_BLOCKED: State.ABORT,
        Trigger.CONTEXT_WINDOW_EXCEEDED: State.ABORT,
        Trigger.CANCELLED: State.ABORT,
        Trigger.UNKNOWN_FATAL: State.ABORT,
        Trigger.BREAKPOINT: State.HELD,
    },
    State.CONTINUE_PENDING: {
        Trigger.UNDER_LIMITS: State.REQUEST_CONTINUATION,
        Trigger.RETRY_LIMIT: State.ABORT_PARTIAL,
        Trigger.BUDGET_EXHAUSTED: State.ABORT_PARTIAL,
        Trigger.OUTPUT_CAP: State.ABORT_PARTIAL,
        Trigger.REPETITION: State.ABORT_PARTIAL,
        Trigger.FORBIDDEN: State.ABORT_PARTIAL,
        Trigger.BREAKPOINT: State.HELD,
    },
    State.REPAIR_PENDING: {
        Trigger.UNDER_LIMITS: State.REQUEST_TOOL_REPAIR,
        Trigger.RETRY_LIMIT: State.ABORT_PARTIAL,
        Trigger.BUDGET_EXHAUSTED: State.ABORT_PARTIAL,
        Trigger.FORBIDDEN: State.ABORT_PARTIAL,
        Trigger.BREAKPOINT: State.HELD,
    },
    State.EVALUATE_ENVELOPE: {
        Trigger.COMPLETE: State.COMPLETE,
        Trigger.TRUNCATED: State.REQUEST_ENVELOPE_RETRY,
        Trigger.SCHEMA_VIOLATION: State.REQUEST_ENVELOPE_RETRY,
        Trigger.EXHAUSTED: State.ABORT,
        Trigger.REFUSED: State.ABORT,
        Trigger.FORBIDDEN: State.ABORT,
        Trigger.BREAKPOINT: State.HELD,
    },
    State.EVALUATE_ERROR: {
        Trigger.RETRY: State.BACKOFF,
        Trigger.TRUNCATED_BY_ERROR: State.CONTINUE_PENDING,
        Trigger.STOP: State.ABORT,
        Trigger.IGNORE: State.ABORT,
        Trigger.CONTEXT_WINDOW_EXCEEDED: State.ABORT,
        Trigger.SAFETY_BLOCKED: State.ABORT,
        Trigger.STOP_WITH_TEXT: State.ABORT_PARTIAL,
        Trigger.IGNORE_WITH_TEXT: State.ABORT_PARTIAL,
        Trigger.BREAKPOINT: State.HELD,
    },
    State.EVALUATE_CONTINUATION: {
        Trigger.CONTINUE: State.REQUEST,
        Trigger.STOP: State.COMPLETE,
        Trigger.FORBIDDEN: State.ABORT_PARTIAL,
        Trigger.BREAKPOINT: State.HELD,
    },
    State.ABORT_PARTIAL: {
        Trigger.RETURN_PARTIAL_WITH_NOTICE: State.COMPLETE,
        Trigger.BREAKPOINT: State.HELD,
    },
    State.COMPLETE: {},
    State.ABORT: {},
}
