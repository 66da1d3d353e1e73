"""The Grafana dashboard asks for nothing that `/metrics` does not have."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dashboard.metrics import calls, counters
from dashboard.metrics.counters import REGISTRY

FILE = Path(__file__).parents[3] / "docs" / "how-to" / "grafana-dashboard.json"
DASHBOARD = json.loads(FILE.read_text(encoding="utf-8"))
METRIC = re.compile(r"whystop_\w+")
SELECTOR = re.compile(r"(whystop_\w+)\{([^}]*)\}")
GROUPED = re.compile(r"sum by \(([^)]*)\) \(\w+\((whystop_\w+)")
assert {calls.CALLS, counters.SPANS, counters.WEBHOOK_TRIES}, "their modules put them into the registry"


def samples() -> dict[str, set[str]]:
    """The labels of each sample that a scrape can have."""
    found = {}
    for metric in REGISTRY._collector_to_names:
        labels = set(getattr(metric, "_labelnames", ()))
        histogram = getattr(metric, "_type", "") == "histogram"
        for suffix in ("_bucket", "_sum", "_count") if histogram else ("_total",):
            found[metric._name + suffix] = labels | ({"le"} if suffix == "_bucket" else set())
    return found


def expressions(value: Any = DASHBOARD) -> Iterator[str]:
    """All that is asked of Prometheus, in panels and variables."""
    if isinstance(value, dict):
        yield from (text for name in ("expr", "query") if isinstance(text := value.get(name), str))
        for one in value.values():
            yield from expressions(one)
    elif isinstance(value, list):
        for one in value:
            yield from expressions(one)


def test_every_metric_of_the_dashboard_exists():
    named = {name for text in expressions() for name in METRIC.findall(text)}
    assert len(named) > 10
    assert named <= samples().keys()


def test_every_label_of_the_dashboard_belongs_to_its_metric():
    known = samples()
    for text in expressions():
        for name, selector in SELECTOR.findall(text):
            assert set(re.findall(r"(\w+)[=!]", selector)) <= known[name], text
        for labels, name in GROUPED.findall(text):
            assert {label.strip() for label in labels.split(",")} <= known[name], text


def test_every_panel_has_its_own_position_and_a_description():
    panels = DASHBOARD["panels"]
    places = {(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in panels}
    assert len(places) == len(panels)
    assert all(panel["description"] for panel in panels)
