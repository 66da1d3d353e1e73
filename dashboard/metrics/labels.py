"""Values of labels, bounded: callers and providers can write any name, and each new one would be kept for good.

All metrics share one set of values for each label, and so do all processes of one supervisor. What comes after the set
is full counts as `other`.
"""

from collections.abc import Mapping
from typing import Any

from dashboard.metrics import shared_counters
from dashboard.platform.process_identity import PLACE

OTHER = "other"
MOST_LETTERS = 100  #: of a value; a longer one counts as `other`
MOST_VALUES = 40  #: of a label that is not named here
MOST: Mapping[str, int] = {"model": 100, "provider": 20}  #: a model counts once for each provider

MOST_FOUND = 4096  #: counters and histograms that are found at once

_known: dict[str, set[tuple[str, ...]]] = {}
_found: dict[tuple[Any, ...], Any] = {}  #: by metric and values, of which each is known: none is ever forgotten


def child(metric: Any, *values: str) -> Any:
    """The counter or histogram of `metric` for these values, in the order of its labels."""
    found = _found.get((metric, *values))
    if found is None:
        bounded = _bounded(metric._labelnames, values)
        found = metric.labels(*bounded)
        if bounded == values and len(_found) < MOST_FOUND:
            _found[metric, *values] = found
    return found


def _bounded(names: tuple[str, ...], values: tuple[str, ...]) -> tuple[str, ...]:
    bounded: dict[str, str] = {}
    for name, value in zip(names, values, strict=True):
        provider = (bounded["provider"],) if name == "model" and "provider" in bounded else ()
        bounded[name] = value if _is_known(name, (*provider, value)) else OTHER
    return tuple(bounded.values())


def _is_known(name: str, value: tuple[str, ...]) -> bool:
    known, most = _known.setdefault(name, set()), MOST.get(name, MOST_VALUES)
    if value in known:
        return True
    if len(known) >= most or len(value[-1]) > MOST_LETTERS:
        return False
    if PLACE is not None:
        return shared_counters.agreed(PLACE.shared, name, value, most=most, known=known)
    known.add(value)
    return True
