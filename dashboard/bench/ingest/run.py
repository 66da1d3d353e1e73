"""The suite: spans a second from the first byte that an exporter sends until their turns are in the API, beside bare
COPY of the rows that came of them. The answer to an export comes after its turns are committed."""

import http.client
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

from django.db import connection, transaction

from dashboard.accounts.models import User
from dashboard.accounts.services import OPERATOR, one_time_code_create
from dashboard.agents.selectors import project_default
from dashboard.bench.chaos.scratch import scratch
from dashboard.bench.gateway.bench_process import Part, part
from dashboard.bench.gateway.run import environment_of
from dashboard.bench.ingest.spans import exports
from dashboard.bench.measurements import BenchError
from dashboard.gateway.services import key_create
from dashboard.timeline.erase_flag import erasing
from dashboard.turns.models import Turn

SPANS = 20_000  #: of each kind
KINDS = {"call": "single calls, two spans a turn", "agent": "agents, five spans a turn of two calls"}
TABLES = (
    "ingest_piece", "ingest_ingested", "turns_turn", "turns_record", "turns_attempt", "turns_node",
)  # fmt: skip


def copied() -> tuple[float, int]:
    """How long it takes, in seconds, and how many bytes that is."""
    seconds, size = 0.0, 0
    with connection.cursor() as cursor:
        for table in TABLES:
            cursor.execute(f"CREATE TABLE bench_{table} (LIKE {table})")
            with cursor.copy(f"COPY (SELECT * FROM {table}) TO STDOUT") as out:  # noqa: S608
                rows = b"".join(bytes(block) for block in out)
            began = time.perf_counter()
            with cursor.copy(f"COPY bench_{table} FROM STDIN") as copy:
                copy.write(rows)
            seconds += time.perf_counter() - began
            size += len(rows)
            cursor.execute(f"DROP TABLE bench_{table}")
    return seconds, size


def lines(processes: int = 1, spans: int = SPANS) -> Iterator[str]:
    """A paragraph for each kind of traces, served by one process for one exporter; then by so many, for two exporters
    each, if that is more than one."""
    with scratch({}) as store, ExitStack() as parts:
        one_time_code_create()
        by = User.objects.get(username=OPERATOR)
        _, secret = key_create(project=project_default(), by=by, name="bench", scope=["otlp"])
        served = parts.enter_context(part("gateway_server", environment=environment_of(store)))
        for kind, what in KINDS.items():
            yield from _measured(kind, what, spans, served, secret, exporters=1)
        if processes > 1:
            several = parts.enter_context(part("gateway_server", str(processes), environment=environment_of(store)))
            for kind, what in KINDS.items():
                about = f"{what}; {processes} processes, {2 * processes} exporters"
                yield from _measured(kind, about, spans, several, secret, exporters=2 * processes)


def _measured(kind: str, what: str, spans: int, served: Part, secret: str, exporters: int) -> Iterator[str]:
    bodies = list(exports(kind, spans, seed=1))
    warm, rest = bodies[:exporters], bodies[exporters:]
    _, warmed = _send_at_once(served.port, secret, warm, exporters)
    memory, busy = _resident(served), served.busy()
    seconds, sent = _send_at_once(served.port, secret, rest, exporters)
    busy = served.busy() - busy
    turns, grew = Turn.objects.count(), _resident(served) - memory
    by_copy, size = copied()
    share = sent / (sent + warmed)  # the rows of the first exports are among those that are copied
    copying = sent / (by_copy * share)
    yield f"{what}: {sent:,} spans in {len(rest)} exports; {turns:,} turns, {size:,} bytes of rows"
    each = f"{sent / busy:,.0f} per second of the server's processor"
    yield f"  {sent / seconds:>9,.0f} spans/s until they are in the API; {each}"
    yield f"  {copying:>9,.0f} spans/s by bare COPY of the same rows: {copying * seconds / sent:.1f} × as fast"
    yield f"  {grew / 2**20:>9,.1f} MiB more memory at the end than after the first export"
    _emptied()


def _send_at_once(port: int, secret: str, bodies: Sequence[tuple[bytes, int]], exporters: int) -> tuple[float, int]:
    """By so many exporters; seconds, and how many spans."""
    began = time.perf_counter()
    with ThreadPoolExecutor(exporters) as pool:
        sent = sum(pool.map(lambda n: _send(port, secret, bodies[n::exporters]), range(exporters)))
    return time.perf_counter() - began, sent


def _send(port: int, secret: str, bodies: Sequence[tuple[bytes, int]]) -> int:
    """One after another, as one exporter does; how many spans."""
    client, sent = http.client.HTTPConnection("127.0.0.1", port, timeout=600), 0
    headers = {
        "authorization": f"Bearer {secret}",
        "content-type": "application/x-protobuf",
        "content-encoding": "gzip",
    }
    for body, spans in bodies:
        client.request("POST", "/v1/traces", body, headers)
        answer = client.getresponse()
        told = answer.read()
        if answer.status != 200 or told:
            raise BenchError(f"An export was answered {answer.status}: {told[:200]!r}")
        sent += spans
    client.close()
    return sent


def _resident(served: Part) -> int:
    """Bytes of memory that the serving process and those that it started hold; 0 where the system does not tell."""
    of = str(served.process.pid)
    told = [_status(folder) for folder in Path("/proc").glob("[0-9]*")]
    sizes = [one.get("VmRSS", "0 kB") for one in told if of in (one.get("Pid"), one.get("PPid"))]
    return sum(int(size.split()[0]) * 1024 for size in sizes)


def _status(folder: Path) -> dict[str, str]:
    """What Linux tells of a process; nothing of one that has ended."""
    try:
        told = (folder / "status").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return {}
    return {name: value.strip() for name, _, value in (line.partition(":") for line in told.splitlines())}


def _emptied() -> None:
    with transaction.atomic(), connection.cursor() as cursor, erasing():
        for table in reversed(TABLES):
            cursor.execute(f"DELETE FROM {table}")  # noqa: S608 - made of constants
