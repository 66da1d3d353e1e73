"""Taking the ports, before anything slow or lasting is begun."""

import errno
import socket

from dashboard.platform.errors import StartError

#: Where the simulator is when nobody says otherwise and it is free, so that its address outlives restarts.
_USUAL_SIMULATOR_PORT = 8322
_LOOPBACK = "127.0.0.1"
_BACKLOG = 1024

_SENTENCES = {
    errno.EADDRINUSE: "Port {port} on {host} is in use: stop the program that has it, or set {variable} to another.",
    errno.EACCES: "This user may not open port {port}: set {variable} to a port from 1024 on.",
    errno.EADDRNOTAVAIL: (
        "{host} is not an address of this machine: set WHYSTOP_HOST to one that is, such as 127.0.0.1."
    ),
}


def listen(host: str, port: int, *, variable: str) -> socket.socket:
    """A socket that listens already, so that nobody else can take the port; callers wait until they are served.

    `variable`: the environment variable that chose the port, named in the StartError.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except (socket.gaierror, UnicodeError):
        raise StartError(f"There is no host “{host}”: set WHYSTOP_HOST to an address of this machine.") from None
    opened = socket.socket(family, kind, protocol)
    try:
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        opened.bind(address)
        opened.listen(_BACKLOG)
    except OSError as error:
        opened.close()
        sentence = _SENTENCES.get(error.errno or 0, "Port {port} on {host} cannot be opened: {reason}.")
        reason = error.strerror or "no reason was given"
        raise StartError(sentence.format(host=host, port=port, variable=variable, reason=reason)) from error
    return opened


def listen_for_simulator(port: int) -> socket.socket:
    """The simulator's socket, on loopback only; 0 takes the usual port or, if that is in use, any."""
    if port:
        return listen(_LOOPBACK, port, variable="WHYSTOP_SIMULATOR_PORT")
    try:
        return listen(_LOOPBACK, _USUAL_SIMULATOR_PORT, variable="WHYSTOP_SIMULATOR_PORT")
    except StartError:
        return listen(_LOOPBACK, 0, variable="WHYSTOP_SIMULATOR_PORT")


def simulator_at(port: int) -> str:
    """The address that a connection has of it."""
    return f"http://{_LOOPBACK}:{port}/v1"


def port_of(opened: socket.socket) -> int:
    return int(opened.getsockname()[1])
