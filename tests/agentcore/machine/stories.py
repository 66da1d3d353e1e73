"""A way into every state the machine can rest in, and stories that together walk the whole table."""

from collections.abc import Callable, Mapping

from agentcore import ErrorPolicy, ErrorType, NormalizedStopReason, State
from agentcore.events import Breakpoint, OperatorAction
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
    lost,
    operator,
    paused,
    released,
    started,
    stopped,
    tool_failed,
    tools_returned,
    truncated,
    unknown,
    woke_up,
)

Story = Callable[[], Playbook]
R = NormalizedStopReason
RETRY = ErrorPolicy.retry_all()
SCHEMA = {"type": "object", "required": ["answer"]}
VALID = '{"answer": 1}'


def asked(**more: object) -> Playbook:
    return Playbook(error_policy=RETRY, **more) >> started()


def envelope(**more: object) -> Playbook:
    return Playbook(error_policy=RETRY, envelope_schema=SCHEMA, **more) >> started()


def held_at(state: State, **more: object) -> Playbook:
    return Playbook(error_policy=RETRY, **more) >> started(breakpoints=(Breakpoint(state=state),))


WAITING_STORIES: Mapping[State, Story] = {
    State.REQUEST: asked,
    State.REQUEST_CONTINUATION: lambda: asked() >> truncated("some text"),
    State.REQUEST_TOOL_REPAIR: lambda: asked() >> cut_call("some text"),
    State.REQUEST_ENVELOPE_RETRY: lambda: envelope() >> ended("{}"),
    State.EXECUTE_TOOLS: lambda: asked() >> called(call(), text="some text"),
    State.BACKOFF: lambda: asked() >> error(partial="some text"),
    State.HELD: lambda: held_at(State.EVALUATE_STOP) >> ended("some text"),
}

#: Into every call, then out of it in every way.
_OUT_OF_CALLS: tuple[Story, ...] = tuple(
    lambda into=into, out=out: into() >> out
    for state, into in WAITING_STORIES.items()
    if state.value.startswith("request")
    for out in (ended("x"), error(), interrupted(), lost(), operator(), cancelled())
)

STORIES: tuple[Story, ...] = (
    *_OUT_OF_CALLS,
    lambda: asked() >> truncated("a") >> error() >> woke_up(),
    lambda: asked() >> error() >> interrupted() >> operator() >> woke_up(),
    lambda: asked() >> error() >> cancelled(),
    lambda: asked() >> error() >> lost(),
    lambda: asked() >> called(call()) >> lost(),
    lambda: asked() >> cut_call() >> error() >> woke_up(),
    lambda: envelope() >> ended("{}") >> error() >> woke_up(),
    lambda: envelope(revision=1) >> error(stop_reason=NormalizedStopReason.MAX_TOKENS),
    lambda: asked() >> called(call()) >> interrupted() >> operator() >> cancelled(),
    lambda: asked() >> called(call()) >> tools_returned(),
    lambda: Playbook() >> started() >> called(call()) >> tools_returned(tool_failed()),
    lambda: WAITING_STORIES[State.HELD]() >> operator() >> cancelled(),
    lambda: asked(max_steps=1) >> called(call()),
    lambda: asked() >> paused(),
    *(lambda reason=r: asked() >> stopped(reason, "x") for r in (R.CONTEXT_WINDOW_EXCEEDED, R.CANCELLED)),
    lambda: asked() >> blocked(),
    lambda: asked() >> unknown("strange"),
    lambda: asked() >> unknown("error"),
    lambda: asked(max_continuations=0) >> truncated("a"),
    lambda: asked(max_total_completion_tokens=1) >> truncated("a"),
    lambda: asked(max_total_output_chars=1) >> truncated("a"),
    lambda: asked() >> truncated() >> truncated(),
    lambda: asked(max_seconds=0.5) >> truncated("a"),
    lambda: asked() >> cut_call() >> cut_call(),
    lambda: asked(max_total_tokens=1) >> cut_call(),
    lambda: asked(max_seconds=0.5) >> cut_call(),
    lambda: envelope() >> ended(VALID),
    lambda: envelope() >> truncated("{"),
    lambda: envelope(schema_rounds=0) >> truncated("{"),
    lambda: envelope() >> blocked(),
    lambda: envelope(max_seconds=0.5) >> ended("{}"),
    lambda: asked() >> error(stop_reason=R.MAX_TOKENS),
    lambda: asked() >> error(stop_reason=R.CONTEXT_WINDOW_EXCEEDED),
    lambda: asked() >> error(stop_reason=R.SAFETY_BLOCKED),
    lambda: Playbook() >> started() >> error(),
    lambda: Playbook() >> started() >> error(partial="a"),
    *(
        lambda partial=partial: (
            Playbook(error_policy=ErrorPolicy.ignore_tool_errors())
            >> started()
            >> error(ErrorType.UNKNOWN, partial=partial)
        )
        for partial in (None, "a")
    ),
    lambda: held_at(State.EVALUATE_STOP) >> ended("a") >> released(),
    lambda: held_at(State.CONTINUE_PENDING) >> truncated("a") >> released(),
    lambda: held_at(State.REPAIR_PENDING) >> cut_call() >> released(),
    lambda: held_at(State.EVALUATE_ENVELOPE, envelope_schema=SCHEMA) >> ended(VALID) >> released(),
    lambda: held_at(State.EVALUATE_ERROR) >> error() >> released(),
    lambda: held_at(State.EVALUATE_CONTINUATION) >> called(call()) >> tools_returned() >> released(),
    lambda: held_at(State.ABORT_PARTIAL, max_continuations=0) >> truncated("a") >> operator(OperatorAction.RELEASE),
)
