"""Turns and other policies for the second examiner, drawn at random: one row for each class of providers."""

import copy
import json
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from agentcore import (
    ContinuationDecision,
    ContinuationEvaluation,
    ErrorPolicy,
    Limits,
    Message,
    NormalizedStopReason,
    Policy,
    Recording,
    Role,
    Snapshot,
    ToolSpec,
    WhatIf,
    what_if,
)
from agentcore.errors import RecordingError
from agentcore.events import Approvals, Breakpoint, Setup, Started
from agentcore.policy import OnTruncation
from agentcore.replay import fork
from agentcore.replay.fork import under
from agentcore.states import State
from tests.agentcore.playbook import requires
from tests.agentcore.replay.scripted_driver import drive
from tests.agentcore.replay.scripted_habits import ERRORS, KINDS, Ending, Habits
from tests.agentcore.replay.scripted_provider import ScriptedProvider, number_of

R = NormalizedStopReason
SCHEMA = {"type": "object", "required": ["steps"]}
TOOLS = tuple(ToolSpec(name, name, {"type": "object"}) for name in ("look", "add"))
_HOLDS = (State.EVALUATE_STOP, State.CONTINUE_PENDING, State.EVALUATE_CONTINUATION, State.EVALUATE_ERROR)
_THINKING = ("always", "varied", "first", "later", "endless")
_ENDINGS: tuple[Ending, ...] = (
    (R.END_TURN, "stop_sequence"),
    (R.UNKNOWN, "wibble"),
    (R.UNKNOWN, None),
    (R.SAFETY_BLOCKED, "content_filter"),
    (R.CANCELLED, "cancelled"),
    (R.CONTEXT_WINDOW_EXCEEDED, "model_context_window_exceeded"),
)
_BAD = ('{"step": 1}', "not json at all", '{"steps": [1,2', '{"other": "x"}')

Draw = Callable[[random.Random], dict[str, Any]]


def _thinks(chance: random.Random, *told: str) -> dict[str, Any]:
    return {"thinking": chance.choice(_THINKING), "thought": chance.randrange(1, 120), "told": chance.choice(told)}


def _fails(chance: random.Random, *kinds: str | int) -> dict[str, Any]:
    return {"fails": {chance.randrange(1, 6): chance.choice(kinds) for _ in range(chance.randrange(1, 4))}}


def _called(chance: random.Random, calls: int = 1, longest: int = 10) -> dict[str, Any]:
    """Tool calls of one iteration or two, and short texts beside them."""

    def call() -> tuple[str, dict[str, Any]]:
        return chance.choice(TOOLS).name, {"q": "x" * chance.randrange(1, longest), "n": chance.randrange(9)}

    tools = tuple(tuple(call() for _ in range(calls)) for _ in range(chance.randrange(1, 3)))
    lengths = (chance.randrange(40), chance.randrange(60), chance.randrange(5, 120))
    return {"tools": tools, "lengths": lengths}


def _structured(chance: random.Random) -> dict[str, Any]:
    good = json.dumps({"steps": [chance.randrange(100) for _ in range(chance.randrange(2, 60))]})
    return {"payloads": (chance.choice([good, *_BAD]), chance.choice([good, good, *_BAD]))}


def _repeats(chance: random.Random, *ways: str) -> dict[str, Any]:
    return {"repeat": chance.choice(ways), "again": chance.randrange(3, 90)}


def _acts(chance: random.Random) -> dict[str, Any]:
    return {"acts_after": chance.choice([0.3, 1.0, 3.0]), "reads": chance.random() < 0.3}


