"""Mixed traffic runs on a whole installation, and what it took is told; how flat memory is, is nobody's test."""

import io
import re

import pytest
from django.core.management import call_command

from dashboard.bench.soak import run, traffic
from dashboard.bench.soak.samples import Sample
from dashboard.bench.soak.traffic import KINDS, Heard


def sample(at: float, up: float, database: float) -> Sample:
    return Sample(at, {"up": int(up), "database": int(database)}, files=50, connections=20, rows=9, turns=1)


@pytest.mark.nightly
def test_each_kind_of_traffic_is_answered_and_reported_with_the_memory_of_each_process(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(run, "LEAST_GROWTH", 10**9)
    monkeypatch.setattr(traffic, "WATCHED_SECONDS", 1.0)
    out = io.StringIO()
    call_command("bench", "soak", minutes=0.25, stdout=out)
    told = out.getvalue()
    for name in KINDS:
        assert re.search(rf"^{name} +[1-9][\d,]* +0 ", told, re.MULTILINE), told
    assert re.search(r"memory of up: [+-][\d,.]+ MB an hour after the first third", told)
    assert told.rstrip().endswith("0 aims missed")


def test_growing_memory_outside_the_database_is_a_missed_target():
    growing = [sample(at, up=100e6 + at * 1e6, database=100e6 + at * 1e6) for at in range(30)]
    assert list(run._grown(growing)) == ["memory of up: grew by 29.0 MB; the aim is 10.0 MB"]
    assert [line.split(" MB")[0] for line in run._slopes(growing)] == [
        "memory of database: +3,600.0",
        "memory of up: +3,600.0",
    ]
    assert not list(run._grown([sample(at, up=100e6 + at % 2 * 5e6, database=0) for at in range(30)]))


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
