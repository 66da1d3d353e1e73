"""Hosts made of network namespaces: each has an address and a loopback of its own, and one bridge joins them."""

import contextlib
import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

NETWORK, HERE = "10.77.0.0/24", "10.77.0.1"
_BRIDGE = "whystop0"


@dataclass(frozen=True, slots=True)
class Host:
    """One host: programs run on it behind `prefix`."""

    name: str
    address: str

    @property
    def prefix(self) -> list[str]:
        return ["ip", "netns", "exec", self.name]

    def unplug(self) -> None:
        """Nothing reaches it, and it reaches nothing; programs are not told."""
        _ip("link", "set", _cable(self.name), "down")

    def plug_in(self) -> None:
        _ip("link", "set", _cable(self.name), "up")


@contextlib.contextmanager
def hosts(*names: str) -> Iterator[list[Host]]:
    """These hosts, and this machine at `HERE`. Skips the test where namespaces may not be made."""
    if os.geteuid() != 0 or shutil.which("ip") is None:
        pytest.skip("Hosts are network namespaces, which take root and the program `ip`.")
    made = [Host(name, f"10.77.0.{number}") for number, name in enumerate(names, start=2)]
    with contextlib.ExitStack() as undo:
        try:
            _bridge(undo)
        except subprocess.CalledProcessError as error:
            pytest.skip(f"Hosts are network namespaces, which this machine refuses: {error.stderr.decode().strip()}")
        for host in made:
            _join(host, undo)
        yield made


def _bridge(undo: contextlib.ExitStack) -> None:
    _ip("link", "add", _BRIDGE, "type", "bridge")
    undo.callback(_ip, "link", "delete", _BRIDGE)
    _ip("address", "add", f"{HERE}/24", "dev", _BRIDGE)
    _ip("link", "set", _BRIDGE, "up")


def _join(host: Host, undo: contextlib.ExitStack) -> None:
    cable = _cable(host.name)
    _ip("netns", "add", host.name)
    undo.callback(_ip, "netns", "delete", host.name)
    _ip("link", "add", cable, "type", "veth", "peer", "name", "eth0", "netns", host.name)
    _ip("link", "set", cable, "master", _BRIDGE, "up")
    _ip("-n", host.name, "address", "add", f"{host.address}/24", "dev", "eth0")
    for link in ("lo", "eth0"):
        _ip("-n", host.name, "link", "set", link, "up")


def _cable(name: str) -> str:
    return f"to-{name}"


def _ip(*given: str) -> None:
    subprocess.run(["ip", *given], check=True, capture_output=True)
