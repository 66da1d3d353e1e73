"""The transition table, the single source of legal transitions. A transition that is not listed is illegal.

The diagram on the turn page and the table in docs/reference/state-machine.md are generated from it.
"""

from collections.abc import Mapping
from enum import StrEnum


class State(StrEnum):
    """A state of the machine (design §3.2)."""

    IDLE = "idle"  #: before the first event
    REQUEST = "request"  #: waits for a first answer, or one after tools
    REQUEST_CONTINUATION = "request_continuation"  #: waits for the rest of an answer
    REQUEST_TOOL_REPAIR = "request_tool_repair"  #: waits for a repaired tool call
    REQUEST_ENVELOPE_RETRY = "request_envelope_retry"  #: waits for another structured answer
    EXECUTE_TOOLS = "execute_tools"  #: waits for tools
    BACKOFF = "backoff"  #: waits out a delay before a retry
    HELD = "held"  #: waits for an operator
    EVALUATE_STOP = "evaluate_stop"  #: decides what an answer means
    CONTINUE_PENDING = "continue_pending"  #: decides whether a truncated answer is continued
    REPAIR_PENDING = "repair_pending"  #: decides whether a broken call is requested again
    EVALUATE_ENVELOPE = "evaluate_envelope"  #: decides whether a structured answer is complete
    EVALUATE_ERROR = "evaluate_error"  #: decides by the error policy
    EVALUATE_CONTINUATION = "evaluate_continuation"  #: decides whether tool results are sent to the model
    ABORT_PARTIAL = "abort_partial"  #: returns what there is, with a notice
    COMPLETE = "complete"  #: has ended with an answer, complete or partial
    ABORT = "abort"  #: has ended without an answer


class Trigger(StrEnum):
    """The trigger of a transition (design §3.2)."""

    STARTED = "started"  #: a user asked
    RESPONDED = "responded"  #: the model answered
    FAILED = "failed"  #: a call failed
    INTERRUPTED = "interrupted"  #: the worker of the command is gone
    LOST = "lost"  #: the worker of the command has died, and the turn is abandoned
    OPERATOR_ACTED = "operator_acted"  #: a person changed something
    CANCEL = "cancel"  #: a person ended the turn
    END_TURN = "end_turn"  #: a natural end
    CONTINUE_REQUESTED = "continue_requested"  #: a criterion requested more
    TOOL_CALL = "tool_call"  #: whole calls are to run
    FORBIDDEN = "forbidden"  #: a criterion forbade
    MAX_TOKENS = "max_tokens"  #: the answer was cut
    PAUSED = "paused"  #: the provider pauses
    BROKEN_TOOL_CALL = "broken_tool_call"  #: a call is broken
    ENVELOPE = "envelope"  #: the answer, or the partial answer of a failed call, should be an envelope
    RESPONSE_ERROR = "response_error"  #: an error inside an answer
    SAFETY_BLOCKED = "safety_blocked"  #: blocked
    CONTEXT_WINDOW_EXCEEDED = "context_window_exceeded"  #: the context is full
    CANCELLED = "cancelled"  #: the provider ended the call
    UNKNOWN_FATAL = "unknown_fatal"  #: an unknown reason without a usable answer
    UNDER_LIMITS = "under_limits"  #: another call is within the limits
    RETRY_LIMIT = "retry_limit"  #: calls of this sort are used up
    BUDGET_EXHAUSTED = "budget_exhausted"  #: tokens are used up
    OUTPUT_CAP = "output_cap"  #: characters are used up
    REPETITION = "repetition"  #: two continuations added nothing
    COMPLETE = "complete"  #: the envelope is valid
    TRUNCATED = "truncated"  #: the envelope was cut, rounds are left
    SCHEMA_VIOLATION = "schema_violation"  #: the envelope is invalid, rounds are left
    EXHAUSTED = "exhausted"  #: no rounds are left
    REFUSED = "refused"  #: the provider refused
    TOOLS_RETURNED = "tools_returned"  #: all results are there
    CONTINUE = "continue"  #: the results are sent to the model
    STOP = "stop"  #: nothing requests to continue
    RETRY = "retry"  #: the policy retries
    TRUNCATED_BY_ERROR = "truncated_by_error"  #: the error says the answer was cut
    IGNORE = "ignore"  #: ignored; there is no answer
    STOP_WITH_TEXT = "stop_with_text"  #: stopped; a part of an answer is there
    IGNORE_WITH_TEXT = "ignore_with_text"  #: ignored; a part of an answer is there
    RETRY_REQUEST = "retry_request"  #: the delay is over: the request again
    RETRY_CONTINUATION = "retry_continuation"  #: the delay is over: the continuation again
    RETRY_TOOL_REPAIR = "retry_tool_repair"  #: the delay is over: the repair again
    RETRY_ENVELOPE = "retry_envelope"  #: the delay is over: the envelope again
    BREAKPOINT = "breakpoint"  #: an operator asked to hold here
    RETURN_PARTIAL_WITH_NOTICE = "return_partial_with_notice"  #: the turn ends with what there is
    RELEASE_EVALUATE_STOP = "release_evaluate_stop"  #: released: evaluated again
    RELEASE_CONTINUE_PENDING = "release_continue_pending"  #: released: evaluated again
    RELEASE_REPAIR_PENDING = "release_repair_pending"  #: released: evaluated again
    RELEASE_EVALUATE_ENVELOPE = "release_evaluate_envelope"  #: released: evaluated again
    RELEASE_EVALUATE_ERROR = "release_evaluate_error"  #: released: evaluated again
    RELEASE_EVALUATE_CONTINUATION = "release_evaluate_continuation"  #: released: evaluated again
    RELEASE_ABORT_PARTIAL = "release_abort_partial"  #: released: evaluated again


