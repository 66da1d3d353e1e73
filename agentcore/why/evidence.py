"""The nodes under a decisive move: who said so, by which word of the policy, from which numbers, and what the provider
had said."""

from collections.abc import Iterator

from agentcore.criteria.envelope_retries import envelope_bound
from agentcore.errors import ProviderError
from agentcore.events import CancelRequested, Interrupted, ModelFailed, ModelResponded, OperatorActed
from agentcore.messages import ChatResponse
from agentcore.number_format import number
from agentcore.policy import SPEC_KEYS, limit_in_words, setting_named
from agentcore.reasons import NormalizedStopReason
from agentcore.replay.record_spans import Span
from agentcore.replay.recording import Recording
from agentcore.resource import LIMIT_OF
from agentcore.snapshot import Snapshot
from agentcore.snapshot_parts import Call
from agentcore.states import Trigger
from agentcore.truncation_cause import SHOWN, below_cap, beside_word, eaten, used_of
from agentcore.values import replace
from agentcore.why.limit_usage import Amount, amounts_of, limits_behind
from agentcore.why.transition_case import Case, Json
from agentcore.why.tree import Fact, Kind, Node

#: Moves that a criterion's Forbid decides.
_FORBIDDEN = frozenset(
    {
        Trigger.FORBIDDEN,
        Trigger.RETRY_LIMIT,
        Trigger.BUDGET_EXHAUSTED,
        Trigger.OUTPUT_CAP,
        Trigger.REPETITION,
        Trigger.EXHAUSTED,
        Trigger.STOP_WITH_TEXT,
    }
)
#: Moves that one criterion decides by another answer.
_DECIDED_BY = {
    Trigger.COMPLETE: "EnvelopeCriterion",
    Trigger.REFUSED: "EnvelopeCriterion",
    Trigger.IGNORE: "ErrorPolicyCriterion",
    Trigger.IGNORE_WITH_TEXT: "ErrorPolicyCriterion",
    Trigger.END_TURN: "ToolCallPresenceCheck",
}
_BUILT_IN = frozenset(
    {*LIMIT_OF, "TruncationCriterion", "EnvelopeCriterion", "ToolCallPresenceCheck", "ErrorPolicyCriterion"}
)
_SPEC_KEY_OF = {field: key for key, field in SPEC_KEYS.items()}


def evaluations_of(case: Case) -> tuple[Json, ...]:
    """Those that decided the move, the first of them first; none where what the answer was decided it alone."""
    if case.trigger in _FORBIDDEN or (case.trigger is Trigger.STOP and case.forbade):
        return case.forbade
    if case.trigger is Trigger.STOP:
        return tuple(said for said in case.evaluations if said["decision"] == "stop")
    said = case.said(_DECIDED_BY.get(case.trigger, ""))
    return (said,) if said else ()


def clauses_of(case: Case, said: Json, recording: Recording, spans: tuple[Span, ...]) -> Iterator[Node]:
    """The words of the policy that an evaluation asked about: a limit, what is done about an error, a rule."""
    name = said["criterion"]
    limits = limits_behind(case, said, amounts_of(case))
    for limit in limits:
        yield _limit_clause(limit, spans, case)
    if limits:
        return
    if name == "EnvelopeCriterion" and _is_at_ceiling(case, said):
        yield Node(Kind.CLAUSE, "connection.max_output_tokens", "the connection's ceiling for one call")
    elif name == "ErrorPolicyCriterion" and not (case.snapshot and case.snapshot.observed):
        yield from _error_clause(case, said)
    elif name == "FinishReasonCheck":
        words = ", ".join(recording.policy.finish_reasons)
        yield Node(Kind.CLAUSE, "finish_reasons", f"final stop reasons: {words}", (Fact("value", words),))
    elif name not in _BUILT_IN:
        yield Node(Kind.CLAUSE, "criteria", f"a custom criterion of the policy: {name}", (Fact("value", name),))


def _is_at_ceiling(case: Case, said: Json) -> bool:
    """Whether the connection's ceiling forbade an envelope retry. Rules before revision 5 do not record it: there the
    snapshot tells, and where this core cannot evaluate that either, nothing is claimed."""
    if said["decision"] != "forbid":
        return False
    if "bound" in said["context"]:
        return bool(said["context"]["bound"] == "max_output_tokens")
    state = case.snapshot
    if state is None or state.reading is None or state.reading.fault is None:
        return False
    return envelope_bound(state, state.reading.fault) == "max_output_tokens"


def _limit_clause(limit: Amount, spans: tuple[Span, ...], case: Case) -> Node:
    part = "error_policy" if limit.limit_name == "max_retries" else "limits"
    facts = [Fact("value", limit.limit, limit.unit)]
    if (key := _SPEC_KEY_OF.get(limit.limit_name)) is not None:
        facts.append(Fact("spec_key", key))
    words = f"{limit_in_words(limit.limit_name)} is {number(limit.limit)}"
    if (by := _set_by(part, limit.limit_name, spans, case)) is not None:
        facts.append(Fact("changed_by", by))
        words += f", as {by} set it while the turn ran"
    return Node(Kind.CLAUSE, f"{part}.{limit.limit_name}", words, tuple(facts))


def _set_by(part: str, name: str, spans: tuple[Span, ...], case: Case) -> str | None:
    """The operator who changed it last before it was asked about; None where it is the policy's own."""
    acted = (span.record.event for span in reversed(spans) if span.record.seq <= case.seq)
    changed = (event for event in acted if isinstance(event, OperatorActed) and name in getattr(event, part))
    return next((event.by for event in changed), None)


