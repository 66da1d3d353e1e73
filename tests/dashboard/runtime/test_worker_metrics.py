"""A worker serves what it has counted at a port of its own."""

import socket
import urllib.request

import pytest
from prometheus_client.parser import text_string_to_metric_families

from dashboard.metrics.counters import count_telemetry
from dashboard.platform.errors import StartError
from dashboard.runtime.management.commands.worker import serve_metrics


def test_the_counters_of_the_process_are_served_in_the_format_of_prometheus():
    count_telemetry("sent", 3)
    server = serve_metrics("127.0.0.1", 0)
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{server.server_port}/metrics") as answer:
            families = {one.name: one.samples for one in text_string_to_metric_families(answer.read().decode())}
    finally:
        server.shutdown()
        server.server_close()
    assert families["whystop_telemetry_turns"]
    assert all(families.values())


@pytest.mark.parametrize("port", [None, 70_000], ids=["a port in use", "no port"])
def test_a_port_that_cannot_be_had_is_refused_in_a_sentence(port: int | None):
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(StartError, match="name another port"):
        serve_metrics("127.0.0.1", taken.getsockname()[1] if port is None else port)
