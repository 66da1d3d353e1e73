"""The whole web application behind a real port, in a thread, on the test's own database."""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from dashboard.platform.trusted_proxies import Proxies
from dashboard.runtime.request_guard.connection_census import ConnectionCensus
from dashboard.runtime.request_guard.resource_limits import ResourceLimits
from tests.dashboard.prompt_server import PromptServer

TOKEN = "a-token-for-programs-that-watch"


@contextmanager
def website(proxies: Proxies | None = None, bounds: ResourceLimits | None = None) -> Iterator[str]:
    """Its address while it serves; with these proxies, as it is served where the public address is https."""
    from dashboard.runtime import asgi_application as asgi
    from dashboard.runtime.request_guard.client_identity import ClientIdentity
    from dashboard.runtime.server import config_of

    application, census = asgi.application, None if bounds is None else ConnectionCensus(bounds)
    if proxies is not None:
        application = ClientIdentity(asgi.guarded, proxies, https=True)
        census = ConnectionCensus(ResourceLimits(proxies=proxies))

    with socket.create_server(("127.0.0.1", 0), backlog=512) as listener:
        server = PromptServer(config_of(application, census))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        until(lambda: server.started)
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join(20)


def until(it_is_so: Callable[[], bool], seconds: float = 90) -> None:
    """Wait for what another thread or program does."""
    deadline = time.monotonic() + seconds
    while not it_is_so():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.01)
