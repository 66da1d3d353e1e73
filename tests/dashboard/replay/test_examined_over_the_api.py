"""What-ifs asked over the API of turns in many dialects, each held against the real re-run: a random examination.

`recorded` and `certain` must be right always, `estimated` nine times in ten, forks included. A failure names its case.
"""

import os
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from typing import Any

import pytest
from django.test import Client

from agentcore.providers import get_provider
from dashboard.accounts.services import bootstrap_token_ensure
from dashboard.agents.models import Agent
from dashboard.agents.selectors import project_default
from dashboard.agents.services import agent_create, connection_create
from dashboard.live.services import turn_start
from dashboard.simulator.dialects import BASES
from dashboard.simulator.dialects.anthropic import ANTHROPIC
from dashboard.simulator.dialects.base import Dialect
from dashboard.simulator.dialects.bedrock import BEDROCK
from dashboard.simulator.dialects.cohere import COHERE
from dashboard.simulator.dialects.gemini import GEMINI
from dashboard.simulator.dialects.llama import LLAMA
from dashboard.simulator.dialects.ollama import OLLAMA
from dashboard.simulator.dialects.openai import OPENAI
from dashboard.simulator.dialects.openai_responses import OPENAI_RESPONSES
from dashboard.simulator.model_table import MODELS
from dashboard.turns.models import Turn
from tests.agentcore.replay.examining import may_be_wrong
from tests.dashboard.api.conftest import TOKEN, Program
from tests.dashboard.driving import drive

pytestmark = pytest.mark.django_db(transaction=True)

SPOKEN: dict[str, Dialect] = {
    "openai": OPENAI,
    "anthropic": ANTHROPIC,
    "gemini": GEMINI,
    "openai_responses": OPENAI_RESPONSES,
    "cohere": COHERE,
    "bedrock": BEDROCK,
    "ollama": OLLAMA,
    "llama": LLAMA,
}
SURE = ("recorded", "certain")
TURNS = int(os.environ.get("WHYSTOP_EXAMINE_TURNS", "40"))  #: of each dialect, nightly
OFTEN = ("openai", "anthropic", "gemini", "openai_responses")
#: Models that say something, and those whose end is another one. All end.
TELLING = [
    *("sim-essay", "sim-tools", "sim-cut-tool", "sim-malformed", "sim-json", "sim-schema", "sim-reasons", "sim-pause"),
    *("sim-prefill", "sim-prefill-echo", "sim-hint-differs", "sim-no-usage", "sim-array", "sim-flaky", "sim-hangup"),
]
OTHERS = ["sim-odd", "sim-empty", "sim-refuse", "sim-refusal", "sim-context", "sim-blocked", "sim-no-reason"]
CAPS = (5, 20, 40, 60, 88, 92, 100, 150, 250, 320, 380, 400, 600, 900)
LIMITS: dict[str, tuple[int, ...]] = {
    "max_continuations": (0, 1, 2, 3, 5, 9),
    "max_total_completion_tokens": (100, 400, 2000),
    "max_total_output_chars": (50, 400, 120_000),
    "max_tool_repair_attempts": (0, 1, 2),
    "max_steps": (1, 2, 20),
    "schema_rounds": (0, 1, 3),
}
ERRORS = ({"preset": "stop_on_any_error"}, {"preset": "retry_all", "max_retries": 3})
ENDED = ("status", "stop_reason", "terminal_reason", "error_code", "attempts", "continuations")


@dataclass(frozen=True)
class Case:
    """A model in a dialect, what its turn runs under, and what is then asked; `fork`: of a fork from some record."""

    dialect: str
    model: str
    ran: dict[str, Any]
    asked: list[dict[str, Any]]
    fork: float | None
    prefill: bool

    @classmethod
    def drawn(cls, dialect: str, seed: int, *, asked: int) -> "Case":
        chance = random.Random(f"{dialect} {seed}")
        models = OTHERS if chance.random() < 0.15 else TELLING
        model = chance.choice([name for name in models if serves(dialect, name)])
        ran = {"max_tokens": chance.choice(CAPS), **others(chance, 2), "error_policy": chance.choice(ERRORS)}
        wanted = [{"max_tokens": chance.choice(CAPS), **others(chance, chance.choice([0, 0, 1]))} for _ in range(asked)]
        return cls(dialect, model, ran, wanted, chance.random() if chance.random() < 0.4 else None, "prefill" in model)


def serves(dialect: str, model: str) -> bool:
    spoken = SPOKEN[dialect]
    return MODELS[model].is_spoken_in(spoken.name, spoken.words)


