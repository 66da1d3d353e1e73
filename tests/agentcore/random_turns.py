"""Turns of random events under random limits, by a seed: more ways to end than anybody writes down."""

import random
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from agentcore.error_policy import ErrorPolicy
from agentcore.errors import CoreError, ErrorType
from agentcore.snapshot import Snapshot
from tests.agentcore import playbook as made

POLICIES = (ErrorPolicy.retry_all(), ErrorPolicy(on_model_error="ignore"), ErrorPolicy())


def random_ends(seeds: int) -> Iterator[Snapshot]:
    """The last snapshots of those turns that end."""
    for seed in range(seeds):
        chance = random.Random(seed)
        book = made.Playbook(**_rules(chance)) >> made.started()
        for _ in range(chance.randint(1, 6)):
            if book.snapshot.end is None:
                with suppress(CoreError):  # an event that this state does not take
                    book = book >> _event(chance)
        if book.snapshot.end is not None:
            yield book.snapshot


def _rules(chance: random.Random) -> dict[str, Any]:
    choices: dict[str, tuple[Any, ...]] = {
        "max_total_tokens": (None, None, 1000, 20000),
        "max_total_completion_tokens": (None, 1000, 20000),
        "max_total_output_chars": (120_000, 1000),
        "max_continuations": (0, 1, 3),
        "max_steps": (1, 2, 20),
        "max_seconds": (None, None, 1.0),
        "error_policy": POLICIES,
        "envelope_schema": (None, None, {"required": ["a"]}),
        "schema_rounds": (0, 1, 2),
        "max_tokens": (60, 2000),
    }
    rules = {name: chance.choice(values) for name, values in choices.items()}
    if chance.random() < 0.25:
        rules |= {"watched": True, "max_continuations": 0, "max_tool_repair_attempts": 0, "schema_rounds": 0}
    return rules


def _event(chance: random.Random) -> Any:
    tokens = chance.choice([60, 900, 2000])
    events = (
        lambda: made.truncated("a" * chance.choice([1, 900, 1300]), tokens=tokens),
        lambda: made.truncated("", tokens=tokens),
        lambda: made.ended("b" * chance.choice([1, 1300]), tokens=tokens),
        lambda: made.ended('{"a": 1}', tokens=tokens),
        lambda: made.ended(""),
        lambda: made.paused("p"),
        lambda: made.blocked("no"),
        lambda: made.cancelled("abc"),
        lambda: made.called(made.call(), tokens=tokens),
        lambda: made.tools_returned(),
        lambda: made.tools_returned(made.tool_failed()),
        made.cut_call,
        made.malformed_call,
        made.error,
        lambda: made.error(ErrorType.RATE_LIMIT, retry_after=chance.choice([None, 1, 100_000.0])),
        lambda: made.error(ErrorType.TIMEOUT),
        lambda: made.error(retryable=False),
        lambda: made.unknown(chance.choice([None, "SOLAR_FLARE"]), "a"),
        made.woke_up,
        made.lost,
    )
    return chance.choice(events)()
