"""Every value of real turn files is changed, one at a time, with the checksum computed anew: each change is refused,
doubted or told, or the file alone can tell it (`dashboard.ingest.turn_files.unproven_fields`)."""

import base64
import json
import re
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from fnmatch import fnmatchcase
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.db import transaction

from dashboard.accounts.models import User
from dashboard.accounts.services import OPERATOR, api_token_create, one_time_code_create
from dashboard.agents.models import Agent
from dashboard.ingest.turn_files.unproven_fields import TOLD
from dashboard.replay.rerun_service import turn_rerun
from dashboard.turns.models import Turn
from tests.dashboard.driving import AgentOf, Play, drive
from tests.dashboard.gateway.served.conftest import turn_of
from tests.dashboard.gateway.served.gate import Gate, gateway_served
from tests.dashboard.ingest import exports
from tests.dashboard.ingest.turn_files.test_services import brought, changed, erase, exported, signed

pytestmark = pytest.mark.django_db(transaction=True)

Json = dict[str, Any]
Path = tuple[Any, ...]
SCHEMA = {"type": "object", "required": ["title"], "properties": {"title": {"type": "string"}}}
#: How a turn of each kind comes about.
KINDS: Mapping[str, Json] = {
    "whole": {"model": "sim-essay", "max_tokens": 4000},
    "continued": {"model": "sim-essay", "max_tokens": 120, "system_prompt": "Be brief."},
    "tool": {"model": "sim-tools", "tools": ["calculator"]},
    "envelope": {"model": "sim-schema", "envelope_schema": SCHEMA},
    "failed": {"model": "sim-500"},
}
TRACE = "vercel-ai-sdk-agent"
EVERY = 24  #: of the values, but at night


@pytest.fixture
def files(play: Play, agent_of: AgentOf) -> dict[str, Json]:
    """A file of each kind, whose turns are not here any more."""
    turns = {kind: play(name=kind, **made) for kind, made in KINDS.items()}
    turns["fork"] = drive(turn_rerun(turn=turns["continued"], overrides={"max_tokens": 200}, from_record=2))
    turns["gateway"] = through_the_gateway(agent_of(name="gateway", model="sim-essay", max_tokens=400))
    exports.send(*exports.pieces_of([TRACE]))
    turns["ingested"] = Turn.objects.exclude(ingested=None).order_by("id")[0]
    made = {kind: signed(exported(turn)) for kind, turn in turns.items()}
    for turn in reversed(turns.values()):
        erase(turn)
    return made


def through_the_gateway(agent: Agent) -> Turn:
    """A turn of a client that asked for a stream, with words and options of its own."""
    one_time_code_create()
    token = api_token_create("client", user=User.objects.get(username=OPERATOR))[1]
    with gateway_served() as address:
        answer = Gate(address, token).ask(model=agent.name, stream=True, temperature=0.5, user="somebody")
    return turn_of(answer)


def leaves(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else None
    if parts is None or not value:
        yield path, value
        return
    for name, part in parts:
        yield from leaves(part, (*path, name))


def pattern(path: Path) -> str:
    return ".".join("*" if isinstance(step, int) else str(step) for step in path)


def other(path: Path, value: Any) -> Any:
    """Another value that could stand there."""
    match value:
        case bool():
            return not value
        case int():
            return value + 7
        case float():
            return value + (90_000.0 if path[-1] == "at" else 0.25)
        case str() if path[-1] == "raw" and path[0] == "attempts" and path[2] == "chunks":
            return base64.b64encode(base64.b64decode(value)[:-9] + b"x").decode()
        case str() if path[-1] == "request_url":
            return value.replace("//", "//x", 1)
        case str() if re.match(r"\d{4}-\d\d-\d\dT", value):
            return (datetime.fromisoformat(value) - timedelta(days=400)).isoformat()
        case str() if path[0] == "messages" or path[-1] == "request":
            return json.dumps({**json.loads(value), "content": "another"})
        case str():
            return "0" + value[1:] if re.fullmatch("[1-9a-f][0-9a-f]{63}", value) else f"{value}x"
        case None:
            return 5
    return [1] if isinstance(value, list) else {"x": 1}


def is_noticed(file: Json, missing: tuple[str, ...]) -> bool:
    """Whether the import refuses the file, doubts it, or tells of more that could not be compared."""
    with transaction.atomic():
        try:
            made = brought(file, unverified=True)
        except ValidationError:
            return True
        finally:
            transaction.set_rollback(True)
    return bool(made.doubt) or made.missing != missing


def unnoticed(file: Json, paths: list[tuple[Path, Any]]) -> set[str]:
    with transaction.atomic():
        honest = brought(file)
        transaction.set_rollback(True)
    altered = ((path, changed(file, "turn", *path, to=other(path, value))) for path, value in paths)
    return {pattern(path) for path, altering in altered if not is_noticed(altering, honest.missing)}


def is_reported(place: str) -> bool:
    return any(fnmatchcase(place, told) for told in TOLD)


def fresh(file: Json, seen: set[str]) -> list[tuple[Path, Any]]:
    """One value of each pattern that no file before had."""
    first: dict[str, tuple[Path, Any]] = {}
    for path, value in leaves(file["turn"]):
        of = file["turn"]["records"][path[1]]["event"]["type"] if path[0] == "records" else ""
        first.setdefault(f"{of}:{pattern(path)}", (path, value))
    found = [first[name] for name in first.keys() - seen]
    seen |= first.keys()
    return sorted(found, key=lambda one: str(one[0]))


def not_reported(files: dict[str, Json], *, every: int) -> tuple[set[str], set[str]]:
    """The patterns of which a change is not noticed: those that are not listed, and those that are."""
    seen = set[str]()
    survived = {place for file in files.values() for place in unnoticed(file, fresh(file, seen)[::every])}
    return {place for place in survived if not is_reported(place)}, {place for place in survived if is_reported(place)}


def test_every_change_of_a_file_is_detected_or_listed_as_the_files_own_claim(files: dict[str, Json]):
    left, _ = not_reported(files, every=EVERY)
    assert left == set()


@pytest.mark.nightly
def test_every_value_is_covered_and_no_exception_is_unused(files: dict[str, Json]):
    left, told = not_reported(files, every=1)
    assert left == set()
    assert {name for name in TOLD if not any(fnmatchcase(place, name) for place in told)} == set()
