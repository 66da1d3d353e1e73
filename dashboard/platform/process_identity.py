"""Which of several processes this one is; nothing where it runs alone. Its supervisor says so by the environment."""

import json
import os
from argparse import ArgumentParser, ArgumentTypeError
from dataclasses import asdict, dataclass
from pathlib import Path

from agentcore.quoting import quoted

VARIABLE = "WHYSTOP_PROCESS"  #: set by the supervisor alone
MOST = 16  #: web processes
WORKER = "worker"


@dataclass(frozen=True, slots=True)
class ProcessIdentity:
    """Descriptors are those of sockets that the supervisor opened."""

    name: str  #: a number from 1, or `worker`
    processes: int  #: that serve, all together
    folder: str  #: of files that all of them share
    link: int  #: to the supervisor
    arriving: int | None = None  #: where connections come from
    simulator: int | None = None  #: where the simulator listens

    def told(self) -> str:
        """As the environment has it."""
        return json.dumps(asdict(self))

    @property
    def shared(self) -> Path:
        return Path(self.folder)


def read_place() -> ProcessIdentity | None:
    """What the environment says, once: programs that this process starts have no place of their own."""
    told = os.environ.pop(VARIABLE, "")
    if not told:
        return None
    place = ProcessIdentity(**json.loads(told))
    for descriptor in (place.link, place.arriving, place.simulator):
        if descriptor is not None:
            os.set_inheritable(descriptor, False)
    return place


PLACE = read_place()


def add_processes(parser: ArgumentParser) -> None:
    """The option `--processes` of a command."""
    text = f"number of processes that serve the port, from 1 to {MOST}; best one for each core (default: 1)"
    parser.add_argument("--processes", type=_number, default=1, metavar="N", help=text)


def _number(word: str) -> int:
    if not (word.isascii() and word.isdigit() and 1 <= int(word) <= MOST):
        raise ArgumentTypeError(f"must be a whole number from 1 to {MOST}, not {quoted(word)}")
    return int(word)
