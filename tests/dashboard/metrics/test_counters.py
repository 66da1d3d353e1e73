"""The metrics of the spec, counted from turns that really ran."""

from pathlib import Path

import pytest
from django.test import Client
from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.parser import text_string_to_metric_families
from structlog.testing import capture_logs

from dashboard import metrics
from dashboard.accounts.services import bootstrap_token_ensure
from dashboard.metrics import counters
from dashboard.metrics.counters import MOST, MOST_LETTERS, MOST_VALUES, REGISTRY, child
from tests.dashboard.driving import Play

pytestmark = pytest.mark.django_db(transaction=True)
TOKEN = "a-token-of-24-characters-or-more"


def counted(name: str, **labels: str) -> float:
    return REGISTRY.get_sample_value(name, {"provider": "openai", **labels}) or 0.0


def test_a_truncated_turn_counts_its_continuations_and_its_ending(play: Play):
    who = {"model": "sim-essay"}
    names = {
        "whystop_continuations_total": 3,
        "whystop_continuation_attempts_per_turn_count": 1,
        "whystop_continuation_attempts_per_turn_sum": 3,
        "whystop_continued_turn_seconds_count": 1,
    }
    before = {name: counted(name, **who) for name in names}
    exits = counted("whystop_truncation_exits_total", terminal_reason="retry_limit", **who)
    reasons = counted("whystop_stop_reasons_total", reason="max_tokens", **who)
    play("sim-essay", overrides={"max_tokens": 60})
    assert {name: counted(name, **who) - before[name] for name in names} == names
    assert counted("whystop_truncation_exits_total", terminal_reason="retry_limit", **who) == exits + 1
    assert counted("whystop_stop_reasons_total", reason="max_tokens", **who) == reasons + 4


def test_a_turn_without_truncation_is_in_no_continuation_histogram(play: Play):
    before = counted("whystop_continuation_attempts_per_turn_count", model="sim-odd")
    unknown = counted("whystop_unknown_stop_reasons_total", model="sim-odd")
    play("sim-odd")
    assert counted("whystop_continuation_attempts_per_turn_count", model="sim-odd") == before
    assert counted("whystop_unknown_stop_reasons_total", model="sim-odd") == unknown + 1


def test_each_ended_turn_is_counted_by_ending_and_exhausted_limit(play: Play):
    cut = {"model": "sim-essay", "terminal_reason": "retry_limit", "resource": "max_continuations"}
    whole = {"model": "sim-essay", "terminal_reason": "completed", "resource": ""}
    before = [counted("whystop_turns_ended_total", **labels) for labels in (cut, whole)]
    play("sim-essay", overrides={"max_tokens": 60})
    after = [counted("whystop_turns_ended_total", **labels) for labels in (cut, whole)]
    assert after == [before[0] + 1, before[1]]


def test_the_metrics_are_served_to_permitted_users(client: Client):
    assert client.get("/metrics").status_code == 401
    bootstrap_token_ensure(token=TOKEN)
    answer = client.get("/metrics", HTTP_AUTHORIZATION=f"Bearer {TOKEN}")
    assert answer.status_code == 200
    assert answer["Content-Type"].startswith("text/plain; version=")
    assert [*text_string_to_metric_families(answer.content.decode())]


def test_only_metrics_that_have_counted_something_are_served(client: Client):
    """A web process counts no webhook; the worker that does has another `/metrics`."""
    bootstrap_token_ensure(token=TOKEN)
    counters.count_webhook_try("arrived")
    text = client.get("/metrics", HTTP_AUTHORIZATION=f"Bearer {TOKEN}").content.decode()
    families = {family.name: family.samples for family in text_string_to_metric_families(text)}
    assert families["whystop_webhook_tries"]
    assert [name for name, samples in families.items() if not samples] == []


def test_the_start_of_a_long_unknown_reason_is_kept_and_logged():
    with capture_logs() as logs:
        for end in "ab":
            counters._log_once(("p", "m" * 1_000_000), "w" * 1_000_000 + end)
    assert [len(one["raw"] + one["model"]) for one in logs] == [2 * MOST_LETTERS]
    counters._logged.clear()


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
