"""Random models of each class, and random pairs of policies."""

import json
import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from agentcore import ErrorPolicy
from agentcore.criteria.builtin import ResponseContentCheck, WantsMore
from agentcore.policy import OnTruncation
from agentcore.reasons import NormalizedStopReason
from agentcore.replay import Experience
from tests.agentcore.playbook import CALCULATOR, Playbook
from tests.agentcore.replay.examining import Case, begun, forked, run
from tests.agentcore.replay.model_server import ENDS, Model
from tests.agentcore.replay.stored_calls import experience_with
from tests.agentcore.replay.texts import TEXTS

CAPS = [1, 3, 8, 16, 25, 40, 64, 90, 100, 128, 160, 200, 256, 300, 400, 512, 700, 1000, 2000, 4096]
LIMITS: dict[str, list[Any]] = {
    "max_tokens": CAPS,
    "max_continuations": [0, 1, 2, 3, 3, 3, 4, 8],
    "max_total_completion_tokens": [None, None, None, None, 90, 250, 1500],
    "max_seconds": [None] * 8 + [0.5, 1.5, 4.0, 10.0],
    "max_total_output_chars": [120_000] * 7 + [30, 150, 500, 1500],
    "max_total_tokens": [None] * 8 + [200, 700, 2500],
    "max_tool_repair_attempts": [0, 1, 1, 2],
    "max_steps": [20, 20, 20, 1, 2],
    "schema_rounds": [0, 1, 3, 3],
    "truncation_budget_multiplier": [1.0, 1.5, 2.0, 2.0, 4.0],
    "error_policy": [
        ErrorPolicy.stop_on_any_error(),
        ErrorPolicy.retry_all(),
        ErrorPolicy.retry_all(2),
        ErrorPolicy.ignore_tool_errors(),
        ErrorPolicy.retry_tool_errors(1),
    ],
    "tool_calls_on_truncation": [OnTruncation.EXECUTE_IF_COMPLETE] * 3 + [OnTruncation.REPAIR],
    "finish_reasons": [(), (), (), (NormalizedStopReason.MAX_TOKENS,), (NormalizedStopReason.TOOL_CALL,)],
    "criteria": [()],
}
MORE = [
    (),
    (ResponseContentCheck(WantsMore(min_chars=200), "Say more."),),
    (ResponseContentCheck(WantsMore(min_chars=200), "Longer, please."),),
    (ResponseContentCheck(WantsMore(must_contain=("provider",)), "Say more."),),
]
FAILS: list[dict[int, str | int]] = [
    {1: "429"},
    {1: "500"},
    {1: "reset"},
    {2: "429"},
    {2: 7},
    {1: 25},
    {1: 0},
    {3: "500"},
    {2: "400"},
    {1: "429", 2: "500"},
    {1: 10, 2: 10, 3: 10},
    {2: 60},
]
SCHEMA = {"type": "object", "required": ["a"]}

Draw = Callable[[random.Random], dict[str, Any]]


KINDS = ("first", "continuation", "repair", "after tools")


