"""Why a model stopped, and what to do next: a deterministic library without I/O.

    advance(snapshot, event, policy) -> Step(snapshot, transitions, command)

One event moves the machine to its next waiting or terminal state; every move is a transition with its evaluations, and
exactly one command results. Nothing here reads a clock, a socket, the environment or a source of random numbers.

reasons, errors, messages       the values that all other modules use
events, commands                what goes into the machine, what comes out of it
policy, error_policy            the limits of a turn, and how its errors are handled
states                          the transition table: what may follow what
snapshot                        all a turn knows between two events; `snapshot_parts` has the values in it
criteria                        rules for continuing a turn
evaluation                      one criterion's answer, with its reason
continuation_outcome            the answers of all criteria, and how they are combined
machine                         the reducer, with one module for each deciding state
providers                       codecs: encode a `ChatRequest` for a vendor's API, decode its bytes to a `ChatResponse`
replay                          verify a recording, evaluate a what-if of it, fork it
continuation_merge, overlaps    joining the parts of a truncated answer, without repeated text
envelope                        reading a structured answer
lint                            signs that an answer was truncated although its stop reason does not say so
resource                        the limit that ran out
verdict                         the sentence that says why a turn ended; `truncation_text` and `error_text` have its
                                phrases
remedies                        the limits that would have to be raised, and the words for them
sufficient_max_tokens           when a verdict may name a value for `max_tokens`
why                             the evidence of the verdict as a tree, down to the provider's own stop reason; and
                                the other possible transitions beside each
serial, values, number_format   values to JSON and back, copies of frozen values, numbers in sentences
schema                          a JSON Schema validator, for programs that have `jsonschema-rs`
type_check, json_values         whether a value matches its annotations, or consists of JSON values only
"""

from agentcore.commands import CallModel, Command, Finish, Hold, Observation, RunTools, Wait
from agentcore.continuation_merge import Merge, merge_continuation
from agentcore.continuation_outcome import ContinuationCriteria, ContinuationOutcome
from agentcore.error_policy import ErrorContext, ErrorHandlingDecision, ErrorPolicy
from agentcore.errors import (
    CoreError,
    DecodeError,
    ErrorType,
    IllegalEvent,
    ProviderError,
    RecordingError,
    WrongInput,
)
from agentcore.evaluation import ContinuationDecision, ContinuationEvaluation
from agentcore.events import (
    Approvals,
    Breakpoint,
    CancelRequested,
    ChangedCall,
    Event,
    Interrupted,
    ModelFailed,
    ModelResponded,
    OperatorActed,
    OperatorAction,
    Otherwise,
    Setup,
    Started,
    ToolResult,
    ToolsReturned,
    WokeUp,
)
from agentcore.machine.advance import Step, Transition, advance
from agentcore.machine.error_context import AgentErrorContextResolver
from agentcore.messages import ChatRequest, ChatResponse, Message, Role, TokenUsage, ToolCall, ToolSpec
from agentcore.policy import Limits, Policy
from agentcore.reasons import AttemptKind, NormalizedStopReason, StopReason, TurnStatus
from agentcore.replay import (
    Assumption,
    Certainty,
    Experience,
    Record,
    Recording,
    Verification,
    WhatIf,
    recording_from_json,
    recording_to_json,
    verify,
    what_if,
)
from agentcore.schema import jsonschema_rs_validator
from agentcore.snapshot import Snapshot
from agentcore.states import State, Trigger
from agentcore.verdict import verdict
from agentcore.version import VERSION

__all__ = [
    "VERSION",
    "AgentErrorContextResolver",
    "Approvals",
    "Assumption",
    "AttemptKind",
    "Breakpoint",
    "CallModel",
    "CancelRequested",
    "Certainty",
    "ChangedCall",
    "ChatRequest",
    "ChatResponse",
    "Command",
    "ContinuationCriteria",
    "ContinuationDecision",
    "ContinuationEvaluation",
    "ContinuationOutcome",
    "CoreError",
    "DecodeError",
    "ErrorContext",
    "ErrorHandlingDecision",
    "ErrorPolicy",
    "ErrorType",
    "Event",
    "Experience",
    "Finish",
    "Hold",
    "IllegalEvent",
    "Interrupted",
    "Limits",
    "Merge",
    "Message",
    "ModelFailed",
    "ModelResponded",
    "NormalizedStopReason",
    "Observation",
    "OperatorActed",
    "OperatorAction",
    "Otherwise",
    "Policy",
    "ProviderError",
    "Record",
    "Recording",
    "RecordingError",
    "Role",
    "RunTools",
    "Setup",
    "Snapshot",
    "Started",
    "State",
    "Step",
    "StopReason",
    "TokenUsage",
    "ToolCall",
    "ToolResult",
    "ToolSpec",
    "ToolsReturned",
    "Transition",
    "Trigger",
    "TurnStatus",
    "Verification",
    "Wait",
    "WhatIf",
    "WokeUp",
    "WrongInput",
    "advance",
    "jsonschema_rs_validator",
    "merge_continuation",
    "recording_from_json",
    "recording_to_json",
    "verdict",
    "verify",
    "what_if",
]
