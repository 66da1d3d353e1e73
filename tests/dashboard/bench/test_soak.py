"""Mixed traffic runs on a whole installation, and what it took is told; how flat memory is, is nobody's test."""

import io
import re

import pytest
from django.core.management import call_command

from dashboard.bench.soak import memory, run, traffic
from dashboard.bench.soak.memory import comparable, grown, slopes, warm_from
from dashboard.bench.soak.samples import Sample
from dashboard.bench.soak.traffic import KINDS, Heard


def sample(at: float, up: float, database: float = 0, **counts: int) -> Sample:
    counts = {"threads": 30, "backlog": 3, "connections": 20} | counts
    return Sample(at, {"up": int(up), "database": int(database)}, files=50, rows=9, turns=1, **counts)


def missed(samples: list[Sample]) -> list[str]:
    """Of a run of 90 s, of which these are samples, and of which a third is the warm-up."""
    return list(grown(comparable(samples, 30), seconds=60))


@pytest.mark.nightly
def test_each_kind_of_traffic_is_answered_and_reported_with_the_memory_of_each_process(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(memory, "LEAST_GROWTH", 10**9)
    monkeypatch.setattr(memory, "LEAST_SHARE", 0.0)
    monkeypatch.setattr(memory, "WARM_REQUESTS", 0)
    monkeypatch.setattr(traffic, "WATCHED_SECONDS", 1.0)
    out = io.StringIO()
    call_command("bench", "soak", minutes=0.25, stdout=out)
    told = out.getvalue()
    for name in KINDS:
        assert re.search(rf"^{name} +[1-9][\d,]* +0 ", told, re.MULTILINE), told
    assert re.search(r"memory of up: [+-][\d,.]+ MB an hour after the warm-up", told)
    assert told.rstrip().endswith("0 aims missed")


def test_growing_memory_outside_the_database_is_a_missed_target():
    growing = [sample(at, up=100e6 + at * 1e6, database=100e6 + at * 1e6) for at in range(90)]
    assert missed(growing) == ["memory of up: grew by 60.0 MB; the aim is 10.0 MB"]
    assert [line.split(" MB")[0] for line in slopes(growing)] == [
        "memory of database: +3,600.0",
        "memory of up: +3,600.0",
    ]
    assert missed([sample(at, up=100e6 + at % 2 * 5e6) for at in range(90)]) == []


def test_memory_that_fills_before_the_warm_up_ends_is_no_leak():
    assert missed([sample(at, up=100e6 + min(at, 30) * 1e6) for at in range(90)]) == []


@pytest.mark.parametrize(("a_second", "warm"), [(1000, 30.0), (50, 40.0), (34, 59.0), (20, None)])
def test_the_warm_up_lasts_a_third_of_the_run_and_as_many_requests_as_fill_the_caches(
    a_second: int, warm: float | None
):
    """On a slow machine, caches still fill after a third of the run."""
    found = warm_from([n / a_second for n in range(90 * a_second)], began=0, seconds=90)
    assert found == (warm and pytest.approx(warm, abs=0.5))


def test_a_run_with_too_few_requests_to_fill_the_caches_is_not_judged():
    heard = {"pages": Heard(took=[(float(at), 0.1) for at in range(90)])}
    (told,) = run._memory([sample(at, up=100e6) for at in range(90)], heard, 0.0, 90.0, print)
    assert told.startswith("memory: not judged")
    assert "90 were made" in told


def test_memory_of_work_that_queues_up_for_a_while_is_no_leak():
    """Each unfinished turn takes a MB; between 40 and 80 s the machine is busy with something else."""
    queued = [60 if 40 <= at < 80 else 5 for at in range(90)]
    assert missed([sample(at, up=100e6 + n * 1e6, backlog=n) for at, n in enumerate(queued)]) == []


def test_memory_of_new_threads_and_connections_is_no_leak():
    """As many as the pool has: after 60 s there are ten more."""
    counts = [{"threads": 30 + n, "connections": 20 + n} for n in (0 if at < 60 else 10 for at in range(90))]
    assert missed([sample(at, up=100e6 + each["threads"] * 2e6, **each) for at, each in enumerate(counts)]) == []


def test_a_leak_is_found_beside_a_backlog_and_new_threads():
    samples = [
        sample(at, up=100e6 + at * 1e6 + (20e6 if at >= 60 else 0), threads=30 + at // 60, backlog=90 * (50 < at < 70))
        for at in range(90)
    ]
    assert missed(samples) == ["memory of up: grew by 60.0 MB; the aim is 10.0 MB"]


@pytest.mark.parametrize("changing", ["backlog", "threads", "connections"])
def test_a_run_whose_samples_cannot_be_compared_is_not_judged(changing: str):
    samples = [sample(at, up=100e6 + at * 1e6, **{changing: at * 10}) for at in range(90)]
    (told,) = missed(samples)
    assert told.startswith("memory: not judged")


def test_failed_requests_and_kinds_that_never_ran_are_reported():
    heard = {"pages": Heard(failed=1, why="500", took=[(0.0, 0.1)] * 2), "sockets": Heard()}
    assert list(run._failed(heard)) == [
        "pages: 1 of 2 failed; the aim is none (500)",
        "sockets: 0 of 0 failed; the aim is none ()",
    ]


def test_p99_covers_the_requests_started_in_a_period():
    heard = Heard(took=[(float(at), at / 1000) for at in range(100)])
    assert heard.p(0.99) == 99
    assert heard.p(0.99, since=0, until=50) == 49
    assert Heard().p(0.99) == 0
