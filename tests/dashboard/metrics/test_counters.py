"""The metrics of the spec, counted from turns that really ran."""

import pytest
from django.test import Client
from prometheus_client.parser import text_string_to_metric_families
from structlog.testing import capture_logs

from dashboard.accounts.services import bootstrap_token_ensure
from dashboard.metrics import counters
from dashboard.metrics.counters import REGISTRY
from dashboard.metrics.labels import MOST_LETTERS
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


def test_logs_call_the_simulator_by_its_name_and_a_provider_by_its_own():
    with capture_logs() as logs:
        for model in ("sim-odd", "gpt-5"):
            counters._log_once(("openai", model), "solar_flare")
    assert [(one["provider"], one["model"]) for one in logs] == [("simulator", "sim-odd"), ("openai", "gpt-5")]
    counters._logged.clear()
