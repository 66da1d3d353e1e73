"""The program that replays run in: it loads everything once, and then forks a process for each request.

A forked process reads one request from its connection, as a line of JSON and the body, and writes lines of JSON: who
was let in, as soon as that is known, and the head of the answer, with the body behind it. It ends with its connection.
"""

import contextlib
import gc
import json
import logging
import os
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from dataclasses import asdict
from io import BufferedIOBase, BytesIO
from typing import Any

MOST_MEMORY = 1024 * 1024 * 1024  #: bytes, beyond what a process has when it is forked
MOST_SECONDS = 60  #: of processor time
_POLITE = 5  #: how much it gives way to the server
#: Templates that are compiled before the first fork.
_TEMPLATES = (
    "*.html", "replay/*", "comparison/*", "suggestions/*", "turns/*", "live/*", "predictions/_*", "prices/*",
    "backtests/*map.html", "backtests/cell.html",
)  # fmt: skip


def main(descriptor: int) -> None:
    """Fork a process for each connection that arrives, until the server is gone."""
    from dashboard.agents.schema_validation.judge_processes import judges

    # A terminal, or a supervisor, sends these to the whole group; the server ends this one once it has drained.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for a process that has ended
    arriving, handler = socket.socket(fileno=descriptor), _loaded()
    judges.start()  # for all requests: to load it takes longer than most replays
    while descriptors := socket.recv_fds(arriving, 1, 1)[1]:
        with socket.socket(fileno=descriptors[0]) as connection:
            if os.fork() == 0:
                arriving.close()
                _serve(handler, connection)


def _loaded() -> Any:
    """Django with everything that a replay needs, on plain connections; nothing may run in another thread yet."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dashboard.settings")
    from django.conf import settings

    settings.DATABASES["default"]["OPTIONS"].pop("pool", None)
    import django

    django.setup()
    from django.core.handlers.base import BaseHandler
    from django.db.backends.signals import connection_created

    from dashboard.runtime.warm_up import load_pages

    connection_created.connect(_look_after)
    handler = BaseHandler()
    handler.load_middleware()
    load_pages(_TEMPLATES)
    gc.collect()
    gc.freeze()
    return handler


def _look_after(connection: Any, **_: object) -> None:
    """Have PostgreSQL end a statement whose process has ended. Not on every system it can."""
    from django.db import Error

    with contextlib.suppress(Error), connection.cursor() as cursor:
        cursor.execute("SET client_connection_check_interval = '1s'")


def _serve(handler: Any, connection: socket.socket) -> None:
    """In a forked process, which ends here."""
    from dashboard.platform.process_limits import limit_process

    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.nice(_POLITE)
        limit_process(memory=MOST_MEMORY, seconds=MOST_SECONDS)
        with connection.makefile("rwb") as stream:
            _respond(handler, connection, stream)
        os._exit(0)
    except (BrokenPipeError, ConnectionResetError):  # nobody waits any more
        os._exit(1)
    except BaseException:
        logging.getLogger(__name__).exception("a process that answers a replay failed")
        os._exit(1)


def _respond(handler: Any, connection: socket.socket, stream: BufferedIOBase) -> None:
    """Read the request, and write the answer, or that there was too little memory for it."""
    scope = json.loads(stream.readline())
    body = stream.read(scope.pop("length"))
    threading.Thread(target=_end_with, args=(connection,), daemon=True).start()
    try:
        _answer(handler, scope, body, stream)
    except MemoryError:
        _say(stream, {"too_much": True})


def _end_with(connection: socket.socket) -> None:
    """Nobody waits for the answer any more: the client has gone, or the server."""
    connection.recv(1)
    os._exit(1)


def _answer(handler: Any, told: dict[str, Any], body: bytes, stream: BufferedIOBase) -> None:
    from django.core.handlers.asgi import ASGIRequest
    from django.core.signals import got_request_exception, request_started

    from dashboard.accounts.access import LET_IN
    from dashboard.api.idempotent_writes import CLAIMED
    from dashboard.api.rate_limits import QUOTA, Quota
    from dashboard.platform.statement_timeout import working_as

    working_as("page")
    got_request_exception.connect(_raise_without_memory)
    quota = told.pop("quota")
    tells: dict[str, Any] = {
        QUOTA: Quota(**quota) if quota else None,
        LET_IN: lambda who: _say(stream, {"let_in": who}),
        CLAIMED: lambda asked: _say(stream, {"claimed": asdict(asked)}),
    }
    scope = {**told, **_scope_of(told), **tells}
    request_started.send(sender=_answer, scope=scope)
    response = handler.get_response(ASGIRequest(scope, BytesIO(body)))
    content = b"".join(response)
    _say(stream, {"status": response.status_code, "headers": [*_headers(response)], "length": len(content)})
    stream.write(content)
    stream.flush()
    response.close()


def _raise_without_memory(**_: object) -> None:
    """Django would answer with an internal error."""
    error = sys.exc_info()[1]
    if isinstance(error, MemoryError):
        raise error


def _scope_of(told: dict[str, Any]) -> dict[str, Any]:
    """What JSON has no type for."""
    return {
        "query_string": told["query_string"].encode("latin-1"),
        "headers": [(name.encode("latin-1"), value.encode("latin-1")) for name, value in told["headers"]],
    }


def _headers(response: Any) -> Iterator[tuple[str, str]]:
    yield from response.items()
    for cookie in response.cookies.values():
        yield "Set-Cookie", cookie.output(header="").strip()


def _say(stream: BufferedIOBase, said: dict[str, Any]) -> None:
    stream.write(json.dumps(said).encode() + b"\n")
    stream.flush()
