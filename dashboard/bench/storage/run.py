"""The suite: each kind of traffic in turn, and what the tables grew by."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from datetime import timedelta

import zstandard
from django.utils import timezone

from dashboard.agents.selectors import project_default
from dashboard.bench import generated_histories
from dashboard.bench.chaos.scratch import scratch
from dashboard.bench.gateway.bench_process import part
from dashboard.bench.gateway.run import environment_of, keys_for
from dashboard.bench.storage.kinds import KINDS, Content, Gateway
from dashboard.bench.storage.sizes import Table, grown, tables
from dashboard.bench.turn_mix import Mix
from dashboard.platform.ids import new_id
from dashboard.turns.models import Attempt, Turn

TURNS = 1_000
SHOWN = 14  #: tables, the largest


def lines() -> Iterator[str]:
    """A paragraph for each kind of traffic."""
    with scratch({}) as store, ExitStack() as parts:
        upstream = parts.enter_context(part("upstream", of="storage"))
        tokens = keys_for(upstream.port)
        served = parts.enter_context(part("gateway_server", environment=environment_of(store)))
        gateway = Gateway(served.port, tokens["observe"])
        for name, traffic in KINDS.items():
            before = tables()
            content = traffic(gateway)
            yield from _told(name, content, grown(before, tables()))
        before = tables()
        content = _built_in()
        yield from _told(f"{TURNS:,} turns of the built-in agent", content, grown(before, tables()))


def _built_in() -> Content:
    """Made turns, each recorded as a driver records it."""
    mix, now, project, content = Mix(1), timezone.now(), project_default(), Content(calls=TURNS)
    ids = []
    for number in range(TURNS):
        turn = Turn(id=new_id())
        generated_histories.make(project=project, mix=mix, turn=turn, at=now - timedelta(seconds=TURNS - number))
        ids.append(turn.id)
    content.add(*Turn.objects.filter(id__in=ids).values_list("input_text", flat=True))
    content.add(*Attempt.objects.filter(turn_id__in=ids).values_list("text", flat=True))
    return content


def _told(name: str, content: Content, more: Mapping[str, Table]) -> Iterator[str]:
    size, rows = sum(table.size for table in more.values()), sum(table.rows for table in more.values())
    packed = sum(len(zstandard.compress(text.encode())) for text in content.texts)
    yield f"{name}: {content.calls:,} turns, {content.size:,} bytes of content ({packed:,} if each text is compressed)"
    yield (
        f"  {size:,} bytes, {size / content.size:.1f} × the content, {size / packed:.1f} × compressed; "
        f"{size / content.calls:,.0f} bytes and {rows / content.calls:.1f} rows a turn"
    )
    for table, grew in list(more.items())[:SHOWN]:
        each = f"{grew.size / content.calls:>10,.0f} bytes {grew.rows / content.calls:>6.2f} rows a turn"
        yield f"    {table:<28}{each}"