#: States that wait for the model.
CALLS = (
    State.REQUEST,
    State.REQUEST_CONTINUATION,
    State.REQUEST_TOOL_REPAIR,
    State.REQUEST_ENVELOPE_RETRY,
)
#: States that wait for an event.
WAITING = (*CALLS, State.EXECUTE_TOOLS, State.BACKOFF, State.HELD)
#: States in which the machine decides. They are left within the same `advance`.
DECIDING = (
    State.EVALUATE_STOP,
    State.CONTINUE_PENDING,
    State.REPAIR_PENDING,
    State.EVALUATE_ENVELOPE,
    State.EVALUATE_ERROR,
    State.EVALUATE_CONTINUATION,
    State.ABORT_PARTIAL,
)
#: Final states.
TERMINAL = (State.COMPLETE, State.ABORT)

#: The release trigger of each deciding state.
RELEASES: Mapping[State, Trigger] = {state: Trigger(f"release_{state}") for state in DECIDING}

#: The trigger that ends a backoff, by the state of the failed call.
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
        Trigger.LOST: State.ABORT,
        Trigger.CANCEL: State.ABORT,
    }


#: The target of each legal (state, trigger). All others are illegal.
TRANSITIONS: Mapping[State, Mapping[Trigger, State]] = {
    State.IDLE: {Trigger.STARTED: State.REQUEST},
    **{state: _call(state) for state in CALLS},
    State.EXECUTE_TOOLS: {
        Trigger.TOOLS_RETURNED: State.EVALUATE_CONTINUATION,
        Trigger.INTERRUPTED: State.EXECUTE_TOOLS,
        Trigger.OPERATOR_ACTED: State.EXECUTE_TOOLS,
        Trigger.LOST: State.ABORT,
        Trigger.CANCEL: State.ABORT,
    },
    State.BACKOFF: {
        **{trigger: call for call, trigger in RETRIES.items()},
        Trigger.INTERRUPTED: State.BACKOFF,
        Trigger.OPERATOR_ACTED: State.BACKOFF,
        Trigger.LOST: State.ABORT,
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
        Trigger.ENVELOPE: State.EVALUATE_ENVELOPE,
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
