"""Values of labels, bounded: callers and providers can write any name, and each new one would be kept for good.

All metrics share one set of values for each label, and so do all processes of one supervisor. What comes after the set
is full counts as `other`.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from prometheus_client.metrics import MetricWrapperBase

from dashboard.metrics import shared
from dashboard.platform.process_identity import PLACE

OTHER = "other"
MOST_LETTERS = 100  #: of a value; a longer one counts as `other`
MOST_VALUES = 40  #: of a label that is not named here
MOST: Mapping[str, int] = {"model": 100, "provider": 20}  #: a model counts once for each provider

_known: dict[str, set[tuple[str, ...]]] = {}


def child(metric: Any, *values: str) -> Any:
    """The counter or histogram of `metric` for these values, in the order of its labels."""
    return _child(metric, *_bounded(metric._labelnames, values))


def _bounded(names: tuple[str, ...], values: tuple[str, ...]) -> list[str]:
    bounded: dict[str, str] = {}
    for name, value in zip(names, values, strict=True):
        provider = (bounded["provider"],) if name == "model" and "provider" in bounded else ()
        bounded[name] = value if _is_known(name, (*provider, value)) else OTHER
    return list(bounded.values())


def _is_known(name: str, value: tuple[str, ...]) -> bool:
    known, most = _known.setdefault(name, set()), MOST.get(name, MOST_VALUES)
    if value in known:
        return True
    if len(known) >= most or len(value[-1]) > MOST_LETTERS:
        return False
    if PLACE is not None:
        return shared.agreed(PLACE.shared, name, value, most=most, known=known)
    known.add(value)
    return True


@lru_cache(maxsize=4096)
def _child(metric: MetricWrapperBase, *values: str) -> MetricWrapperBase:
    """To look one up takes longer than to count."""
    return metric.labels(*values)
