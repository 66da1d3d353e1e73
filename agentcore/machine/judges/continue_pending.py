"""continue_pending: whether a cut or paused answer is gone on with, and how it is asked for."""

from functools import lru_cache, partial

from agentcore.continuation_outcome import ContinuationOutcome
from agentcore.criteria.builtin import TokenUsageLimit
from agentcore.criteria.incomplete_answers import APART, TruncationCriterion
from agentcore.cuts import bounded
from agentcore.machine import finish
from agentcore.machine.accounting import give_back
from agentcore.machine.judgement import Judgement, echoing, evaluate_now
from agentcore.messages import Message, Role
from agentcore.policy import Policy
from agentcore.reasons import AttemptKind, NormalizedStopReason
from agentcore.snapshot import Snapshot
from agentcore.snapshot_parts import Call, Spent
from agentcore.states import State, Trigger
from agentcore.values import copier

#: spec: stop-reason-state-machine, "Recovery prompt contract".
HINT = (
    "Previous response was truncated by token limit.\n"
    "Continue exactly from where you left off.\n"
    "If you intended a tool call, emit one complete tool call payload only.\n"
    "Do not repeat already-sent text."
)


_with_continuations = copier(Spent, "continuations")
# Python 3.11 takes long to find a member in its enumeration, and every cut answer asks for these.
_PAUSED, _MAX_TOKENS = NormalizedStopReason.PAUSED, NormalizedStopReason.MAX_TOKENS
_CONTINUATION, _REQUEST_CONTINUATION = AttemptKind.CONTINUATION, State.REQUEST_CONTINUATION
_UNDER_LIMITS = Trigger.UNDER_LIMITS


def judge(snapshot: Snapshot, policy: Policy) -> Judgement:
    """Go on, as a continuation or a resume, unless a limit or a criterion forbids."""
    snapshot = give_back(snapshot)
    outcome = evaluate_now(snapshot, policy)
    if not outcome.should_continue:
        return _stop(snapshot, outcome)
    call = _next_call(snapshot)
    spent = _with_continuations(snapshot.spent, snapshot.spent.continuations + 1)
    told = None if snapshot.next_cap_unknown else call.max_tokens
    words = partial(_words, spent.continuations, snapshot.limits.max_continuations, told)
    return Judgement(_UNDER_LIMITS, words, snapshot, outcome, (), {"call": call, "spent": spent})


def _words(nth: int, limit: int, cap: int | None) -> str:
    return f"continuation {nth} of {limit}{'' if cap is None else f', {cap} tokens'}"


def _stop(snapshot: Snapshot, outcome: ContinuationOutcome) -> Judgement:
    trigger = stop_trigger(outcome)
    why = outcome.forbidding_reason()
    terminal = apart_of(outcome) or trigger.value
    return Judgement(trigger, why, finish.partial(snapshot, outcome.stop_reason, terminal, why), outcome)


def apart_of(outcome: ContinuationOutcome) -> str | None:
    """The terminal reason of a cut for which nobody's limit is to blame; None where one is."""
    said = outcome.get_evaluation_for(TruncationCriterion.__name__)
    bound = said.context.get("bound") if said and said.criterion == outcome.resolved_by else None
    return bound if bound in APART else None


def stop_trigger(outcome: ContinuationOutcome) -> Trigger:
    """The limit that forbade; a criterion that is no limit of ours is `forbidden`."""
    if outcome.resolved_by == TokenUsageLimit.__name__:
        return Trigger.BUDGET_EXHAUSTED
    evaluation = outcome.get_evaluation_for(TruncationCriterion.__name__)
    if evaluation is None or outcome.resolved_by != evaluation.criterion or apart_of(outcome):
        return Trigger.FORBIDDEN
    return Trigger(evaluation.context.get("bound", Trigger.FORBIDDEN))


def _next_call(snapshot: Snapshot) -> Call:
    left, last, asked = snapshot.completion_left, snapshot.current_call, snapshot.asked
    capped, bound = bounded(asked.max_tokens, left, None)
    response = snapshot.response
    if response is not None and response.stop_reason is _PAUSED:
        return Call(AttemptKind.RESUME, _REQUEST_CONTINUATION, capped, echo=_echo(snapshot, last), bound=bound)
    token = _resume_token(snapshot)
    if token is not None and last.hint is None:  # a token belongs to its request, and a hint's grows with the answer
        return Call(_CONTINUATION, _REQUEST_CONTINUATION, capped, echo=last.echo, resume_token=token, bound=bound)
    continued = snapshot.answer.text.strip() and asked.envelope_schema is None
    if continued and not _said_nothing(snapshot):
        return _hinted(capped, bound)
    twice, bound = bounded(2 * last.max_tokens, left, asked.ceiling)
    if continued:
        return _hinted(twice, bound)
    return Call(_CONTINUATION, _REQUEST_CONTINUATION, twice, echo=last.echo, bound=bound)


@lru_cache(maxsize=256, typed=True)
def _hinted(cap: int, bound: str | None) -> Call:
    """The same in most turns, call after call."""
    return Call(_CONTINUATION, _REQUEST_CONTINUATION, cap, hint=HINT, bound=bound)


def _said_nothing(snapshot: Snapshot) -> bool:
    """Whether the last attempt brought no text at all: reasoning ate its budget, the same would be eaten again."""
    response = snapshot.response
    return not (snapshot.just_added if response is None else response.text.strip())


def _resume_token(snapshot: Snapshot) -> str | None:
    """What the provider gave with a cut answer for it to be gone on with; None after any other end."""
    response = snapshot.response
    cut = response is not None and response.stop_reason is _MAX_TOKENS
    return response.resume_token if response is not None and cut and not response.incomplete_stream else None


def _echo(snapshot: Snapshot, last: Call) -> tuple[Message, ...]:
    """What was paused, unchanged; before it what was paused or said before, for a hint's text goes along with its own
    call only."""
    response, segments = snapshot.response, snapshot.answer.segments
    assert response is not None, "paused is an answer's reason"
    paused = echoing(role=Role.ASSISTANT, text=response.text, echo=response.echo)
    if last.hint is None:
        return (*last.echo, paused)
    added = segments and segments[-1].attempt == snapshot.spent.attempts
    before = snapshot.answer.text[: segments[-1].start] if added else snapshot.answer.text
    return (Message(Role.ASSISTANT, before), paused) if before.strip() else (paused,)
