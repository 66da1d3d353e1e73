"""Turns with real records, by COPY: histories the machine itself has made, each stored many times under new ids."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import connection

from agentcore import VERSION, serial
from agentcore.events import Event, ModelResponded, Setup, Started
from agentcore.machine.advance import advance
from agentcore.messages import Message, Role
from agentcore.policy import Policy
from agentcore.replay import Record, Recording
from agentcore.snapshot import Snapshot
from dashboard.agents.models import Project
from dashboard.bench import generated_histories
from dashboard.bench.bulk_load import id_at
from dashboard.bench.turn_mix import MODELS, NAMES, Mix
from dashboard.platform.fields import ExactJSONField, storable_json
from dashboard.turns.models import Turn
from dashboard.turns.projection import project as columns_of

DISTINCT = 1_000  #: histories
BATCH = 5_000  #: turns of one COPY
NAMED = "00000000-0000-7000-8000-000000000000"  #: stands for a turn's id in a history
RECORD_COLUMNS = ("turn_id", "seq", "at", "event", "transitions", "command", "observed", "core_version")
#: What the database itself keeps.
KEPT = ("search", "tokens", "cohort")


@dataclass(frozen=True, slots=True)
class Made:
    """One history: the turn's columns, and its records' four JSON texts with the seconds they came at."""

    columns: dict[str, Any]
    records: tuple[tuple[float, tuple[str, ...]], ...]


def recording_made(mix: Mix) -> Recording:
    """A turn as `bench load` makes them, in memory: cut no, one, two or four times, with three continuations."""
    policy = Policy(max_tokens=generated_histories.MAX_TOKENS)
    provider, model = mix.chance.choice(MODELS)
    setup = Setup(NAMED, provider, model, generated_histories.MAX_TOKENS)
    snapshot, records = Snapshot(), []
    for seq, event in enumerate(_events(mix, setup), start=1):
        step = advance(snapshot, event, policy)
        records.append(Record.of(seq, event, step))
        snapshot = step.snapshot
        if snapshot.end is not None:
            break
    return Recording(policy, Snapshot(), tuple(records), final=snapshot)


def _events(mix: Mix, setup: Setup) -> Iterator[Event]:
    yield Started(0.0, setup, (Message(Role.USER, mix.text(6, 24)),))
    for n, answer in enumerate(generated_histories.answers(mix, mix.chance.choice(generated_histories.CUTS)), start=1):
        named = replace(answer, provider=setup.provider, model=setup.model)
        yield ModelResponded(n * generated_histories.CALL_SECONDS, named)


def copy_turns(*, project: Project, turns: int, days: float = 30) -> Iterator[int]:
    """Stores that many turns, the last one now; yields how many there are after each batch."""
    mix = Mix(seed=4)
    made = [_made(recording_made(mix), mix) for _ in range(min(DISTINCT, turns))]
    start, span = datetime.now(UTC) - timedelta(days=days), timedelta(days=days)
    for first in range(0, turns, BATCH):
        numbers = range(first, min(first + BATCH, turns))
        ids = {n: id_at(start + span * ((n + 1) / turns), mix.chance) for n in numbers}
        _copy(project, made, ids, start, span / turns)
        yield numbers.stop


def _made(recording: Recording, mix: Mix) -> Made:
    final, now = recording.final, datetime.now(UTC)
    assert final is not None, "a made recording has an end"
    columns = columns_of(final, seq=len(recording.records), started_at=now, at=now)
    policy, agent = serial.to_json(recording.policy), mix.chance.choice(NAMES)
    columns |= {"agent_name": agent, "provider": final.asked.provider, "policy": policy, "input_text": mix.text(6, 24)}
    records = tuple((record.event.at, _texts(record)) for record in recording.records)
    return Made(columns, records)


def _texts(record: Record) -> tuple[str, ...]:
    parts = (serial.event_to_json(record.event), list(record.transitions), record.command, list(record.observed))
    return tuple(storable_json(part) for part in parts)


def _copy(project: Project, made: list[Made], ids: dict[int, UUID], start: datetime, step: timedelta) -> None:
    fields = [field for field in Turn._meta.concrete_fields if field.name not in KEPT]
    names = ", ".join(str(field.column) for field in fields)
    with connection.cursor() as cursor, cursor.copy(f"COPY turns_turn ({names}) FROM STDIN") as copy:
        for n, turn_id in ids.items():
            turn = Turn(id=turn_id, project=project, created_at=start + step * n, **made[n % len(made)].columns)
            copy.write_row([_written(field, getattr(turn, field.attname)) for field in fields])
    names = ", ".join(RECORD_COLUMNS)
    with connection.cursor() as cursor, cursor.copy(f"COPY turns_record ({names}) FROM STDIN") as copy:
        for n, turn_id in ids.items():
            for seq, (seconds, texts) in enumerate(made[n % len(made)].records, start=1):
                at = start + step * n + timedelta(seconds=seconds)
                named = (text.replace(NAMED, str(turn_id)) for text in texts)
                copy.write_row([turn_id, seq, at, *named, VERSION])


def _written(field: Any, value: Any) -> Any:
    return json.dumps(value) if isinstance(field, ExactJSONField) and value is not None else value
