"""What holds on any path: random turns, driven by whatever may happen (style: walk at random what is not finite)."""

from collections.abc import Callable
from dataclasses import replace
from itertools import count

from hypothesis import given, settings
from hypothesis import strategies as st

from agentcore import (
    ErrorPolicy,
    ErrorType,
    NormalizedStopReason,
    Role,
    Snapshot,
    State,
    Step,
    StopReason,
    Trigger,
    TurnStatus,
    verify,
    what_if,
)
from agentcore.commands import CallModel, Finish, Hold, RunTools, Wait
from agentcore.continuation_outcome import resolve
from agentcore.error_policy import PRESETS
from agentcore.events import Approvals, Breakpoint, ChangedCall, Event, OperatorAction
from agentcore.machine.advance import settle
from agentcore.machine.pending_tool_calls import pending_calls
from agentcore.messages import CallIssue
from tests.agentcore.playbook import (
    Playbook,
    blocked,
    call,
    called,
    cancelled,
    cut_call,
    ended,
    error,
    interrupted,
    malformed_call,
    operator,
    paused,
    released,
    said,
    stand_in,
    started,
    stopped,
    tool_failed,
    tools_returned,
    truncated,
    unknown,
    woke_up,
)
from tests.examples import examples

Happening = Callable[[str], object]  #: from a word never said before to an event

ANSWERS: dict[str, Happening] = {
    "truncated": truncated,
    "truncated, empty": lambda word: truncated(""),
    "truncated, uncounted": lambda word: truncated(word, tokens=None),
    "truncated, whole call": lambda word: truncated(word, tool_calls=(call(id=""),)),
    "ended": ended,
    "ended, empty": lambda word: ended(""),
    "called": lambda word: called(call(id=""), call("clock", "same"), text=word),
    "called, by one id": lambda word: called(call(id="same"), call("clock", "same"), text=word),
    "called, wrongly": lambda word: called(call("nope"), text=word),
    "cut call": cut_call,
    "malformed call": malformed_call,
    "paused": paused,
    "blocked": blocked,
    "context": lambda word: stopped(NormalizedStopReason.CONTEXT_WINDOW_EXCEEDED, "full", word),
    "strange word": lambda word: unknown("strange", word),
    "error word": lambda word: unknown("error", word),
    "no word": lambda word: unknown(None, word),
    "rate limit": lambda word: error(ErrorType.RATE_LIMIT, retry_after=1.0),
    "broke off": lambda word: error(ErrorType.MODEL, partial=word),
    "timeout": lambda word: error(ErrorType.TIMEOUT, partial=word),
    "hopeless": lambda word: error(kind="auth", retryable=False),
    "cut by error": lambda word: error(stop_reason=NormalizedStopReason.MAX_TOKENS),
    "taken over": lambda word: interrupted(),
    "taken over, with text": interrupted,
    "hold": lambda word: operator(OperatorAction.HOLD),
    "change": lambda word: operator(max_tokens=30, limits={"max_seconds": 9999.0}),
    "answered for": lambda word: operator(answer=said(word)),
    "called for": lambda word: operator(answer=said("", call(id=""))),
    "cancel": cancelled,
}
ANSWERED: dict[str, Happening] = {
    "stand in": lambda word: stand_in,
    "taken over": lambda word: interrupted(),
    "cancelled": lambda word: cancelled(),
}
RETURNS: dict[str, Happening] = {
    "returned": lambda word: tools_returned(),
    "failed": lambda word: tools_returned(tool_failed("same")),
    "other call": lambda word: other_call,
    "taken over": lambda word: interrupted(),
    "cancel": lambda word: cancelled(),
}
WAITS: dict[str, Happening] = {
    "woke up": lambda word: woke_up(),
    "taken over": lambda word: interrupted(),
    "cancel": lambda word: cancelled(),
}
HOLDS: dict[str, Happening] = {
    "release": lambda word: released(),
    "step": lambda word: operator(OperatorAction.STEP),
    "run to": lambda word: released(run_to="abort_partial"),
    "refuse": lambda word: refused,
    "other call": lambda word: other_call,
    "call for": lambda word: operator(answer=said("", call(id=""))),
    "change": lambda word: operator(limits={"max_seconds": 9999.0}),
    "cancel": lambda word: cancelled(),
}
SAID_FOR_GOOD = {name for name in ANSWERS if "empty" not in name} - {
    "blocked", "rate limit", "hopeless", "cut by error", "taken over", "hold", "change", "answered for", "called for",
}  # fmt: skip
PARTIALS = {"broke off", "timeout", "taken over, with text", "cancel", "error word"}


