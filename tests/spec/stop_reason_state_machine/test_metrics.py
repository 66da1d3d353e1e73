"""stop-reason-state-machine: the four metrics, read at /metrics after turns that really ran."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.dashboard.driving import Play
from tests.spec.rules import rule

METRICS = "stop-reason-state-machine §Metrics"
Read = Callable[..., float]
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def read(get: Callable[[str], Any]) -> Read:
    """The value of one sample at /metrics, by its name and labels; 0 where it is not there yet."""

    def value(name: str, **labels: str) -> float:
        text = get("/metrics").content.decode()
        wanted = {f'{key}="{said}"' for key, said in {"provider": "openai", **labels}.items()}
        for line in text.splitlines():
            head, _, number = line.rpartition(" ")
            if head.startswith(f"{name}{{") and wanted == set(head[len(name) + 1 : -1].split(",")):
                return float(number)
        return 0.0

    return value


@rule(METRICS, "A counter of continuations by provider and model")
def test_continuations_are_counted_by_provider_and_model(read: Read, play: Play) -> None:
    before = read("whystop_continuations_total", model="sim-essay")
    turn = play("sim-essay", overrides={"max_tokens": 150})
    assert turn.continuations == 2
    assert read("whystop_continuations_total", model="sim-essay") == before + 2


@rule(METRICS, "A counter of truncated answers that were not continued, by the limit or guard that forbade it")
@pytest.mark.parametrize(
    ("limits", "reason"),
    [
        ({"max_continuations": 0}, "retry_limit"),
        ({"max_total_completion_tokens": 1}, "budget_exhausted"),
        ({"max_total_output_chars": 10}, "output_cap"),
    ],
)
def test_exits_of_truncated_answers_are_counted(read: Read, play: Play, limits: dict[str, int], reason: str) -> None:
    labels = {"model": "sim-essay", "terminal_reason": reason}
    before = read("whystop_truncation_exits_total", **labels)
    play("sim-essay", overrides={"max_tokens": 60, "limits": limits})
    assert read("whystop_truncation_exits_total", **labels) == before + 1


@rule(METRICS, "A histogram of continuation attempts per turn")
def test_continuation_attempts_per_turn_are_a_histogram(read: Read, play: Play) -> None:
    name = "whystop_continuation_attempts_per_turn"
    samples = {f"{name}_count": 1, f"{name}_sum": 2}
    before = {sample: read(sample, model="sim-essay") for sample in samples}
    play("sim-essay", overrides={"max_tokens": 150})
    assert {sample: read(sample, model="sim-essay") - before[sample] for sample in samples} == samples


@rule(METRICS, "A histogram of the end-to-end seconds of continued turns only")
def test_the_latency_of_continued_turns_is_a_histogram(read: Read, play: Play) -> None:
    count, total = "whystop_continued_turn_seconds_count", "whystop_continued_turn_seconds_sum"
    before, seconds = read(count, model="sim-essay"), read(total, model="sim-essay")
    play("sim-essay", overrides={"max_tokens": 60, "limits": {"max_continuations": 0}})
    assert read(count, model="sim-essay") == before
    play("sim-essay", name="cut", overrides={"max_tokens": 150})
    assert read(count, model="sim-essay") == before + 1
    assert read(total, model="sim-essay") > seconds
