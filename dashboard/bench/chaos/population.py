"""Turns of every kind, so that every waiting state is there to be caught."""

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from dashboard.agents.models import Agent
from dashboard.agents.selectors import project_default
from dashboard.agents.services import agent_create, connection_create
from dashboard.live.services import TurnConflict, turn_control, turn_start
from dashboard.simulator.texts import ESSAY, FLAKY
from dashboard.turns.models import UNFINISHED, Turn

NARROW = 5  #: calls at once of the connection that has a limit
_PATIENT = {"preset": "retry_all", "max_retries": 50}
_LONG = {"max_continuations": 99, "max_total_completion_tokens": 1_000_000, "max_tool_repair_attempts": 9}
_SCHEMA = {"type": "object", "required": ["title", "points", "complete"]}


@dataclass(frozen=True, slots=True)
class Kind:
    """One agent, what is asked of it, and what it says where that is known: the whole text, of which all is a part."""

    model: str
    max_tokens: int = 400
    says: str | None = None
    tools: tuple[str, ...] = ()
    agent: Mapping[str, Any] = field(default_factory=dict)
    breakpoints: tuple[Mapping[str, str], ...] = ()
    narrow: bool = False


KINDS: Mapping[str, Kind] = {
    "essay": Kind("sim-essay", says=ESSAY),
    "continued": Kind("sim-essay", 60, ESSAY),
    "in-line": Kind("sim-essay", 120, ESSAY, narrow=True),
    "stamp": Kind("sim-tools", tools=("stamp",)),
    "look": Kind("sim-tools", tools=("look",)),
    "repaired": Kind("sim-cut-tool", 40, tools=("calculator",)),
    "envelope": Kind("sim-schema", agent={"envelope_schema": _SCHEMA}),
    "refused-first": Kind("sim-flaky", says=FLAKY),
    "held": Kind("sim-essay", 150, ESSAY, breakpoints=({"state": "continue_pending"},)),
}


def agents_made(base_url: str) -> dict[str, Agent]:
    """An agent of each kind."""
    from dashboard.bench.chaos.process import register

    register()
    project = project_default()
    more: dict[str, Any] = {"project": project, "provider": "openai", "base_url": base_url, "max_output_tokens": 16_384}
    wide = connection_create(name="wide", **more)
    narrow = connection_create(name="narrow", max_concurrent_calls=NARROW, **more)
    return {
        name: agent_create(
            project=project,
            name=f"chaos-{name}",
            connection=narrow if kind.narrow else wide,
            model=kind.model,
            max_tokens=kind.max_tokens,
            tools=kind.tools,
            **kind.agent,
        )
        for name, kind in KINDS.items()
    }


class Population:
    """The turns of a run, kept at a number that are under way."""

    def __init__(self, agents: Mapping[str, Agent], chance: random.Random) -> None:
        self._agents = agents
        self._chance = chance
        self.kinds: dict[UUID, Kind] = {}

    def unfinished(self) -> list[Turn]:
        return list(Turn.objects.filter(id__in=self.kinds, status__in=UNFINISHED))

    def fill(self, number: int) -> None:
        """Start turns until so many are under way."""
        for _ in range(number - len(self.unfinished())):
            name = self._chance.choice(list(KINDS))
            kind = KINDS[name]
            turn = turn_start(
                agent=self._agents[name],
                input_text="Go on, whatever happens.",
                overrides={"error_policy": _PATIENT, "limits": _LONG},
                breakpoints=kind.breakpoints,
            )
            self.kinds[turn.id] = kind

    def release(self) -> None:
        """Let turns that are held go on."""
        for turn in self.unfinished():
            if turn.status == "held":
                try:
                    turn_control(turn=turn, by="chaos", action="release")
                except TurnConflict:
                    continue