def others(chance: random.Random, most: int) -> dict[str, Any]:
    drawn = {name: chance.choice(LIMITS[name]) for name in chance.sample(sorted(LIMITS), most)}
    return {"limits": drawn} if drawn else {}


@pytest.fixture
def examine(db: None, simulator_url: str) -> Callable[[Case], Counter[tuple[str, bool | None]]]:
    """What-ifs of one case by certainty, and whether each came true; None where nothing was claimed."""
    bootstrap_token_ensure(TOKEN)
    api, made = Program(Client(headers={"Authorization": f"Bearer {TOKEN}"})), count()

    def agent(case: Case) -> Agent:
        address = simulator_url.removesuffix("/v1") + BASES[case.dialect]
        can = case.prefill and get_provider(case.dialect).can_prefill
        way = {"prefill": can, "prefill_echo": can and case.model == "sim-prefill-echo"}
        place = {"project": project_default(), "name": f"examined-{next(made)}"}
        at = connection_create(provider=case.dialect, base_url=address, **place, **way)
        schema = {"type": "object", "required": ["title"]} if case.model in ("sim-json", "sim-schema") else None
        asked = {"tools": ["calculator"], "envelope_schema": schema}
        return agent_create(connection=at, model=case.model, max_tokens=400, **place, **asked)

    def told(turn_id: Any) -> dict[str, Any]:
        return drive_and_read(api, turn_id)

    def examined(case: Case) -> Counter[tuple[str, bool | None]]:
        turn = drive(turn_start(agent=agent(case), input_text="Why do agents stop?", overrides=case.ran))
        begun: dict[str, Any] = {}
        asked = turn
        if case.fork is not None and turn.last_seq > 1:
            begun = {"from_record": 1 + int(case.fork * (turn.last_seq - 1))}
            asked = Turn.objects.get(id=told(posted(api, turn, "rerun", **begun)["id"])["id"])
        found = Counter[tuple[str, bool | None]]()
        for overrides in case.asked:
            imagined = posted(api, asked, "what_if", overrides=overrides)
            really = told(posted(api, turn, "rerun", overrides=overrides, **begun)["id"])
            found[imagined["certainty"], came_true(imagined, really, f"{case} {overrides} {begun}")] += 1
        return found

    return examined


def posted(api: Program, turn: Turn, mode: str, **asked: Any) -> dict[str, Any]:
    answer = api.post(f"/turns/{turn.id}/replay", {"mode": mode, **asked})
    assert answer.status_code in (200, 201), answer.content
    return answer.json()


def drive_and_read(api: Program, turn_id: str) -> dict[str, Any]:
    drive(Turn.objects.get(id=turn_id))
    return api.get(f"/turns/{turn_id}").json()


def came_true(imagined: dict[str, Any], really: dict[str, Any], case: str) -> bool | None:
    """Also holds sure claims and possible endings to what they say."""
    ends = [{name: one[name] for name in ENDED} for one in (imagined, really)]
    if imagined["undecidable"]:
        assert imagined["why"], case
        return None
    same = ends[0] == ends[1]
    if imagined["certainty"] in SURE:
        assert same, (case, imagined["certainty"], *ends)
        if imagined["certainty"] == "recorded" or imagined["status"] == "completed":
            assert imagined["output_text"] == really["output_text"], case
    return same


def held(found: Counter[tuple[str, bool | None]]) -> None:
    """Few estimates are wrong. And something was claimed: a tenth to a fifth of the what-ifs are sure."""
    right, wrong = found["estimated", True], found["estimated", False]
    assert wrong <= may_be_wrong(right + wrong), found
    assert sum(found[certainty, True] for certainty in SURE) >= found.total() // 20, "there is something to examine"


@pytest.mark.nightly  # by day `agentcore/replay/test_examination.py` examines what-ifs of the same kinds
def test_what_ifs_of_turns_in_four_dialects_come_true(examine):
    found = Counter[tuple[str, bool | None]]()
    for dialect in OFTEN:
        for seed in range(3):
            found += examine(Case.drawn(dialect, seed, asked=2))
    held(found)


@pytest.mark.nightly
@pytest.mark.parametrize("dialect", SPOKEN)
def test_what_ifs_of_many_turns_come_true_in_every_dialect(examine, dialect):
    found = Counter[tuple[str, bool | None]]()
    for seed in range(3, 3 + TURNS):
        found += examine(Case.drawn(dialect, seed, asked=4))
    held(found)