def _error_clause(case: Case, said: Json) -> Iterator[Node]:
    """What the policy says of this type of error, where that and not the error itself decided."""
    error_type, handling = said["context"].get("errorType"), said["context"].get("handling")
    policy = case.snapshot.error_policy if case.snapshot else None
    word = getattr(policy, f"on_{error_type}_error", None)
    if word is not None and word == handling:
        key = f"on_{error_type}_error"
        yield Node(Kind.CLAUSE, f"error_policy.{key}", f"{setting_named(key)} is {word}", (Fact("value", str(word)),))


def inputs_of(case: Case, said: Json) -> Iterator[Node]:
    """The numbers an evaluation was judged by, and the error it was asked about."""
    for limit in limits_behind(case, said, amounts_of(case)):
        facts = (
            Fact("used", limit.used, limit.unit, limit.about),
            Fact("limit", limit.limit, limit.unit),
        )
        yield Node(Kind.INPUT, limit.limit_name, limit.words, facts)
    if said["criterion"] == "EnvelopeCriterion" and (fault := said["context"].get("fault")):
        yield Node(Kind.INPUT, "fault", f"the envelope: {str(fault).replace('-', ' ')}")
    if said["criterion"] == "ToolCallPresenceCheck":
        yield Node(Kind.INPUT, "tool_calls", "no tool call in the answer")
    if said["criterion"] == "ErrorPolicyCriterion" and said["context"].get("toolName"):
        yield Node(Kind.INPUT, "tool_error", f"the tool {said['context']['toolName']} failed")


def unjudged_inputs(span: Span, case: Case | None) -> Iterator[Node]:
    """What a move without a decisive evaluation follows from, beside the model's reason: a person, a lost worker."""
    event = span.record.event
    if case is None and isinstance(event, CancelRequested):
        who = event.by or "someone"
        yield Node(Kind.INPUT, "cancel_requested", f"cancelled by {who}", (Fact("by", who),))


def model_input(spans: tuple[Span, ...], decided: Span) -> tuple[Node, ...]:
    """Why the model stopped in the last attempt before the decision, and what the provider had said of it."""
    for span in reversed([span for span in spans if span.record.seq <= decided.record.seq]):
        found = _of_event(span)
        if found is not None:
            return (found,)
    known = spans[0].before
    return (_reason_node(known.response, known),) if known.response is not None else ()


def _of_event(span: Span) -> Node | None:
    match span.record.event:
        case ModelResponded(response=response):
            return _reason_node(response, span.after, span.before.call if span.after.revision else None)
        case ModelFailed(error=error):
            return _error_node(error, span)
        case Interrupted(partial=partial) | CancelRequested(partial=partial) if partial is not None:
            counted = NormalizedStopReason(span.after.model_stop_reason or partial.stop_reason)
            return _reason_node(replace(partial, stop_reason=counted), span.after)
    return None


def _reason_node(response: ChatResponse, after: Snapshot, call: Call | None = None) -> Node:
    """The normalized reason, over the provider's word; an error inside an answer stands with it. `call`: what it
    answered, where its cap can tell what cut it."""
    attempt = after.spent.attempts
    reason = response.stop_reason.value
    words = f"the model stopped: {reason}"
    cap = None if call is None or after.uncapped else call.max_tokens
    if call is not None and below_cap(response, cap):
        words += f", {beside_word(response, cap, SHOWN)}"
    elif cap is not None and eaten(response, cap):
        words += f", with {used_of(response, cap)} used for reasoning, and no text"
    return Node(Kind.INPUT, reason, words, (Fact("attempt", attempt),), tuple(_words_of(response)))


def _words_of(response: ChatResponse) -> Iterator[Node]:
    if response.answered_by:
        yield Node(Kind.PROVIDER_WORD, "", f"none: {response.answered_by} answered in the model's place")
        return
    yield _raw_node(response)
    if response.error is not None:
        yield _word_of_error(response.error)


def _raw_node(response: ChatResponse) -> Node:
    """The word, verbatim, with every place where a word for a reason was seen, the weightiest first."""
    raw, seen = response.raw_stop_reason, sorted(response.reason_trail, key=lambda one: -one.priority)
    facts = [Fact("raw", raw), Fact("normalized", response.stop_reason.value)]
    facts += [Fact(one.source, one.raw) for one in seen]
    if raw is None:
        words = "gave no stop reason" + (", and its stream broke off" if response.incomplete_stream else "")
        return Node(Kind.PROVIDER_WORD, "", words, tuple(facts))
    where = f", in {', then '.join(dict.fromkeys(one.source for one in seen))}" if seen else ""
    return Node(Kind.PROVIDER_WORD, raw, f"said “{raw}”{where}", tuple(facts))


def _error_node(error: ProviderError, span: Span) -> Node:
    facts = (Fact("type", error.type.value), Fact("kind", error.kind), Fact("attempt", span.before.spent.attempts))
    words = f"the call failed: {error.kind.replace('_', ' ')}"
    if error.stop_reason is not None:
        words += f", which is {error.stop_reason}"
    return Node(Kind.INPUT, error.kind, words, facts, (_word_of_error(error),))


def _word_of_error(error: ProviderError) -> Node:
    """Status, code and message as the provider gave them."""
    facts = (Fact("status", error.status), Fact("code", error.code), Fact("message", error.message))
    head = " ".join(str(part) for part in (error.status, error.code) if part is not None)
    return Node(Kind.PROVIDER_WORD, error.code or error.kind, f"{head}: “{error.message}”".lstrip(": "), facts)
