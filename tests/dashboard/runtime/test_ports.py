import socket

import pytest

from dashboard.platform.errors import StartError
from dashboard.runtime.ports import listen, listen_for_simulator, port_of
from dashboard.runtime.readiness import reachable_address


def test_a_port_can_be_taken_once():
    with listen("127.0.0.1", 0, variable="WHYSTOP_PORT") as first:
        with pytest.raises(StartError, match=r"is in use.*WHYSTOP_PORT"):
            listen("127.0.0.1", port_of(first), variable="WHYSTOP_PORT")
        socket.create_connection(("127.0.0.1", port_of(first))).close()


def test_the_simulator_takes_another_port_when_its_usual_one_is_in_use():
    with listen_for_simulator(0) as first, listen_for_simulator(0) as second:
        assert port_of(first) != port_of(second)
        assert {opened.getsockname()[0] for opened in (first, second)} == {"127.0.0.1"}


@pytest.mark.parametrize(("host", "found"), [("0.0.0.0", "127.0.0.1"), ("127.0.0.1", "127.0.0.1")])
def test_a_server_on_all_interfaces_is_reached_on_loopback(host: str, found: str):
    with listen(host, 0, variable="WHYSTOP_PORT") as opened:
        assert reachable_address(opened) == (found, port_of(opened))
