"""Minutes of mixed traffic against an installation of the run's own; a line at intervals, then the aims it missed."""

import asyncio
import time
from collections.abc import Callable, Iterator, Mapping, Sequence

from dashboard.bench.abuse.installation import Installation, installed
from dashboard.bench.soak.memory import GROWTH, LEAST_GROWTH, MB, WARM_REQUESTS, comparable, grown, slopes, warm_from
from dashboard.bench.soak.samples import Sample, Sampler
from dashboard.bench.soak.traffic import CUT, KINDS, WHOLE, Heard, traffic
from dashboard.runtime.file_limits import raise_limit

LINES = 30  #: samples of a run
#: What stands beside memory in each line, and how wide.
COUNTS = {"files": 7, "threads": 9, "connections": 13, "backlog": 9, "turns": 9, "rows": 11}

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
    wrong = [*_failed(heard), *_memory(sampler.samples, heard, began, seconds, say)]
    for sentence in wrong:
        say(f"MISSED {sentence}")
    say(f"{sum(len(each.took) for each in heard.values()):,} requests, {len(wrong)} aims missed")
    return not wrong


def _memory(
    samples: Sequence[Sample], heard: Mapping[str, Heard], began: float, seconds: float, say: Say
) -> Iterator[str]:
    """The aims that memory missed; how it grew is said."""
    begun = [at for each in heard.values() for at, _ in each.took]
    warm = warm_from(begun, began=began, seconds=seconds)
    if warm is None:
        yield (
            f"memory: not judged, for caches fill in the first {WARM_REQUESTS:,} requests, and a third of the run must "
            f"come after them; {len(begun):,} were made. Run it for longer"
        )
        return
    alike = comparable(samples, warm)
    for line in slopes(alike):
        say(line)
    yield from grown(alike, seconds=began + seconds - warm)


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
    counts = "".join(f"{name:>{width}}" for name, width in COUNTS.items())
    yield f"{'time':>7}{columns}{counts}{'requests':>10}{'p99':>11}"
    since = began
    for each in samples:
        took = Heard(took=[one for kind in heard.values() for one in kind.took if since <= one[0] < each.at])
        memory = "".join(f"{each.memory.get(name, 0) / MB:>12,.1f} MB" for name in names)
        counts = "".join(f"{getattr(each, name):>{width},}" for name, width in COUNTS.items())
        yield f"{each.at - began:>5,.0f} s{memory}{counts}{len(took.took):>10,}{took.p(0.99):>8,.0f} ms"
        since = each.at


def _by_kind(heard: Mapping[str, Heard], began: float, seconds: float) -> Iterator[str]:
    yield f"{'':<20}{'requests':>9}{'failed':>8}{'p50':>11}{'p99':>11}{'p99, first third':>19}{'last third':>13}"
    for name, each in heard.items():
        first, last = each.p(0.99, began, began + seconds / 3), each.p(0.99, began + 2 * seconds / 3)
        yield (
            f"{name:<20}{len(each.took):>9,}{each.failed:>8,}{each.p(0.5):>8,.0f} ms{each.p(0.99):>8,.0f} ms"
            f"{first:>16,.0f} ms{last:>10,.0f} ms"
        )


def _failed(heard: Mapping[str, Heard]) -> Iterator[str]:
    for name, each in heard.items():
        if each.failed or not each.took:
            yield f"{name}: {each.failed} of {len(each.took)} failed; the aim is none ({each.why})"
