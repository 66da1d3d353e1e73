"""Stored data of several projects to be spread: turns of every writer, of projects that differ in size."""

import json
from collections.abc import Iterator
from datetime import timedelta

from django.utils import timezone

from dashboard.accounts.models import User
from dashboard.agents.current_project import working_in
from dashboard.agents.models import Agent, Connection, Project
from dashboard.bench import generated_histories
from dashboard.bench.bulk_load import id_at
from dashboard.bench.shards.catalogue import read_catalogue
from dashboard.bench.shards.sample_rows import sample
from dashboard.bench.turn_mix import Mix
from dashboard.exports.telemetry.models import Destination
from dashboard.exports.webhooks.models import Webhook
from dashboard.ingest.logs.server_import import log_found, log_told
from dashboard.platform.ids import new_id
from dashboard.timeline.rollups import fold_all
from dashboard.turns.models import Turn
from dashboard.turns.seals.services import chain_some

LOGGED = 10  #: one turn in so many comes from a log, which is stored as the gateway's calls are


def fill(*, projects: int, turns: int) -> list[Project]:
    """So many projects with about so many turns in all: the second has half of the first, the third a third of it. Each
    has a row in every table of its own."""
    weight, catalogue = sum(1 / n for n in range(1, projects + 1)), read_catalogue()
    made = []
    for n in range(1, projects + 1):
        project = Project.objects.create(name=f"shard-{n}")
        with working_in(project):
            _configure(project)
            _record(project, Mix(n), max(LOGGED, round(turns / weight / n)))
        made.append(project)
    fold_all()
    while chain_some():  # a seal would be noted in the data folder, which is not the scratch database's
        pass
    User.objects.get_or_create(username="shards")
    for project in made:
        waiting = Turn(id=id_at(timezone.now() - timedelta(days=30), Mix(len(made)).chance), project=project)
        waiting.save(force_insert=True)
        sample(catalogue, project.pk, waiting.id)
    return made


def _configure(project: Project) -> None:
    connection = Connection.objects.create(
        project=project, name="made", provider="openai", base_url="http://127.0.0.1:9/v1"
    )
    Agent.objects.create(project=project, name="made", connection=connection, model="made", max_tokens=60)
    Destination.objects.create(project=project, name="made", endpoint="http://127.0.0.1:9")
    Webhook.objects.create(
        project=project, name="made", url="http://127.0.0.1:9", sealed_secret=b"", events=["turn.ended"]
    )


def _record(project: Project, mix: Mix, turns: int) -> None:
    now, logged = timezone.now(), turns // LOGGED
    for n in range(turns - logged):
        at = now - timedelta(minutes=turns - n)
        generated_histories.make(project=project, mix=mix, turn=Turn(id=new_id()), at=at)
    import_calls(mix, logged)


def import_calls(mix: Mix, count: int) -> None:
    """Import a log of so many calls into the current project. Each goes on from the one before, as an agent's do."""
    log_told(log_found(b"".join(_lines(mix, count)), is_sure=True) or (), "made.jsonl", by=None, dry=False)


def _lines(mix: Mix, count: int) -> Iterator[bytes]:
    messages: list[dict[str, str]] = []
    for n in range(count):
        messages += [{"role": "user", "content": mix.text(6, 24)}]
        answer = {"role": "assistant", "content": mix.text(30, 60)}
        request = {"model": "made", "max_tokens": 60, "messages": messages}
        choice = {"index": 0, "message": answer, "finish_reason": "stop"}
        usage = {"prompt_tokens": 40, "completion_tokens": 50, "total_tokens": 90}
        response = {"id": f"chatcmpl-{n}", "object": "chat.completion", "model": "made", "choices": [choice]}
        yield json.dumps({"request": request, "response": {**response, "usage": usage}}).encode() + b"\n"
        messages = [*messages, answer]
