"""Where `design.md` decides against a document of `spec/`, or for one of two that disagree: kept so on purpose."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Decision:
    """What a document says, what holds instead, and the section of the design that says so."""

    place: str
    said: str
    holds: str
    design: str


DECIDED_OTHERWISE: tuple[Decision, ...] = (
    Decision(
        "stop-reason-state-machine §Stop-Reason Model",
        "there are seven reasons; the unknown one has its word; a response may have no reason",
        "`paused` is a separate reason; without a known reason it is `unknown`, and `raw_stop_reason` has the word",
        "§3.1",
    ),
    Decision(
        "stop-reason-state-machine §Provider Mapping Matrix",
        "`tool_calls` and `tool_use` are a tool call",
        "the word maps to a tool call, but an answer without a call has ended its turn",
        "§3.1",
    ),
    Decision(
        "stop-reason-state-machine §Goals",
        "only truncation is continued",
        "a provider's pause is sent back unchanged and counts as a continuation; a criterion may request another call",
        "§3.3, §3.5",
    ),
    Decision(
        "stop-reason-state-machine §State diagram",
        "one edge for a retry limit or an exhausted budget; no error, envelope, repair, backoff or held states",
        "each limit is a separate trigger, and these states exist",
        "§3.2",
    ),
    Decision(
        "stop-reason-state-machine §State diagram",
        "tool results lead straight to the next request",
        "they lead to `evaluate_continuation`, where the criteria are evaluated",
        "§3.2",
    ),
    Decision(
        "stop-reason-state-machine §Recovery prompt contract",
        "the hint is a system message for every provider",
        "for Anthropic, Bedrock, Gemini and Cohere it is in the system prompt, with a user turn; a connection that "
        "continues exactly gets no hint",
        "§3.3",
    ),
    Decision(
        "stop-reason-state-machine §Observability Requirements",
        "there are four terminal reasons of a continuation",
        "there are eleven, such as output_cap, repetition, provider_error and cancelled",
        "§3.8",
    ),
    Decision(
        "continuation-and-error-policy §ContinuationDecision",
        "decisions are in PascalCase; a criterion's name is its class with the namespace",
        "the values are `forbid`, `allow`, `request` and `stop`; a criterion's name is its class alone",
        "§4.1",
    ),
    Decision(
        "continuation-and-error-policy §ContinuationCriteria",
        "the stop reason of a forbid is inferred from the class name",
        "an evaluation may have its own stop reason; the name decides only otherwise",
        "§3.5",
    ),
    Decision(
        "continuation-and-error-policy §ContinuationCriteria",
        "the document does not mention a criterion that raises an exception",
        "it counts as a forbid with stop reason `error`",
        "§3.5",
    ),
    Decision(
        "continuation-and-error-policy §StopReason",
        "every stop of the error policy is `error`",
        "exhausted retries are `retry_limit`; a policy that stops is `error`",
        "§3.6",
    ),
    Decision(
        "continuation-and-error-policy §ErrorPolicyCriterion",
        "a retry that the policy allows is sent",
        "no retry follows a permanent error, or a wait of more than `max_retry_after`",
        "§3.6",
    ),
    Decision(
        "continuation-and-error-policy §ErrorPolicyCriterion",
        "an ignored error lets the turn continue",
        "a failed call has no answer to continue from, so the turn ends with the text so far",
        "§3.2",
    ),
    Decision(
        "continuation-and-error-policy §CanResolveErrorContext",
        "failures are counted by steps",
        "an iteration with a failed tool counts once, and each failed attempt once more",
        "§3.6",
    ),
    Decision(
        "continuation-and-error-policy §Base Criteria",
        "there are six criteria",
        "the six follow in this order after two more, which judge continuations and envelopes",
        "§3.5",
    ),
    Decision(
        "continuation-and-error-policy §Base Criteria",
        "a listed finish reason forbids",
        "after a natural end it only names the stop reason",
        "§3.5",
    ),
    Decision(
        "finish-reason-canonicalization §Acceptance 1",
        "clients receive the canonical words",
        "the provider's word is kept unchanged, with a normalized reason",
        "§3.1",
    ),
    Decision(
        "finish-reason-canonicalization §Tracker",
        "an answer without a closing event is `length`",
        "only with evidence of a truncation; otherwise it is unknown, an error that keeps the partial text",
        "§3.1",
    ),
    Decision(
        "finish-reason-canonicalization §Tracker",
        "text beside a call is dropped",
        "text and call form one assistant message; only the text of a blocked answer is withheld",
        "§3.3",
    ),
    Decision(
        "agent-loop §stop_reason の値",
        "the reasons are `tool_use` and `end_turn`",
        "the reasons are `tool_call` and `end_turn`, as for all providers",
        "§3.1",
    ),
    Decision(
        "agent-loop §状態遷移表",
        "too many iterations raise an exception",
        "the turn ends as partial with stop reason `steps_limit` and a notice that names the calls that did not run",
        "§3.5",
    ),
    Decision(
        "rfc-0033 §B",
        "`limits.schemaRounds` bounds the retries, `maxRetryAttempts` the calls, without saying how they relate",
        "`schema_rounds` counts retries; `maxRetryAttempts` is one more",
        "§3.7",
    ),
    Decision(
        "rfc-0033 §G",
        "a payload that is not JSON fails at once",
        "at a clean stop it is retried like a violation, with the reason `parse-error` and the code `envelope_invalid`",
        "§3.7",
    ),
    Decision(
        "rfc-0033 §A",
        "the document does not mention stop sequences",
        "a stop sequence with an invalid payload counts as truncation, as an unknown word does",
        "§3.7",
    ),
    Decision(
        "rfc-0033 §B",
        "truncation may be retried",
        "a full context window is not retried, because a larger budget cannot help",
        "§3.7",
    ),
)