#: What is different in each class of providers.
CLASSES: Mapping[str, Draw] = {
    "ordinary": lambda _: {},
    "exact": lambda _: {"exact": True},
    "exact, with an echo": lambda _: {"exact": True, "echo": True},
    "exact, thinking": lambda c: {"exact": True, **_thinks(c, "usage", "shown", "hidden", "unreported", "uncounted")},
    "exact, usage in part": lambda c: {"exact": True, "usage": c.choice(["none", "sometimes", "zero"])},
    "repeats": lambda c: _repeats(c, "tokens", "sometimes", "line"),
    "repeats otherwise": lambda c: _repeats(c, "upper case", "after a blank", "preamble", "anew"),
    "thinking": lambda c: _thinks(c, "usage", "shown"),
    "thinking, shown": lambda c: _thinks(c, "shown") | {"kind": c.choice(["letters", "long", "wide"])},
    "thinking, hidden": lambda c: _thinks(c, "hidden"),
    "thinking, unreported": lambda c: _thinks(c, "unreported", "uncounted"),
    "usage in part": lambda c: {"usage": c.choice(["none", "sometimes", "zero"])},
    "an end mark": lambda c: {"end_mark": 1, "usage": c.choice(["all", "without the end mark"])},
    "failures": lambda c: _fails(c, *ERRORS),
    "failures in the middle": lambda c: {"exact": c.random() < 0.3} | _fails(c, c.randrange(60), 3, "500"),
    "tools": lambda c: _called(c),
    "tools, failing": lambda c: (
        _called(c) | {"tools": ((("look", {"q": 1}),),) * 2, "tool_errors": frozenset({("look", 0)})}
    ),
    "tools, parallel": lambda c: _called(c, 2, c.choice([10, 200])),
    "tools, malformed": lambda c: _called(c) | {"malformed": True},
    "slow": lambda c: {"pace": c.choice([0.01, 0.1]), "wait": c.choice([0.1, 2.0])},
    "structured": lambda c: _structured(c),
    "structured, failures": lambda c: _structured(c) | _fails(c, "500", "429", 9),
    "other endings": lambda c: {"ending": c.choice(_ENDINGS)},
    "empty": lambda c: {"lengths": (c.choice([0, 0, 1, 30]), c.choice([0, 3]), 5)},
    "a context window": lambda c: {"window": c.randrange(60, 260)},
    "cuts told as ends": lambda c: {"hides_cuts": True, "usage": c.choice(["all", "none", "sometimes", "zero"])},
    "usage of the turn so far": lambda c: {"usage": "so far", "exact": c.random() < 0.5},
    "resume tokens": lambda c: {"tokens": True, "usage": c.choice(["all", "all", "none"])},
    "in line": lambda c: {"waits_in_line": c.choice([0.5, 3.0]), "pace": c.choice([0.02, 0.1])},
    "tools, slow": lambda c: _called(c, c.choice([1, 2])) | {"tool_seconds": c.choice([0.5, 2.0, 6.0])},
    "operators": lambda c: {"holds_at": c.choice(_HOLDS), "exact": c.random() < 0.5},
    "approvals": lambda c: _called(c, c.choice([1, 2])) | {"approved": "look"},
    "operators, in calls": lambda c: _acts(c) | {"pace": c.choice([0.02, 0.1]), "exact": c.random() < 0.5},
    "operators, while tools run": lambda c: _called(c) | _acts(c) | {"tool_seconds": c.choice([2.0, 6.0])},
    "operators, reading": lambda c: {"holds_at": c.choice(_HOLDS), "exact": c.random() < 0.5, "reads": True},
    "operators, writing": lambda c: {"holds_at": c.choice(_HOLDS), "exact": c.random() < 0.5, "writes": True},
    "approvals, mended": lambda c: _called(c, c.choice([1, 2])) | {"approved": "look", "writes": True},
}
_TIMED = frozenset({"slow", "in line", "tools, slow", "operators, in calls", "operators, while tools run"})


class More:
    """A criterion that asks for more, so many times."""

    def __init__(self, words: str, times: int) -> None:
        self._words, self._times = words, times

    def explain(self, state: Snapshot) -> ContinuationEvaluation:
        wants = state.iteration <= self._times and len(state.output_text) < 400
        decision = ContinuationDecision.REQUEST if wants else ContinuationDecision.STOP
        return ContinuationEvaluation("More", decision, "it is short", message=self._words if wants else None)


def _limits(chance: random.Random, *, slow: bool) -> Limits:
    """Three limits of ten, on average, are no defaults."""
    draws: dict[str, tuple[float, Callable[[], float]]] = {
        "max_total_completion_tokens": (0.25, lambda: chance.randrange(20, 500)),
        "max_total_output_chars": (0.12, lambda: chance.randrange(30, 900)),
        "max_tool_repair_attempts": (0.2, lambda: chance.randrange(3)),
        "max_steps": (0.2, lambda: chance.randrange(1, 4)),
        "max_total_tokens": (0.2, lambda: chance.randrange(60, 1200)),
        "max_seconds": (0.6 if slow else 0.1, lambda: chance.choice([chance.uniform(0.5, 6), chance.uniform(3, 30)])),
        "schema_rounds": (0.3, lambda: chance.randrange(4)),
        "truncation_budget_multiplier": (0.2, lambda: chance.choice([1.0, 1.005, 1.5, 3.0])),
    }
    drawn = {name: draw() for name, (share, draw) in draws.items() if chance.random() < share}
    return Limits(max_continuations=chance.choice([0, 1, 2, 3, 3, 3, 6]), **drawn)  # type: ignore[arg-type]


