"""The state of a turn between two events. It is frozen, so forks can keep it and a crash loses nothing."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from agentcore.commands import Finish
from agentcore.continuation_outcome import ContinuationOutcome, CriterionInput
from agentcore.envelope import EnvelopeReading
from agentcore.error_policy import ErrorContext, ErrorPolicy
from agentcore.events import Breakpoint, Setup, ToolResult
from agentcore.messages import DEMANDED, NO_CAP, CallIssue, ChatResponse, Message, ToolCall
from agentcore.policy import DEFAULT_COMPLETION_CALLS, Limits
from agentcore.reasons import AttemptKind, NormalizedStopReason
from agentcore.snapshot_parts import Answer, Call, Failure, Spent, added_by
from agentcore.states import State, Trigger
from agentcore.truncation_cause import below_cap, eaten
from agentcore.values import quickly_made

#: The first revision of the rules in which an unknown cap is not a limit, and no total is computed from it.
UNKNOWN_CAPS_SINCE = 9

_EVALUATE_STOP, _EVALUATE_CONTINUATION = State.EVALUATE_STOP, State.EVALUATE_CONTINUATION


@quickly_made
@dataclass(frozen=True, slots=True)
class Snapshot(CriterionInput):
    """The state of a turn between two events. `setup` is None only while idle."""

    state: State = State.IDLE  #: the current state of the machine
    at: float = 0.0  #: seconds since the turn started, of the last event
    setup: Setup | None = None
    limits: Limits = field(default_factory=Limits)  #: as they are now: the policy's, and what operators changed
    error_policy: ErrorPolicy = field(default_factory=ErrorPolicy)  #: as it is now
    messages: tuple[Message, ...] = ()  #: the conversation, without hints
    iteration: int = 0  #: from 1; 0 while idle
    answer: Answer = field(default_factory=Answer)  #: of this iteration
    earlier: tuple[Answer, ...] = ()  #: the answers of the iterations before
    #: used so far; in a fork including its parent's usage, which limits count too
    spent: Spent = field(default_factory=Spent)
    inherited: Spent | None = None  #: the part of `spent` that the parent of a fork had used; None in any other turn
    call: Call | None = None  #: None while idle
    response: ChatResponse | None = None  #: the last answer
    failure: Failure | None = None  #: None: none is judged
    draw: float = 0.5  #: the driver's random number in [0, 1) of the last answer
    reading: EnvelopeReading | None = None  #: of the last structured answer
    calls: tuple[ToolCall, ...] = ()  #: of the answer being judged or of the tools being run, with unique ids
    rejected: tuple[ToolResult, ...] = ()  #: error results of calls that may not run
    supplied: tuple[ToolResult, ...] = ()  #: results an operator gave in place of a tool
    call_ids: frozenset[str] = frozenset()  #: every id a call of this turn has had
    idle_answers: int = 0  #: consecutive truncated answers that added nothing
    iteration_failures: int = 0  #: of this iteration
    truncated: bool = False  #: some call of this iteration was truncated
    cut_at_cap: bool = False  #: text was cut at max_total_output_chars
    repairing: CallIssue | None = None  #: the issue that is being repaired
    wait_seconds: float = 0.0  #: of the backoff
    held_state: State | None = None  #: the state that a release continues in
    hold_requested: bool = False  #: hold at the next deciding state
    breakpoints: tuple[Breakpoint, ...] = ()  #: where to hold
    low: frozenset[str] = frozenset()  #: budgets below the threshold of a breakpoint that has already held for them
    run_to: str | None = None  #: a state to hold at, once
    approving: tuple[str, ...] = ()  #: tools whose calls wait for a person's approval
    held_until: float | None = None  #: seconds since the turn started, of an approval with a time limit
    refused: tuple[str, ...] = ()  #: ids of the calls in `supplied` that were not approved
    refused_by: str = ""  #: who refused them, a person or the approval time limit
    stand_in: ChatResponse | None = None  #: an operator's answer to the next call, or the one in flight
    trigger: Trigger | None = None  #: of the last transition
    outcome: ContinuationOutcome | None = None  #: of the last deciding state
    model_stop_reason: str | None = None  #: of the last call
    raw_stop_reason: str | None = None  #: of the last call
    #: signs in the answers so far: codes of `agentcore.lint`, `unknown_reason`, `operator_answered`,
    #: `whole_though_cut`, `request_changed`
    flagged: tuple[str, ...] = ()
    last_signs: tuple[str, ...] = ()  #: those of the last answer, codes of `agentcore.lint`
    tell_estimates: bool | None = None  #: the policy's
    revision: int | None = None  #: the policy's
    watched: bool | None = None  #: the policy's, where it allows no continuation
    #: the policy's `watched`, however many continuations it allows: its limits are nobody's, and none is told of
    observed: bool | None = None
    cut_by: tuple[str, ...] = ()  #: what cut each truncated answer of the turn, in order: causes of `agentcore.cuts`
    failed_spent: bool | None = None  #: True: failed calls of this iteration have spent output tokens
    #: True: some answer may hide reasoning: it used more tokens than its text explains, or fewer than the cap that
    #: truncated it
    veiled: bool | None = None
    #: True: some truncated answer has reasoned, and might have reasoned longer under a larger cap
    reasoned: bool | None = None
    cancelled_by: str | None = None  #: who or what cancelled the turn
    end: Finish | None = None  #: decided; then the command of the terminal state

    @property
    def cut_sign(self) -> str:
        """The first sign that the last answer was cut off, though it is said to have ended; empty without any. The
        signs of calls before it tell nothing of its end: they were continued, or their tools ran."""
        return self.last_signs[0] if self.last_signs else ""

    @property
    def asked(self) -> Setup:
        """The setup of a turn that has started."""
        return self.setup  # type: ignore[return-value]

    @property
    def current_call(self) -> Call:
        """The call that is pending, in flight, or just answered, of a turn that has started."""
        return self.call  # type: ignore[return-value]

    @property
    def output_text(self) -> str:
        """The merged text of the last iteration that has any."""
        if self.answer.text or not self.earlier:
            return self.answer.text
        return next((answer.text for answer in reversed(self.earlier) if answer.text), "")

    @property
    def uncapped(self) -> bool:
        """Whether no `max_tokens` is sent to the provider, because none was set. That of the setup is used for
        calculations only."""
        return self._noted == NO_CAP

    @property
    def _noted(self) -> object:
        """What `extra["uncapped"]` was of the call that is pending, in flight or just answered."""
        if self.call is not None and self.call.sent_uncapped is not None:
            return self.call.sent_uncapped
        return None if self.setup is None else self.setup.extra.get("uncapped")

    @property
    def sent_cap(self) -> int | None:
        """The `max_tokens` of the call that is pending, in flight or just answered; None where none is sent."""
        return None if self.call is None or self.uncapped else self.call.max_tokens

    @property
    def known_cap(self) -> int | None:
        """The same, but also None if the recording does not say whether a cap was sent."""
        noted = self._noted
        unknown = noted and noted != DEMANDED
        return None if self.call is None or unknown else self.call.max_tokens

    @property
    def cap_bound(self) -> str | None:
        """The limit that made the cap of the call smaller than the one that was set; None: none did. Calls that were
        stored before this was noted are told by their cap."""
        call = self.call
        if call is None or call.bound is not None or self.observed:
            return None if call is None else call.bound
        asked = self.asked.max_tokens if call.asked_cap is None else call.asked_cap
        goes_on = call.kind in (AttemptKind.CONTINUATION, AttemptKind.RESUME)
        return "max_total_completion_tokens" if goes_on and call.max_tokens < asked else None

    @property
    def next_cap_unknown(self) -> bool:
        """Whether the cap of further calls is not known. Then none is shown, and no total is computed from it. By rules
        of revision 9."""
        noted = self.asked.extra.get("uncapped")
        return bool(noted) and noted != DEMANDED and (self.revision or 0) >= UNKNOWN_CAPS_SINCE

    @property
    def judged_cap(self) -> int | None:
        """The cap of the answer's call, as named by judgements. Rules before revision 9 name the calculated cap if none
        is known."""
        later = (self.revision or 0) >= UNKNOWN_CAPS_SINCE
        return self.known_cap if later or self.call is None else self.call.max_tokens

    @property
    def cut_below_cap(self) -> bool:
        """Whether the last answer was truncated although its call had tokens left."""
        known = self.revision and self.response is not None and self.call is not None
        return bool(known) and below_cap(self.response, self.sent_cap)  # type: ignore[arg-type]

    @property
    def eaten(self) -> bool:
        """Whether reasoning used all tokens of the last answer."""
        known = self.revision and self.response is not None and self.call is not None
        return bool(known) and eaten(self.response, self.sent_cap)  # type: ignore[arg-type]

    @property
    def refused_as_cut(self) -> bool:
        """Whether the last call ended with an error that says that max_tokens was used up, and no answer of this
        iteration has brought any text. By rules of revision 7."""
        told = self.response is None and self.model_stop_reason == NormalizedStopReason.MAX_TOKENS
        return (self.revision or 0) >= 7 and told and not self.answer.text.strip()

    @property
    def going_on_helped(self) -> bool:
        """Whether the last answer was a continuation that added text, so the context window had room for it."""
        return bool(self.call and self.call.kind is AttemptKind.CONTINUATION and self.just_added)

    @property
    def own(self) -> Spent:
        """The turn's own usage; in a fork without the usage of its parent, so that the usage of turns adds up to that
        of their calls."""
        return self.spent if self.inherited is None else self.spent.less(self.inherited)

    @property
    def just_added(self) -> str:
        """The text that the last call added to the answer; empty if it added nothing or only whitespace."""
        return added_by(self.spent.attempts, self.answer)

    @property
    def completion_budget(self) -> int | None:
        """Tokens that all completions of the turn may use together; None: no limit."""
        configured = self.limits.max_total_completion_tokens
        return self.completion_default if configured is None else configured

    @property
    def completion_default(self) -> int | None:
        """The default of `completion_budget`; None if no cap is known to compute it from."""
        return None if self.next_cap_unknown else DEFAULT_COMPLETION_CALLS * self.asked.max_tokens

    @property
    def completion_left(self) -> int | None:
        """Tokens left of `completion_budget`, never below 0; None: no limit."""
        budget, used = self.limits.max_total_completion_tokens, self.spent.output_tokens
        if budget is None and (budget := self.completion_default) is None:
            return None
        return budget - used if budget > used else 0

    @property
    def about(self) -> str:
        """“about ” before a number of tokens that is an estimate; otherwise empty."""
        return "about " if self.spent.estimated and self.tell_estimates else ""

    @property
    def seconds_left(self) -> float | None:
        """Of max_seconds; None without that limit."""
        limit = self.limits.max_seconds
        return None if limit is None else max(0.0, limit - self.spent.seconds)

    @property
    def wants_next_iteration(self) -> bool:
        """Whether continuing from here would begin another iteration."""
        if self.state is _EVALUATE_CONTINUATION:
            return True
        return self.state is _EVALUATE_STOP and bool(self.calls) and not self.ends_with_calls

    @property
    def ends_with_calls(self) -> bool:
        """Whether the calls of this answer, if they are whole, end the turn instead of being run here."""
        ending = self.asked.ending_tools
        return bool(self.asked.client_tools) or any(call.name in ending for call in self.calls)

    def error_context(self) -> ErrorContext:
        """The error being judged, as the error policy sees it: from `Policy.resolver`, or as counted by this
        snapshot."""
        if self.failure is not None and self.failure.context is not None:
            return self.failure.context
        return self.counted_error_context()

    def counted_error_context(self) -> ErrorContext:
        """The error being judged, as this snapshot counts it."""
        if self.failure is None:
            return ErrorContext.none()
        return ErrorContext(
            self.failure.type,
            self.spent.consecutive_failures,
            self.spent.total_failures,
            self.failure.message,
            self.failure.tool_name,
        )


if not TYPE_CHECKING:
    # Where the code runs, both are the slots themselves: a what-if reads them fifty times, and Python 3.11 reads some
    # fifty slots in the time in which it calls a property.
    Snapshot.asked, Snapshot.current_call = Snapshot.setup, Snapshot.call
