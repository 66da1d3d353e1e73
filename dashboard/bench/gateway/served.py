"""`python -m dashboard.bench.gateway.served`: the gateway as `up` serves it, on the database of DATABASE_URL."""

import os

import uvicorn

from dashboard.bench.gateway.part import run, say_port
from dashboard.runtime.ports import listen, port_of
from dashboard.runtime.serving import config_of, garbage_kept

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dashboard.settings")


async def serve() -> None:
    from dashboard.asgi import application

    with listen("127.0.0.1", 0, variable="") as opened:
        garbage_kept()
        say_port(port_of(opened))
        await uvicorn.Server(config_of(application)).serve([opened])


if __name__ == "__main__":
    run(serve())