def other_call(story: Playbook) -> Event:
    """Other arguments for the last call that waits, where one does."""
    calls = pending_calls(story.snapshot)
    changed = ChangedCall(calls[-1].id, {"expression": f"{len(story.records)}"}) if calls else None
    return operator(tool_call=changed)


def refused(story: Playbook) -> Event:
    return operator(OperatorAction.REFUSE if story.snapshot.approving else OperatorAction.RELEASE)


def menu_of(command: object) -> dict[str, Happening]:
    """What may happen to a command; a call that somebody has answered already is answered so."""
    return ANSWERED if isinstance(command, CallModel) and command.answer else MENUS[type(command)]


MENUS: dict[type, dict[str, Happening]] = {CallModel: ANSWERS, RunTools: RETURNS, Wait: WAITS, Hold: HOLDS}

#: What makes a turn go on comes more often, or most turns would be over after one call.
LIKELY = {
    CallModel: ("truncated", "called", "called", "cut call", "broke off", "rate limit", "taken over, with text") * 4,
    RunTools: ("returned",) * 8,
    Wait: ("woke up",) * 6,
    Hold: ("release", "step") * 3,
}

policies = st.fixed_dictionaries(
    {
        "max_continuations": st.integers(0, 3),
        "max_total_completion_tokens": st.none() | st.integers(0, 200),
        "max_total_output_chars": st.sampled_from([20, 120_000]),
        "max_tool_repair_attempts": st.integers(0, 2),
        "max_steps": st.integers(1, 4),
        "max_total_tokens": st.none() | st.integers(0, 300),
        "max_seconds": st.none() | st.floats(0, 30),
        "schema_rounds": st.integers(0, 2),
        "error_policy": st.sampled_from([*PRESETS.values(), ErrorPolicy.retry_all(1)]),
        "envelope_schema": st.none() | st.just({"type": "object", "required": ["answer"]}),
        "ceiling": st.none() | st.just(100),
        "approvals": st.none() | st.sampled_from([Approvals(("calculator",), 5.0), Approvals(("clock",))]),
    }
)
breakpoints = st.lists(
    st.sampled_from(
        [
            Breakpoint(state="evaluate_stop"),
            Breakpoint(trigger="max_tokens"),
            Breakpoint(stop_reason="end_turn"),
            Breakpoint(budget_below=0.5),
        ]
    ),
    max_size=2,
).map(tuple)


def walk(data, asked, stops) -> tuple[Playbook, list[str], int]:
    """A turn from its start to its end: the story, the words that must not be lost, the interruptions."""
    story = Playbook(max_tokens=40, **asked) >> started(breakpoints=stops)
    words, kept, interruptions = count(1), [], 0
    for step in range(200):
        command = story.command
        if isinstance(command, Finish):
            return story, kept, interruptions
        menu = menu_of(command)
        likely = [name for name in LIKELY.get(type(command), ()) if name in menu]
        name = data.draw(st.sampled_from([*menu, *likely])) if step < 25 else next(iter(menu))
        word = f"<{next(words):04d}>"
        repairing = story.snapshot.state is State.REQUEST_TOOL_REPAIR
        if isinstance(command, CallModel) and name in SAID_FOR_GOOD and not (repairing and name in PARTIALS):
            kept.append(word)
        interruptions += name.startswith("taken over")
        story = story >> menu[name](word)
    raise AssertionError("this turn does not end")


