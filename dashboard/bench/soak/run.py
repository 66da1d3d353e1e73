"""Minutes of mixed traffic against an installation of the run's own; a line at intervals, then the aims it missed."""

import asyncio
import time
from collections.abc import Callable, Iterator, Mapping, Sequence

from dashboard.bench.abuse.installation import Installation, installed
from dashboard.bench.soak.samples import DATABASE, Sample, Sampler
from dashboard.bench.soak.traffic import CUT, KINDS, WHOLE, Heard, traffic
from dashboard.runtime.file_limits import raise_limit

LINES = 30  #: samples of a run
WARM = 1 / 3  #: of the run, in which caches fill; no slope is measured there
GROWTH = 0.05  #: of a process's memory, that it may grow by after the warm-up
LEAST_GROWTH = 10_000_000  #: bytes that are never a leak in so short a time
MB = 1e6

Say = Callable[[str], object]


def soak(*, minutes: float, say: Say) -> bool:
    """Whether every aim was met: no failed call, and memory that is flat after the warm-up."""
    raise_limit()
    seconds = 60 * minutes
    say(f"{minutes:g} minutes of {', '.join(KINDS)}. Aims: none fails; after the first third no process but the "
        f"database's grows by more than {GROWTH:.0%} or {LEAST_GROWTH / MB:.0f} MB.")  # fmt: skip
    heard = {name: Heard() for name in KINDS}
    with installed() as installation:
        key = _made(installation)
        began = time.monotonic()
        with Sampler(installation, seconds / LINES) as sampler:
            asyncio.run(traffic(installation.port, installation.token, key, began + seconds, heard))
    for line in (*_over_time(sampler.samples, heard, began), *_by_kind(heard, began, seconds)):
        say(line)
    warm = [each for each in sampler.samples if each.at >= began + WARM * seconds]
    for line in _slopes(warm):
        say(line)
    wrong = [*_failed(heard), *_grown(warm)]
    for sentence in wrong:
        say(f"MISSED {sentence}")
    say(f"{sum(len(each.took) for each in heard.values()):,} requests, {len(wrong)} aims missed")
    return not wrong


def _made(installation: Installation) -> str:
    """Agents at the simulator, and a key that may call them and send traces."""
    for name, most in ((WHOLE, 800), (CUT, 150)):
        agent = {"name": name, "connection": "simulator", "model": "sim-essay", "max_tokens": most}
        installation.api("agents", {**agent, "gateway_mode": "continue"})
    key: str = installation.api("keys", {"name": "soak", "scope": [WHOLE, CUT, "otlp"]})["secret"]
    return key


def _over_time(samples: Sequence[Sample], heard: Mapping[str, Heard], began: float) -> Iterator[str]:
    names = sorted({name for each in samples for name in each.memory})
    columns = "".join(f"{name:>15}" for name in names)
    yield f"{'time':>7}{columns}{'files':>7}{'connections':>13}{'turns':>9}{'rows':>11}{'requests':>10}{'p99':>11}"
    since = began
    for each in samples:
        took = Heard(took=[one for kind in heard.values() for one in kind.took if since <= one[0] < each.at])
        memory = "".join(f"{each.memory.get(name, 0) / MB:>12,.1f} MB" for name in names)
        yield (
            f"{each.at - began:>5,.0f} s{memory}{each.files:>7,}{each.connections:>13,}{each.turns:>9,}{each.rows:>11,}"
            f"{len(took.took):>10,}{took.p(0.99):>8,.0f} ms"
        )
        since = each.at


def _by_kind(heard: Mapping[str, Heard], began: float, seconds: float) -> Iterator[str]:
    yield f"{'':<20}{'requests':>9}{'failed':>8}{'p50':>11}{'p99':>11}{'p99, first third':>19}{'last third':>13}"
    for name, each in heard.items():
        first, last = each.p(0.99, began, began + seconds / 3), each.p(0.99, began + 2 * seconds / 3)
        yield (
            f"{name:<20}{len(each.took):>9,}{each.failed:>8,}{each.p(0.5):>8,.0f} ms{each.p(0.99):>8,.0f} ms"
            f"{first:>16,.0f} ms{last:>10,.0f} ms"
        )


def _slopes(warm: Sequence[Sample]) -> Iterator[str]:
    for name, (_, per_second) in _lines(warm).items():
        yield f"memory of {name}: {3600 * per_second / MB:+,.1f} MB an hour after the first third"


def _failed(heard: Mapping[str, Heard]) -> Iterator[str]:
    for name, each in heard.items():
        if each.failed or not each.took:
            yield f"{name}: {each.failed} of {len(each.took)} failed; the aim is none ({each.why})"


def _grown(warm: Sequence[Sample]) -> Iterator[str]:
    for name, (mean, per_second) in _lines(warm).items():
        grown, most = per_second * (warm[-1].at - warm[0].at), max(GROWTH * mean, LEAST_GROWTH)
        if name != DATABASE and grown > most:
            yield f"memory of {name}: grew by {grown / MB:,.1f} MB; the aim is {most / MB:,.1f} MB"


def _lines(warm: Sequence[Sample]) -> Mapping[str, tuple[float, float]]:
    """Of each process that was there all the time: its mean memory, and how it grows: bytes a second, by least
    squares."""
    names = set[str].intersection(*(set(each.memory) for each in warm)) if len(warm) > 1 else set[str]()
    return {name: _line([(each.at, each.memory[name]) for each in warm]) for name in sorted(names)}


def _line(points: Sequence[tuple[float, float]]) -> tuple[float, float]:
    at, mean = (sum(values) / len(points) for values in zip(*points, strict=True))
    spread = sum((x - at) ** 2 for x, _ in points)
    return mean, sum((x - at) * (y - mean) for x, y in points) / spread if spread else 0.0