def thinking(chance: random.Random) -> dict[str, Any]:
    most = chance.choice([20, 60, 150, 400])
    steady = dict.fromkeys(KINDS, (most, most))
    by_kind = {kind: (0, chance.choice([0, most // 4, most])) for kind in steady} | {"first": (most // 2, most)}
    return {"thinks": chance.choice([steady, by_kind, {"first": (most, most)}])}


def structured(chance: random.Random) -> dict[str, Any]:
    def answer(kind: str) -> tuple[str, ...]:
        rest = [f'"{chance.randrange(999)}", ' for _ in range(chance.choice([1, 10, 40]))]
        good = ['{"a": ', "[", *rest, '"z"', "]", "}"]
        return {
            "valid": tuple(good),
            "violating": ('{"b": ', *good[1:]),
            "fenced": ("Here ", "it is:\n", "```json\n", *good, "\n```"),
            "prose": ("I ", "cannot ", "say ", "this."),
        }[kind]

    kinds = ["valid", "valid", "violating", "fenced", "prose"]
    return {"envelopes": tuple(answer(chance.choice(kinds)) for _ in range(3)), "texts": ((),)}


#: What is different in each class of models; the rest is as `usual`.
CLASSES: dict[str, Draw] = {
    "ordinary": lambda chance: {},
    "tells of no reasoning": lambda chance: {"tells_of_none": True},
    "calls cuts an end": lambda chance: {"calls_cuts": False, "tells_of_none": chance.random() < 0.5},
    "calls cuts an end, known": lambda chance: CLASSES["calls cuts an end"](chance) | {"known": True},
    "empty answers": lambda chance: (
        thinking(chance)
        | {"texts": chance.choice([((),), (("",),), ((" ",),), (("\n\n",),)])}
        | chance.choice([{"thinks": {}}, {}, {"told": "hidden"}, {"told": "unreported"}])
    ),
    "exact continuations": lambda chance: {"prefill": True, "echoes": chance.random() < 0.3},
    "repeats some tokens": lambda chance: {
        "goes_on": "repeats",
        "repeats": chance.choice([(0, 10), (5, 30), (20, 48)]),
    },
    "repeats a sentence": lambda chance: {"goes_on": "sentence"},
    "begins anew": lambda chance: {"goes_on": "restarts"},
    "says that it goes on": lambda chance: {"goes_on": "preamble"},
    "other words": lambda chance: {"goes_on": "other"},
    "a rest of unrelated length": lambda chance: {"goes_on": "unrelated"},
    "reasoning, reported": lambda chance: thinking(chance) | {"told": "reported"},
    "reasoning, shown": lambda chance: thinking(chance) | {"told": "shown"},
    "reasoning, hidden": lambda chance: thinking(chance) | {"told": "hidden"},
    "reasoning, hidden, exact continuations": lambda chance: thinking(chance) | {"told": "hidden", "prefill": True},
    "reasoning in no usage": lambda chance: thinking(chance) | {"told": "unreported", "prefill": chance.random() < 0.4},
    "reasoning in no usage, known": lambda chance: CLASSES["reasoning in no usage"](chance) | {"known": True},
    "reasoning that does not count": lambda chance: thinking(chance) | {"told": "uncounted"},
    "reasoning without usage": lambda chance: (
        thinking(chance) | chance.choice([{"told": "shown", "usage": "none"}, {"told": "hidden", "usage": "odd"}])
    ),
    "failures": lambda chance: {"fails": chance.choice(FAILS), "in_stream": chance.random() < 0.4},
    "failures while reasoning": lambda chance: thinking(chance) | {"fails": chance.choice(FAILS)},
    "tools": lambda chance: {"iterations": chance.choice([2, 3, 4])},
    "parallel calls": lambda chance: {
        "iterations": chance.choice([2, 3]),
        "arguments": tuple(json_of(chance) for _ in range(chance.choice([2, 3]))),
    },
    "broken calls": lambda chance: {
        "iterations": 2,
        "arguments": tuple(chance.choice(['{"expression": "1",}', '{"sum": 1}', '{"expression"']) for _ in range(2))[
            : chance.choice([1, 2])
        ],
        "repair": chance.choice(["call", "text", "broken", "second"]),
    },
    "long calls": lambda chance: {
        "iterations": 2,
        "arguments": (json.dumps({"expression": "1 + " * chance.choice([20, 90])}),),
        "repair": chance.choice(["call", "text", "broken", "second"]),
    },
    "no usage": lambda chance: {"usage": "none"},
    "zero or partial usage": lambda chance: {"usage": chance.choice(["zero", "odd"])},
    "usage off by the end mark": lambda chance: {"misreports": (-1, 0), "end_mark": 1},
    "usage off by the end mark, exact continuations": lambda chance: (
        {"prefill": True, "echoes": chance.random() < 0.2, "near": chance.random() < 0.3}
        | chance.choice(
            [{"end_mark": 1, "misreports": (-1, 0)}, {"misreports": (1, 0)}, {"misreports": (1, 1)}, {"end_mark": 1}]
        )
    ),
    "usage off by one or two": lambda chance: {
        "prefill": chance.random() < 0.6,
        "near": True,
        "tells_of_none": True,
        "end_mark": chance.choice([0, 1]),
        "misreports": chance.choice([(-1, 0), (1, 0), (1, 1), (-1, -1), (0, 2), (0, -2), (0, 1), (0, -1)]),
    },
    "reasoning told of in some calls": lambda chance: thinking(chance) | {"told": "some", "iterations": 2},
    "structured answers, reasoning in some usages": lambda chance: (
        structured(chance) | thinking(chance) | {"told": chance.choice(["some", "unreported", "hidden"])}
    ),
    "forks, reasoning in some usages": lambda chance: (
        thinking(chance) | {"forks": True, "told": chance.choice(["some", "unreported", "hidden", "reported"])}
    ),
    "usage and reasoning of some calls": lambda chance: (
        thinking(chance)
        | {
            "thinks": {kind: chance.choice([(0, 0), (0, 60), (20, 150), (150, 150)]) for kind in KINDS},
            "usage": chance.choice(["odd", "even", "some"]),
            "told": chance.choice(["reported", "shown", "hidden"]),
            "iterations": chance.choice([1, 1, 2, 3]),
        }
    ),
    "slow": lambda chance: {"pace": 0.03, "slow": chance.choice([(0.1, 0.1), (0.1, 1.0)]), "in time": True},
    "context window": lambda chance: {"window": chance.choice([200, 300, 500, 900])},
    "other ends": lambda chance: {"end": chance.choice(sorted(set(ENDS) - {"stop"}))},
    "pauses": lambda chance: {
        "pauses": chance.choice([(3,), (20,), (3, 40), (60, 150)]),
        "iterations": 1,
        "goes_on": "exactly",
    },
    "structured answers": structured,
    "structured answers, reasoning": lambda chance: structured(chance) | thinking(chance),
    "criteria": lambda chance: {"asks for more": True},
    "forks": lambda chance: {"forks": True, "iterations": chance.choice([1, 1, 2, 3])},
    "everything": lambda chance: {
        name: value
        for one in chance.sample([name for name in CLASSES if name != "everything"], 3)
        for name, value in CLASSES[one](chance).items()
    },
}


def json_of(chance: random.Random) -> str:
    return json.dumps({"expression": str(chance.randrange(10 ** chance.choice([1, 30])))})


def drawn(name: str, chance: random.Random, **habits: Any) -> tuple[Model, dict[str, Any]]:
    """A model of this class with these habits, and what else the class wants of its case."""
    habits = {"iterations": chance.choice([1, 1, 1, 2])} | CLASSES[name](chance) | habits
    usual = {
        "seed": chance.randrange(10**9),
        "texts": tuple(
            chance.choice(TEXTS)(chance, chance.choice([4, 12, 35, 90, 180, 350])) for _ in range(habits["iterations"])
        ),
        "goes_on": chance.choice(["exactly", "exactly", "repeats"]),
        "repeats": (0, 12),
        "prefill": chance.random() < 0.3 and "goes_on" not in habits,
        "fails": chance.choice(FAILS) if chance.random() < 0.1 else {},
        "end_mark": chance.choice([0, 0, 0, 1]),
        "slow": chance.choice([(0.2, 0.2), (0.2, 0.5)]),
    }
    wanted = usual | habits
    names = Model.__dataclass_fields__
    return (
        Model(**{key: value for key, value in wanted.items() if key in names}),
        {key: value for key, value in wanted.items() if key not in names},
    )


def asked_of(chance: random.Random, wants: dict[str, Any]) -> dict[str, Any]:
    found = {limit: chance.choice(values) for limit, values in LIMITS.items()}
    if wants.get("asks for more"):
        found["criteria"] = chance.choice(MORE)
    if wants.get("in time"):
        found["max_seconds"] = chance.choice([None, None, 0.5, 1.5, 4.0, 10.0])
    return found


def spent_in(recorded: Playbook) -> list[int]:
    """Reported output tokens of each answer, and of all together."""
    responses = [getattr(record.event, "response", None) for record in recorded.records]
    spent = [one.usage.output_tokens for one in responses if one is not None and one.usage is not None]
    return [*spent, sum(spent)]


def case(name: str, seed: int) -> Case:
    chance = random.Random(f"{name} {seed}")
    model, wants = drawn(name, chance)
    had, other = asked_of(chance, wants), asked_of(chance, wants)
    names = sorted(had)
    changed = ["max_tokens"] if chance.random() < 0.5 else chance.sample(names, chance.choice([1, 2, 3, len(names)]))
    if wants.get("asks for more") and chance.random() < 0.5:
        changed.append("criteria")
    asked = {limit: other[limit] if limit in changed else value for limit, value in had.items()}
    extra = {"prefill": True} if model.prefill else {}
    extra |= {"prefill_echo": True} if model.echoes and chance.random() < 0.7 else {}
    tools = () if model.envelopes else (CALCULATOR,)
    schema = {"envelope_schema": SCHEMA} if model.envelopes else {}
    book = {
        "provider": "openai",
        "model": "m",
        "tools": tools,
        "extra": extra,
        "context_window": model.window,
        **schema,
    }
    recorded = run(begun(Playbook(**book, **had)), model)
    if wants.get("near"):
        asked["max_tokens"] = max(1, chance.choice(spent_in(recorded)) + chance.randint(-2, 2))
    wanted = Playbook(**book, **asked)
    policy = replace(wanted.policy, max_tokens=asked["max_tokens"])
    if wants.get("forks"):
        return forked(chance, model, recorded, policy)
    experience = experience_with(model) if wants.get("known") else Experience()
    return Case(recorded.recording, policy, run(begun(wanted), model), model, experience)
