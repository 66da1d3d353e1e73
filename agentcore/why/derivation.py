"""Why a turn ended, as a tree: terminal state ← transition ← evaluation ← clause, inputs ← provider's stop reason.

The transition is the deciding one, not necessarily the last: `abort_partial → complete` only carries out an earlier
decision. Three reasons are kept separate: why the agent stopped, which resource ran out, and why the model stopped. The
number that a verdict names for `max_tokens` rests on each call with its cap and its usage, which are read here as well.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from agentcore.events import ModelResponded
from agentcore.number_format import count, number
from agentcore.reason_text import criterion_in_words, evaluation_text
from agentcore.replay.certainty import Certainty
from agentcore.replay.record_spans import Span, fold
from agentcore.replay.recording import Recording
from agentcore.resource import APPROVAL_SECONDS, limit_of_observed, no_retry_helps, resource_in, unapproved_tools
from agentcore.snapshot_parts import Spent
from agentcore.states import State
from agentcore.sufficient_max_tokens import END_AT_MOST, enough_for_one_call, writes_on
from agentcore.truncation_cause import SHOWN
from agentcore.why.evidence import clauses_of, evaluations_of, inputs_of, model_input, unjudged_inputs
from agentcore.why.transition_case import Case, Json, case_of
from agentcore.why.transition_text import transition_text
from agentcore.why.tree import Fact, Kind, Node

_TOKENS = "completion tokens"


def claim_of(spans: tuple[Span, ...]) -> tuple[Node, ...]:
    """The claim that one larger call would have been enough; nothing where the verdict names no number."""
    last = spans[-1]
    known = last.after
    completed = known.end is not None and known.end.terminal_reason == "completed"
    least = enough_for_one_call(known) if last.known and completed and known.spent.continuations else None
    if least is None:
        return ()
    facts = (
        Fact("certainty", Certainty.CERTAIN.value),
        Fact("max_tokens", least, _TOKENS),
        Fact("calls", 1),
        Fact("ceiling", known.asked.ceiling),
    )
    words = f"certain: one call with {SHOWN.name} ≥ {number(least)} would have been enough"
    return (Node(Kind.CLAIM, "max_tokens", words, facts, tuple(_grounds(spans))),)


def _grounds(spans: tuple[Span, ...]) -> Iterator[Node]:
    """Each call, their sum, and what else had to hold."""
    known = spans[-1].after
    calls = tuple(_calls(spans))
    yield from _inherited(known.inherited)
    yield from calls
    spent = known.spent
    facts = (Fact("output_tokens", spent.output_tokens, _TOKENS), Fact("estimated", spent.estimated))
    yield Node(Kind.INPUT, "usage", f"{number(spent.output_tokens)} completion tokens in all, as reported", facts)
    words = f"{count(END_AT_MOST, 'token')} for the end of the answer, which some servers count and do not report"
    yield Node(Kind.INPUT, "end", words, (Fact("tokens", END_AT_MOST, _TOKENS),))
    how = "prefill" if writes_on(known) else "the provider's own token"
    words = f"{count(spent.continuations, 'continuation')} from the very words before, by {how}"
    yield Node(Kind.INPUT, "exact", words, (Fact("continuations", spent.continuations), Fact("by", how)))
    facts = (Fact("failures", spent.total_failures), Fact("iterations", max(1, known.iteration)))
    yield Node(Kind.INPUT, "alone", "no call failed, and there was one iteration", facts)


def _inherited(spent: Spent | None) -> Iterator[Node]:
    """The calls before a fork began, of which the fork's own history has the sums alone."""
    if spent is not None and spent.attempts:
        words = f"{count(spent.attempts, 'call')} before the fork: {number(spent.output_tokens)} completion tokens"
        facts = (Fact("attempts", spent.attempts), Fact("used", spent.output_tokens, _TOKENS))
        yield Node(Kind.INPUT, "inherited", words, facts)


def _calls(spans: tuple[Span, ...]) -> Iterator[Node]:
    for span in spans:
        call = span.before.call
        if isinstance(span.record.event, ModelResponded) and call is not None:
            used = span.after.spent.output_tokens - span.before.spent.output_tokens  # without a prefill's echo
            yield _call(span, used, call.max_tokens, whole=span is spans[-1])


def _call(span: Span, used: int, cap: int, *, whole: bool) -> Node:
    """One call; `number` is the transition at which its answer was taken in."""
    attempt = span.before.spent.attempts
    of = f"call {attempt} used {number(used)} of {count(cap, 'token')}"
    facts = (
        Fact("attempt", attempt),
        Fact("seq", span.record.seq),
        Fact("number", span.first),
        Fact("used", used, _TOKENS),
        Fact("limit", cap, _TOKENS),
        Fact("ended_by_itself", whole),
    )
    return Node(Kind.INPUT, "call", f"{of}, and {'ended by itself' if whole else 'was cut there'}", facts)


_DECIDED = {
    "forbid": "forbade another call",
    "allow": "allowed another call",
    "request": "requested another call",
    "stop": "found no reason for another call",
}


def _subject(evaluation: Json) -> str:
    name = criterion_in_words(evaluation["criterion"])
    return f"{name[0].upper()}{name[1:]}"


