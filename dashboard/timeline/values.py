"""What the pages are given: facets with their counts, and the histogram. All frozen."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

#: Where rollups cannot tell (words, tags, ranges), no more turns than this are counted, the newest first.
MOST_COUNTED = 10_000
#: Cohorts that one page counts, the largest first. A caller of the gateway may invent a model, and so a cohort.
MOST_COHORTS = 10_000


@dataclass(frozen=True, slots=True)
class FacetValue:
    """A value of a facet. `words`: how pages call it; `capped`: there are at least `count` such turns."""

    value: str
    words: str
    count: int
    chosen: bool
    capped: bool
    excluded: bool = False  #: turns with it are left out


@dataclass(frozen=True, slots=True)
class Facet:
    """A filter and its values, most frequent first. `name` is the filter's; chosen values are there even at 0."""

    name: str
    label: str
    values: tuple[FacetValue, ...]


@dataclass(frozen=True, slots=True)
class Bucket:
    """`seconds` from `start` (UTC), and how many turns were made then, by stop reason; `""`: none yet."""

    start: datetime
    seconds: int
    counts: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Histogram:
    """Turns over time, oldest bucket first, without gaps. `capped`: only the newest `total` turns are counted."""

    buckets: tuple[Bucket, ...]
    total: int
    capped: bool
