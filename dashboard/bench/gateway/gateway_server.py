"""`python -m dashboard.bench.gateway.gateway_server [N]`: the gateway as `up` serves it, in one process or in so many,
on the
database of DATABASE_URL."""

import os
import sys
from contextlib import suppress
from functools import partial
from pathlib import Path

import uvicorn

from dashboard.bench.gateway.bench_process import run, say_port
from dashboard.platform.egress.rules import BY_DEFAULT
from dashboard.platform.garbage_collection import garbage_kept
from dashboard.runtime.ports import listen, port_of
from dashboard.runtime.request_guard.resource_limits import ResourceLimits
from dashboard.runtime.server import config_of

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dashboard.settings")


async def serve() -> None:
    from dashboard.asgi import application

    with listen("127.0.0.1", 0, variable="") as opened:
        garbage_kept()
        say_port(port_of(opened))
        await uvicorn.Server(config_of(application)).serve([opened])


def serve_with(processes: int) -> None:
    import django

    django.setup()
    from dashboard.runtime.processes.supervisor import Plan, supervise

    with listen("127.0.0.1", 0, variable="") as opened:
        announce = partial(say_port, port_of(opened), _busy)
        supervise(
            Plan(opened, processes, False, None, ResourceLimits(), None, {"WHYSTOP_EGRESS": BY_DEFAULT}, announce)
        )


def _busy() -> float:
    """Of the supervisor and its processes, as Linux counts it."""
    ticks, supervisor = 0, str(os.getpid())
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it has ended
            told = stat.read_text().rpartition(")")[2].split()
            if supervisor in (told[1], stat.parent.name):
                ticks += int(told[11]) + int(told[12])
    return ticks / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        serve_with(int(sys.argv[1]))
    else:
        run(serve())
