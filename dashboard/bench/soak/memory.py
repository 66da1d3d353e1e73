"""Whether memory stayed flat: a leak told from caches that fill, from work that queues up, and from new threads.

A machine that becomes slower while the run lasts has more work unfinished, for which the server opens more threads and
connections. Their memory is no leak: there is a bound for each. So a sample is compared with those that had as many.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from dashboard.bench.soak.samples import DATABASE, Sample

WARM = 1 / 3  #: of the run, in which caches fill; no slope is measured there
#: Which fill them: on a slow machine, memory grew until then, and was flat from then on.
WARM_REQUESTS = 2_000
GROWTH = 0.05  #: of a process's memory, that it may grow by after the warm-up
LEAST_GROWTH = 10_000_000  #: bytes that are never a leak in so short a time
LEAST_BACKLOG = 20  #: turns and jobs, which are always under way
LEAST_SHARE = 0.1  #: of the time's spread, which the samples that can be compared must cover
MB = 1e6

Line = tuple[float, float]  #: mean, and growth in bytes a second


def warm_from(requests: Iterable[float], *, began: float, seconds: float) -> float | None:
    """When the warm-up ends, by the times at which requests began: after a third of the run and as many requests as
    fill the caches. None where less than a third of the run would be left."""
    enough = sorted(requests)[WARM_REQUESTS - 1 : WARM_REQUESTS] if WARM_REQUESTS else [began]
    warm = max([began + WARM * seconds, *enough])
    return warm if enough and warm <= began + (1 - WARM) * seconds else None


def comparable(samples: Sequence[Sample], warm: float) -> list[Sample]:
    """The samples after the warm-up, without those with more unfinished work than there was in it."""
    most = max((each.backlog for each in samples if each.at < warm), default=0)
    return [each for each in samples if each.at >= warm and each.backlog <= max(most, LEAST_BACKLOG)]


def slopes(samples: Sequence[Sample]) -> Iterator[str]:
    """How the memory of each process grows, in words."""
    for name, (_, per_second) in lines(samples).items():
        yield f"memory of {name}: {3600 * per_second / MB:+,.1f} MB an hour after the warm-up"


def grown(samples: Sequence[Sample], *, seconds: float) -> Iterator[str]:
    """The aims that memory missed. `samples`: that can be compared; `seconds`: of the run after the warm-up."""
    if spread_share(samples, seconds) < LEAST_SHARE:
        yield (
            "memory: not judged, for too few samples can be compared: the unfinished work, the threads or the "
            "connections changed during the run. Run it again on a machine that does nothing else"
        )
        return
    for name, (mean, per_second) in lines(samples).items():
        growth, most = per_second * seconds, max(GROWTH * mean, LEAST_GROWTH)
        if name != DATABASE and growth > most:
            yield f"memory of {name}: grew by {growth / MB:,.1f} MB; the aim is {most / MB:,.1f} MB"


def lines(samples: Sequence[Sample]) -> Mapping[str, Line]:
    """Of each process that was there all the time, by least squares among samples that are alike."""
    names = set[str].intersection(*(set(each.memory) for each in samples)) if len(samples) > 1 else set[str]()
    return {name: _line(_alike(samples), name) for name in sorted(names)}


def spread_share(samples: Sequence[Sample], seconds: float) -> float:
    """How far apart in time the samples lie that are alike: 1 where all are, and cover all of these seconds."""
    spread = sum(_spread([each.at for each in group]) for group in _alike(samples))
    whole = len(samples) * seconds**2 / 12  # of as many samples, evenly
    return spread / whole if whole else 0.0


def _alike(samples: Sequence[Sample]) -> list[list[Sample]]:
    """Groups of samples with as many threads and connections."""
    groups = defaultdict[tuple[int, int], list[Sample]](list)
    for each in samples:
        groups[each.threads, each.connections].append(each)
    return list(groups.values())


def _line(groups: Sequence[Sequence[Sample]], name: str) -> Line:
    """The slope that all groups share, each around its own mean."""
    spread = joint = total = 0.0
    for group in groups:
        at = sum(each.at for each in group) / len(group)
        mean = sum(each.memory[name] for each in group) / len(group)
        total += mean * len(group)
        spread += _spread([each.at for each in group])
        joint += sum((each.at - at) * (each.memory[name] - mean) for each in group)
    return total / sum(map(len, groups)), joint / spread if spread else 0.0


def _spread(at: Sequence[float]) -> float:
    mean = sum(at) / len(at)
    return sum((each - mean) ** 2 for each in at)
