"""What a worker has counted, for Prometheus: a worker has no pages, so it serves this at a port of its own."""

from wsgiref.simple_server import WSGIServer

from prometheus_client import start_http_server

from dashboard.metrics.counters import REGISTRY
from dashboard.metrics.shared_counters import sampled
from dashboard.platform.errors import StartError


def serve_metrics(host: str, port: int) -> WSGIServer:
    """Serve the counters of this process at this port, in a thread of its own, until the process ends. Raises
    `StartError` where that cannot be."""
    try:
        server, _ = start_http_server(port, host, sampled(REGISTRY))
    except (OSError, OverflowError) as error:
        raise StartError(f"The metrics cannot be served at {host}:{port} ({error}): name another port.") from error
    return server