@dataclass(frozen=True, slots=True)
class Derivation:
    """Why a turn ended. `resource`: the limit that ended it (one of `agentcore.resource.RESOURCES`), None where none
    did; `number`: the transition that decided, from 1."""

    loop_reason: str  #: why the agent stopped
    terminal_reason: str  #: the same, more specific
    resource: str | None
    model_reason: str | None  #: why the model stopped, normalized
    raw_model_reason: str | None  #: the provider's own stop reason
    seq: int  #: of the record that decided
    number: int
    reason: str  #: of the transition that decided, in words
    tree: Node  #: its root, the terminal state

    @property
    def clause(self) -> str | None:
        """The field of the policy that was asked about first, such as `limits.max_continuations`."""
        return next((node.name for node in self.tree.walk() if node.kind is Kind.CLAUSE), None)


def derive(recording: Recording, spans: tuple[Span, ...] | None = None) -> Derivation | None:
    """The derivation of a turn that has ended; None while it runs. `spans`: those of the recording, if at hand."""
    spans = fold(recording) if spans is None else spans
    end = spans[-1].record.command if spans else {}
    if end.get("type") != "finish" or not spans[-1].record.transitions:
        return None
    span, number, transition = _decisive(spans)
    case = case_of(span, number, transition)
    model, raw = _model_reasons(spans)
    return Derivation(
        loop_reason=end["stop_reason"],
        terminal_reason=end["terminal_reason"],
        resource=APPROVAL_SECONDS if unapproved_tools(spans[-1].after) else _resource(case, end, model),
        model_reason=model,
        raw_model_reason=raw,
        seq=span.record.seq,
        number=number,
        reason=transition["reason"] if case is None else transition_text(case),
        tree=_terminal(recording, spans, _Found(span, number, transition, case), end),
    )


@dataclass(frozen=True, slots=True)
class _Found:
    span: Span
    number: int
    transition: Mapping[str, Any]
    case: Case | None  #: None where it leaves a waiting state, as a cancel does


def _decisive(spans: tuple[Span, ...]) -> tuple[Span, int, Mapping[str, Any]]:
    """The move that decided: the last, or the one that led to `abort_partial`; a hold in between decides nothing."""
    last = spans[-1]
    moves = [
        (span, number, transition)
        for span in spans
        for number, transition in enumerate(span.record.transitions, start=span.first)
    ]
    if last.record.transitions[-1]["from"] != State.ABORT_PARTIAL:
        return moves[-1]
    into = (m for m in reversed(moves) if m[2]["to"] == State.ABORT_PARTIAL and m[2]["from"] != State.HELD)
    return next(into, moves[-1])


def _model_reasons(spans: tuple[Span, ...]) -> tuple[str | None, str | None]:
    """Of the last attempt: the normalized reason and the provider's word."""
    snapshot = spans[-1].after
    return snapshot.model_stop_reason, snapshot.raw_stop_reason


def _resource(case: Case | None, end: Mapping[str, Any], model: str | None) -> str | None:
    if case is None or case.outcome is None:
        return None
    known = case.snapshot
    floor = known.setup.output_floor if known and known.setup else 1
    reasons = (end["terminal_reason"], end["stop_reason"], model)
    hopeless, judged = known is not None and no_retry_helps(known), known.outcome if known else None
    found = resource_in(case.outcome, *reasons, floor=floor, hopeless=hopeless, judged=judged)
    return limit_of_observed(known) if found and known is not None and known.observed else found


def _terminal(recording: Recording, spans: tuple[Span, ...], found: _Found, end: Mapping[str, Any]) -> Node:
    last = spans[-1].record.transitions[-1]
    facts = (
        Fact("status", end["status"]),
        Fact("stop_reason", end["stop_reason"]),
        Fact("terminal_reason", end["terminal_reason"]),
    )
    words = f"{last['to']}, with status {end['status']} and terminal reason {end['terminal_reason']}"
    decided = _transition(recording, spans, found, last)
    return Node(Kind.TERMINAL, last["to"], words, facts, (decided, *claim_of(spans)))


def _transition(recording: Recording, spans: tuple[Span, ...], found: _Found, last: Mapping[str, Any]) -> Node:
    move, case = found.transition, found.case
    facts = [
        Fact("from", move["from"]),
        Fact("trigger", move["trigger"]),
        Fact("to", move["to"]),
        Fact("seq", found.span.record.seq),
        Fact("number", found.number),
        Fact("reason", move["reason"]),
    ]
    words = f"{move['from']} → {move['to']}, trigger {move['trigger']}"
    if move is not last:
        facts.append(Fact("then", last["to"]))
        words += f", then {last['to']} with a notice"
    return Node(Kind.TRANSITION, move["trigger"], words, tuple(facts), tuple(_because(recording, spans, found, case)))


def _because(recording: Recording, spans: tuple[Span, ...], found: _Found, case: Case | None) -> Iterator[Node]:
    """What the decisive move follows from: evaluations with their clauses and inputs; else its inputs alone."""
    model = model_input(spans, found.span)
    said = evaluations_of(case) if case else ()
    if case is None or not said:
        yield from unjudged_inputs(found.span, case)
        yield from model
        return
    for place, evaluation in enumerate(said):
        clauses = clauses_of(case, evaluation, recording, spans)
        inputs, reason = inputs_of(case, evaluation), evaluation_text(evaluation, case.snapshot, case.error)
        yield Node(
            Kind.EVALUATION,
            evaluation["criterion"],
            f"{_subject(evaluation)} {_DECIDED[evaluation['decision']]}: {reason}",
            (
                Fact("decision", evaluation["decision"]),
                Fact("decided", evaluation["criterion"] == (case.outcome or {}).get("resolvedBy")),
                Fact("reason", evaluation["reason"]),
            ),
            (*clauses, *inputs, *(model if place == 0 else ())),
        )