def all_received_text(story: Playbook) -> str:
    snapshot = story.snapshot
    answers = "".join(answer.text for answer in (*snapshot.earlier, snapshot.answer))
    unjudged = snapshot.response.text if snapshot.response and snapshot.end is None else ""
    return answers + unjudged


@settings(max_examples=examples(500), deadline=None)
@given(st.data(), policies, breakpoints)
def test_every_random_walk_ends_within_its_limits_loses_nothing_and_verifies(data, asked, stops):
    story, kept, interruptions = walk(data, asked, stops)
    spent, limits, snapshot = story.snapshot.spent, story.policy.limits, story.snapshot

    assert spent.continuations <= limits.max_continuations
    assert spent.tool_repairs <= limits.max_tool_repair_attempts
    assert spent.envelope_retries <= limits.schema_rounds
    assert snapshot.iteration <= limits.max_steps
    retries = spent.total_failures + interruptions
    assert spent.attempts <= (
        snapshot.iteration + spent.continuations + spent.tool_repairs + spent.envelope_retries + retries
    )

    if asked["envelope_schema"] is None and limits.max_total_output_chars > 1000:
        said = all_received_text(story)
        assert [word for word in kept if word not in said] == []
        assert all(said.count(word) == 1 for word in kept)
    assert spent.output_chars <= limits.max_total_output_chars
    assert story.end.output_text == snapshot.output_text

    everything_is_observed_once(story)
    nothing_broken_ran(story)
    history_is_valid(story)
    end_is_of_the_table(story.end)
    decisions_equal_their_explanations(story)
    assert verify(story.stored()).verified
    imagined = what_if(story.recording, story.policy)
    assert (imagined.final, imagined.undecidable) == (story.snapshot, False)


@settings(max_examples=examples(200), deadline=None)
@given(st.data(), policies, breakpoints, policies, st.sampled_from([15, 40, 100]))
def test_a_what_if_without_a_trace_gives_the_same_judgement_as_one_with_it(data, asked, stops, other, max_tokens):
    story, _, _ = walk(data, asked, stops)
    policy = replace(Playbook(**other).policy, max_tokens=max_tokens)
    traced, quiet = what_if(story.recording, policy), what_if(story.recording, policy, trace=False)
    assert (quiet.final, quiet.undecidable) == (traced.final, traced.undecidable)
    assert verify(traced).verified
    assert quiet.records == ()


def decisions_equal_their_explanations(story: Playbook) -> None:
    """Evaluations are put into words when they are read; by then they must still say what was decided."""
    before = Snapshot()
    for step, record in zip(story.steps, story.records, strict=True):
        assert settle(before, record.event, story.policy) == step.snapshot
        outcomes = [transition.outcome for transition in step.transitions if transition.outcome]
        assert [resolve(outcome.evaluations) for outcome in outcomes if outcome.evaluations] == outcomes
        before = step.snapshot


def everything_is_observed_once(story: Playbook) -> None:
    """One reason per attempt, one word per continuation, per repair, per retry and per cut iteration."""
    spent = story.snapshot.spent
    assert len(story.observed("stop_reason_observed")) == spent.attempts
    assert [s["attempt"] for s in story.observed("continuation_attempt")] == list(range(1, spent.continuations + 1))
    retries = [s["attempt"] for s in story.observed("envelope.retry.attempted")]
    assert retries == list(range(2, spent.envelope_retries + 2))
    repairs = [s for s in story.observed("tool_payload_repair") if s["repair_attempted"]]
    assert len(repairs) == spent.tool_repairs
    cut = {t for step in story.steps for t in iterations_cut(step)}
    assert sorted(s["iteration"] for s in story.observed("continuation_terminated")) == sorted(cut)


