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
        "seven reasons, the unknown one carrying its word; a response may have none",
        "`paused` is a reason of its own; `unknown` always stands, its word beside it in `raw_stop_reason`",
        "§3.1",
    ),
    Decision(
        "stop-reason-state-machine §Provider Mapping Matrix",
        "`tool_calls` and `tool_use` are a tool call",
        "so says the word; an answer that names no call all the same has ended its turn",
        "§3.1",
    ),
    Decision(
        "stop-reason-state-machine §Goals",
        "only truncation is continued",
        "a provider's pause is sent back unchanged, and counts as a continuation; a criterion may ask for more",
        "§3.3, §3.5",
    ),
    Decision(
        "stop-reason-state-machine §State diagram",
        "one edge for a retry limit or an exhausted budget; no error, envelope, repair, backoff or held states",
        "each limit is a trigger of its own, and these states exist",
        "§3.2",
    ),
    Decision(
        "stop-reason-state-machine §State diagram",
        "tool results lead straight to the next request",
        "through `evaluate_continuation`, where the criteria speak",
        "§3.2",
    ),
    Decision(
        "stop-reason-state-machine §Recovery prompt contract",
        "the hint is system-side for every provider",
        "for Anthropic, Bedrock, Gemini and Cohere in the system prompt with a user turn; none where text can be "
        "prefilled",
        "§3.3",
    ),
    Decision(
        "stop-reason-state-machine §Observability Requirements",
        "four words for how a continuation ended",
        "eleven, among them output_cap, repetition, provider_error and cancelled",
        "§3.8",
    ),
    Decision(
        "continuation-and-error-policy §ContinuationDecision",
        "names in PascalCase; criteria are named by their class with its namespace",
        "values `forbid`, `allow`, `request`, `stop`; the bare class name",
        "§4.1",
    ),
    Decision(
        "continuation-and-error-policy §ContinuationCriteria",
        "the stop reason of a forbid is inferred from the class name",
        "an evaluation may carry its own; the name is asked only where it does not",
        "§3.5",
    ),
    Decision(
        "continuation-and-error-policy §ContinuationCriteria",
        "nothing is said of a criterion that raises",
        "it counts as a forbid with stop reason `error`",
        "§3.5",
    ),
    Decision(
        "continuation-and-error-policy §StopReason",
        "every stop of the error policy is `error`",
        "a retry that ran out is `retry_limit`, a policy that says stop is `error`",
        "§3.6",
    ),
    Decision(
        "continuation-and-error-policy §ErrorPolicyCriterion",
        "a retry allowed by the policy is made",
        "not of an error that cannot heal, nor where the provider asks to wait more than `max_retry_after`",
        "§3.6",
    ),
    Decision(
        "continuation-and-error-policy §ErrorPolicyCriterion",
        "ignoring an error lets the turn go on",
        "a failed call leaves no answer to go on with: the turn ends, with the text it has",
        "§3.2",
    ),
    Decision(
        "continuation-and-error-policy §CanResolveErrorContext",
        "failures are counted by steps",
        "by iterations with a failed tool, and each failed attempt is one more",
        "§3.6",
    ),
    Decision(
        "continuation-and-error-policy §Base Criteria",
        "six criteria",
        "these six in this order, after the two that judge continuations and envelopes in the same terms",
        "§3.5",
    ),
    Decision(
        "continuation-and-error-policy §Base Criteria",
        "a listed finish reason forbids",
        "after a natural end there is nothing to forbid: it only names the stop reason",
        "§3.5",
    ),
    Decision(
        "finish-reason-canonicalization §Acceptance 1",
        "the canonical words are what clients are told",
        "the word is kept as it came, and a normalized reason stands beside it",
        "§3.1",
    ),
    Decision(
        "finish-reason-canonicalization §Tracker",
        "an answer that ends without its end is `length`",
        "only with evidence of a cut; else unknown, an error that keeps the partial text",
        "§3.1",
    ),
    Decision(
        "finish-reason-canonicalization §Tracker",
        "text beside a call is dropped",
        "text and call form one assistant message; only a blocked answer's text is withheld",
        "§3.3",
    ),
    Decision(
        "agent-loop §stop_reason の値",
        "the reasons are `tool_use` and `end_turn`",
        "`tool_call` and `end_turn`: one word per thing",
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
        "what is no JSON fails at once",
        "at a clean stop it is asked for again like a violation, with reason `parse-error` and code `envelope_invalid`",
        "§3.7",
    ),
    Decision(
        "rfc-0033 §A",
        "a stop sequence is nowhere placed",
        "with an invalid payload it counts as truncation, as an unknown word does",
        "§3.7",
    ),
    Decision(
        "rfc-0033 §B",
        "truncation may be retried",
        "not where the context window is full: a larger budget cannot help",
        "§3.7",
    ),
)
