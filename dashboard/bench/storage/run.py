"""The suite: each kind of traffic in turn, and what the tables grew by."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import timedelta

import zstandard
from django.db import connection
from django.db.backends.utils import CursorWrapper
from django.utils import timezone

from dashboard.agents.selectors import project_default
from dashboard.bench import generated_histories
from dashboard.bench.chaos.scratch import scratch
from dashboard.bench.gateway.bench_process import part
from dashboard.bench.gateway.run import environment_of, keys_for
from dashboard.bench.storage.kinds import KINDS, Content, Gateway
from dashboard.bench.turn_mix import Mix
from dashboard.platform.ids import new_id
from dashboard.timeline.rollups import fold_all
from dashboard.turns.models import Attempt, Turn

TURNS = 1_000
SHOWN = 14  #: tables, the largest
_TABLES = """
    SELECT coalesce(parent.relname, child.relname), sum(pg_total_relation_size(child.oid))
    FROM pg_class child
    LEFT JOIN pg_inherits ON inhrelid = child.oid
    LEFT JOIN pg_class parent ON parent.oid = inhparent
    WHERE child.relkind = 'r' AND child.relnamespace = 'public'::regnamespace
    GROUP BY 1
"""


@dataclass(frozen=True, slots=True)
class Table:
    """Bytes with indexes and what is stored out of line; rows."""

    size: int
    rows: int

    def __sub__(self, before: "Table") -> "Table":
        return Table(self.size - before.size, self.rows - before.rows)


NOTHING = Table(0, 0)


def tables() -> Mapping[str, Table]:
    """All tables, partitions counted with their parents. Before, changes are counted, as the worker does every few
    seconds, and dead rows are removed, as the database would."""
    fold_all()
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE")
        cursor.execute(_TABLES)
        sizes = {str(name): int(size) for name, size in cursor.fetchall()}
        return {name: Table(size, _rows(cursor, name)) for name, size in sizes.items()}


def _rows(cursor: CursorWrapper, name: str) -> int:
    cursor.execute(f'SELECT count(*) FROM "{name}"')  # noqa: S608 - a name of the catalogue
    (count,) = cursor.fetchone()
    return int(count)


def grown(before: Mapping[str, Table], after: Mapping[str, Table]) -> Mapping[str, Table]:
    """What each table has more than before, the largest first."""
    more = {name: table - before.get(name, NOTHING) for name, table in after.items()}
    return dict(sorted(((n, t) for n, t in more.items() if t != NOTHING), key=lambda item: -item[1].size))


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
