"""What the gateway holds of an answer grows with that answer, not faster, and is given back."""

import gzip
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from dashboard.bench.chaos.fleet import OURS
from dashboard.live.transport import MAX_UNPACKED_BYTES
from dashboard.platform.environment import CHECKOUT
from tests.dashboard.gateway.served.gate import Gate
from tests.dashboard.gateway.served.raw_provider import DONE, RawProvider, body, event, head
from tests.dashboard.live.test_slots_of_processes import address_of_the_test_database
from tests.dashboard.website import until
from tests.nightly import nightly

pytestmark = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read from /proc")

LARGE = 10 * 2**20  #: bytes
TIMES = 8  #: of an answer's bytes: these, its text, and both on the way to the database; measured: 4.1 to 6.3
OPEN, ANSWER = 12, 2**20  #: streams at a time, and the bytes of text in each
TIMES_PACKED = 40  #: of what may be unpacked of an answer; all of 60 MB took 1,100 MB
MODES = ("continue", "observe")
TIMES_OPEN = 7  #: of the bytes of all that are open; measured: 1.8 to 3.6


class Served:
    """A gateway in a process of its own."""

    def __init__(self, process: "subprocess.Popen[str]", gate: Gate) -> None:
        self.gate = gate
        self._status = Path(f"/proc/{process.pid}/status")
        self._peak = Path(f"/proc/{process.pid}/clear_refs")

    def bytes_of(self, name: str) -> int:
        """`VmRSS`: what it holds now; `VmHWM`: the most it has held since `forget_peak`."""
        found = re.search(rf"{name}:\s+(\d+) kB", self._status.read_text())
        assert found is not None
        return int(found[1]) * 1024

    def forget_peak(self) -> None:
        self._peak.write_text("5")


@pytest.fixture
def served(token: str, tmp_path: Path) -> Iterator[Served]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(OURS) or name == "PGOPTIONS"}
    ours = {"DATABASE_URL": address_of_the_test_database(), "WHYSTOP_DATA_DIR": str(tmp_path), "WHYSTOP_PORT": "0"}
    environment = {**kept, **ours, "WHYSTOP_EGRESS": "loopback"}
    command = [sys.executable, "manage.py", "web"]
    process = subprocess.Popen(command, cwd=CHECKOUT, env=environment, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        found = re.search(r"http://127\.0\.0\.1:\d+", process.stdout.readline())
        assert found is not None, "it did not start"
        yield Served(process, Gate(found[0], token))
    finally:
        process.terminate()
        process.communicate(timeout=30)


def most(served: Served, raw: RawProvider, text: str, times: int = 1) -> int:
    """Bytes that it held, at most, while it answered so in every mode and form, the text in so many pieces."""
    raw.streams["odd"] = [head(), *([event({"content": text})] * times), event({}, "stop") + DONE]
    raw.bodies["odd"] = [head("application/json") + body({"content": text * times})]
    served.forget_peak()
    for mode in MODES:
        for stream in (True, False):
            # Where the machine is so busy that the database is too slow for it, the bound holds as well.
            assert served.gate.ask(model=mode, stream=stream).status in {200, 503}
    return served.bytes_of("VmHWM")


@pytest.mark.nightly
def test_large_answers_take_a_multiple_of_their_size_and_no_more_the_next_time(served: Served, raw: RawProvider):
    idle = most(served, raw, "short")
    assert most(served, raw, "x" * LARGE) - idle < TIMES * LARGE
    assert most(served, raw, "and so on, " * 1000, LARGE // 11_000) - idle < TIMES * LARGE, "nor do pieces take more"
    most(served, raw, "short")
    until(lambda: served.bytes_of("VmRSS") - idle < TIMES * LARGE / 2)  # what was taken is given back


@pytest.mark.nightly
def test_a_compressed_answer_takes_a_multiple_of_the_decompression_limit(served: Served, raw: RawProvider):
    idle = most(served, raw, "short")
    packed = head("application/json", "Content-Encoding: gzip") + gzip.compress(body({"content": "x" * 6 * LARGE}))
    assert len(packed) < LARGE / 100
    raw.streams["odd"] = raw.bodies["odd"] = [packed]
    served.forget_peak()
    answers = [served.gate.ask(model=mode, stream=stream) for mode in MODES for stream in (True, False)]
    assert {answer.status for answer in answers} <= {200, 502, 503}, "a stream has begun by then"
    taken = served.bytes_of("VmHWM") - idle
    assert taken < TIMES_PACKED * MAX_UNPACKED_BYTES, taken


@pytest.mark.parametrize("mode", ["continue", nightly("observe")])
def test_many_slow_streams_take_a_multiple_of_their_open_buffers(served: Served, raw: RawProvider, mode: str):
    idle = most(served, raw, "short")
    some = event({"content": "and so on, " * 20}) * (ANSWER // 220 // 20)
    raw.streams["odd"] = [head(), *[step for _ in range(20) for step in (some, 0.05)], event({}, "stop") + DONE]
    served.forget_peak()
    with ThreadPoolExecutor(OPEN) as pool:
        answers = pool.map(lambda _: served.gate.ask(model=mode, stream=True).status, range(OPEN))
        assert set(answers) == {200}
    assert served.bytes_of("VmHWM") - idle < TIMES_OPEN * OPEN * len(some) * 20