def iterations_cut(step: Step) -> set[int]:
    """The iterations in which this step found an answer cut or paused."""
    seen = [o.fields["iteration"] for o in step.observed if o.type == "continuation_evaluated"]
    pending = (State.CONTINUE_PENDING, State.REPAIR_PENDING)
    triggers = [t for t in step.transitions if t.target in pending and t.trigger is not Trigger.BREAKPOINT]
    cut = any(t.target is State.CONTINUE_PENDING or step.snapshot.truncated for t in triggers)
    return {seen[0]} if cut and seen else set()


def nothing_broken_ran(story: Playbook) -> None:
    known = {tool.name for tool in story.setup.tools}
    for step in story.steps:
        if isinstance(step.command, RunTools):
            assert all(c.issue is None and c.name in known for c in step.command.calls)
            ids = [c.id for c in step.snapshot.calls]
            assert len(set(ids)) == len(ids)
            assert all(ids)


def history_is_valid(story: Playbook) -> None:
    """No call without its result, no result without its call, wherever the model is asked."""
    for step in story.steps:
        if not isinstance(step.command, CallModel):
            continue
        called_ids = [c.id for m in step.command.request.messages for c in m.tool_calls]
        told_ids = [m.tool_call_id for m in step.command.request.messages if m.role is Role.TOOL]
        assert called_ids == told_ids
        assert len(set(called_ids)) == len(called_ids)
        assert all(c.issue is not CallIssue.TRUNCATED for m in step.command.request.messages for c in m.tool_calls)


#: design §3.2, "How a turn ends"; None stands for a criterion's own stop reason.
ENDS = {
    "completed": {(TurnStatus.COMPLETED, StopReason.COMPLETED)},
    "empty_output": {(TurnStatus.PARTIAL, StopReason.COMPLETED)},
    "retry_limit": {(TurnStatus.PARTIAL, StopReason.RETRY_LIMIT)},
    "budget_exhausted": {(TurnStatus.PARTIAL, StopReason.TOKEN_LIMIT)},
    "output_cap": {(TurnStatus.PARTIAL, StopReason.GUARD)},
    "repetition": {(TurnStatus.PARTIAL, StopReason.GUARD)},
    "tool_repair_failed": {(TurnStatus.PARTIAL, StopReason.RETRY_LIMIT)},
    "forbidden": {(TurnStatus.PARTIAL, None), (TurnStatus.FAILED, None)},
    "provider_error": {(TurnStatus.PARTIAL, None), (TurnStatus.FAILED, None)},
    "safety_blocked": {(TurnStatus.ABORTED, StopReason.FINISH_REASON)},
    "context_window_exceeded": {(TurnStatus.ABORTED, StopReason.FINISH_REASON)},
    "unknown_fatal": {(TurnStatus.ABORTED, StopReason.FINISH_REASON)},
    "envelope_truncation_unrecoverable": {(TurnStatus.FAILED, StopReason.RETRY_LIMIT)},
    "envelope_invalid": {(TurnStatus.FAILED, StopReason.RETRY_LIMIT)},
    "envelope_refusal": {(TurnStatus.FAILED, StopReason.FINISH_REASON)},
    "cancelled": {(TurnStatus.CANCELLED, StopReason.USER_REQUESTED)},
}


def end_is_of_the_table(end: Finish) -> None:
    allowed = ENDS[end.terminal_reason]
    assert (end.status, end.stop_reason) in allowed or (end.status, None) in allowed
    if end.status in (TurnStatus.PARTIAL, TurnStatus.ABORTED, TurnStatus.CANCELLED):
        assert end.notice
    if end.terminal_reason == "provider_error":
        assert (end.status is TurnStatus.PARTIAL) is bool(end.output_text)


def test_the_walks_cover_every_kind_of_waiting_command() -> None:
    assert set(MENUS) == {CallModel, RunTools, Wait, Hold}
    assert isinstance(ended("x"), Event)