def _policy(chance: random.Random, *, slow: bool) -> Policy:
    errors = [ErrorPolicy.stop_on_any_error(), ErrorPolicy.retry_all(chance.choice([1, 2, 5])), ErrorPolicy.retry_all()]
    errors += [ErrorPolicy.retry_tool_errors(), ErrorPolicy.ignore_tool_errors()]
    policy = Policy(validate=requires, limits=_limits(chance, slow=slow), error_policy=chance.choice(errors))
    caps = [None, chance.randrange(5, 60), chance.randrange(20, 260), chance.randrange(100, 600)]
    policy = replace(policy, max_tokens=chance.choice(caps))
    rare: list[tuple[float, dict[str, Any]]] = [
        (0.15, {"tool_calls_on_truncation": chance.choice(list(OnTruncation))}),
        (0.08, {"finish_reasons": (chance.choice([R.END_TURN, R.MAX_TOKENS, R.TOOL_CALL]),)}),
        (0.08, {"criteria": (chance.choice([More("more please", 1), More("go on", 2)]),)}),
        (0.04, {"min_overlap": chance.choice([4, 40])}),
    ]
    return replace(
        policy, **{name: one for share, more in rare if chance.random() < share for name, one in more.items()}
    )


def _other(chance: random.Random, policy: Policy, *, slow: bool) -> Policy:
    """Another policy, or the same with a thing or two changed."""
    drawn = _policy(chance, slow=slow)
    if chance.random() < 0.25:
        return drawn
    for _ in range(chance.choice([1, 1, 2])):
        name = chance.choice(
            ["max_tokens"] * 3 + ["limits", "limit", "error_policy", "tool_calls_on_truncation", "criteria"]
        )
        if name == "limit":
            one = chance.choice(fields(Limits)).name
            policy = replace(policy, limits=replace(policy.limits, **{one: getattr(drawn.limits, one)}))
        else:
            policy = replace(policy, **{name: getattr(drawn, name)})
    return policy


def _against_operators(chance: random.Random, habits: Habits, had: Policy, other: Policy) -> Policy:
    """The policy asked about; for turns with operators it is often one that changes what they meet."""
    if not (habits.acts_after or habits.reads or habits.writes) or chance.random() < 0.3:
        return other
    if habits.acts_after and chance.random() < 0.6:
        seconds = chance.uniform(0.3, 2.0) * habits.acts_after
        return replace(had, limits=replace(had.limits, max_seconds=seconds))
    return replace(had, max_tokens=chance.randrange(5, 200))


@dataclass(frozen=True)
class Case:
    """A turn as it was recorded, the policy it is asked about, and how it really ended under that."""

    recording: Recording
    policy: Policy
    truth: Recording
    habits: Habits

    def imagined(self, *, trace: bool = True) -> WhatIf:
        return what_if(self.recording, self.policy, trace=trace)


def case(name: str, seed: int, *, forked: bool = False) -> Case | None:
    """One drawn by the class's name and the seed. `forked`: of a turn that began in the middle of another; None: it
    could not begin there."""
    chance, slow = random.Random(number_of(seed, name)), name in _TIMED
    drawn = {"kind": chance.choice(list(KINDS)), "lengths": tuple(chance.randrange(5, 160) for _ in range(3))}
    habits = Habits(seed, **(drawn | CLASSES[name](chance)))
    holds = (Breakpoint(state=habits.holds_at),) if habits.holds_at else ()
    started = Started(0.0, _setup(chance, habits), (Message(Role.USER, f"question {seed}"),), holds)
    had = _policy(chance, slow=slow)
    other = _against_operators(chance, habits, had, _other(chance, had, slow=slow))
    if not forked:
        parent = drive(ScriptedProvider(habits), had, started)
        return Case(parent, other, drive(ScriptedProvider(habits), other, started, like=parent), habits)
    kept: list[ScriptedProvider] = []
    parent = drive(ScriptedProvider(habits), had, started, kept=kept)
    own, place = _other(chance, had, slow=slow), chance.randrange(1, len(parent.records))
    try:
        base = fork(parent, place, own, "child")
    except RecordingError:
        return None
    child = drive(copy.deepcopy(kept[place - 1]), own, base=base)
    return Case(child, other, drive(kept[place - 1], other, base=under(base, own, other), like=child), habits)


def _setup(chance: random.Random, habits: Habits) -> Setup:
    cap = chance.choice([chance.randrange(5, 60), chance.randrange(20, 150), chance.randrange(60, 400)])
    extra = {"prefix": True} if habits.exact else {}
    return Setup(
        "t",
        "openai",
        "m",
        cap,
        tools=TOOLS if habits.tools else (),
        envelope_schema=SCHEMA if habits.payloads else None,
        extra=extra | ({"prefill_echo": True} if habits.echo else {}),
        ceiling=chance.choice([None, None, 600]),
        context_window=habits.window,
        approvals=Approvals((habits.approved,)) if habits.approved else None,
    )
