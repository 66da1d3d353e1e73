"""Labels have so many values and no more, whatever names callers and providers invent."""

from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest

from dashboard import metrics
from dashboard.metrics.labels import MOST, MOST_LETTERS, MOST_VALUES, child

WHO = ("provider", "model")


@pytest.fixture
def registry() -> CollectorRegistry:
    return CollectorRegistry()


def values_of(registry: CollectorRegistry, name: str) -> set[str]:
    return {sample.labels[name] for metric in registry.collect() for sample in metric.samples if name in sample.labels}


def test_all_metrics_share_a_limited_number_of_models_and_count_the_rest_as_other(registry: CollectorRegistry):
    calls = Counter("calls", "Calls.", WHO, registry=registry)
    turns = Counter("turns", "Turns.", (*WHO, "reason"), registry=registry)
    for number in range(300):
        child(calls, "openai", f"called-{number}").inc()
        child(turns, "openai", f"begun-{number}", "stop").inc()
    assert len(values_of(registry, "model")) == MOST["model"] + 1
    said = {"provider": "openai", "model": "other"}
    counted = registry.get_sample_value("calls_total", said) or 0
    assert counted + (registry.get_sample_value("turns_total", {**said, "reason": "stop"}) or 0) == 600 - MOST["model"]


def test_a_model_of_several_providers_counts_once_for_each(registry: CollectorRegistry):
    calls = Counter("calls", "Calls.", WHO, registry=registry)
    for number in range(300):
        child(calls, f"provider-{number % 15}", f"model-{number % 50}").inc()
    (metric,) = registry.collect()
    pairs = {(sample.labels["provider"], sample.labels["model"]) for sample in metric.samples}
    assert len([pair for pair in pairs if pair[1] != "other"]) <= MOST["model"]


def test_every_other_label_is_limited_too(registry: CollectorRegistry):
    ended = Counter("ended", "Turns.", ("reason", "source"), registry=registry)
    for number in range(300):
        child(ended, f"invented-{number}", f"seen-{number}").inc()
    assert len(values_of(registry, "reason")) == len(values_of(registry, "source")) == MOST_VALUES + 1


def test_a_very_long_value_counts_as_other_and_uses_no_slot(registry: CollectorRegistry):
    calls = Counter("calls", "Calls.", WHO, registry=registry)
    child(calls, "openai", "m" * (MOST_LETTERS + 1)).inc()
    child(calls, "openai", "gpt").inc()
    assert values_of(registry, "model") == {"other", "gpt"}


def test_the_output_stays_small(registry: CollectorRegistry):
    took = Histogram("took", "Seconds.", WHO, registry=registry)
    for number in range(2_000):
        child(took, "openai", f"invented-{number}").observe(1)
    assert len(generate_latest(registry)) < 200_000


def test_every_metric_label_passes_the_limits():
    files = Path(metrics.__file__).parent.parent.rglob("*.py")
    labelling = {file.name for file in files if ".labels(" in file.read_text()}
    assert labelling == {"labels.py"}
