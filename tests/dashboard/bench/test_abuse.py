"""The attacks are carried out on a whole installation, and what each came to is told; how fast is nobody's test."""

import contextlib
import io
import json
import re
import time

import pytest
from django.core.management import CommandError, call_command

from agentcore.schema import MOST_BREACHES
from agentcore.schema_size import TooMuchWork
from dashboard.agents.schema_validation.validator import violations
from dashboard.bench.abuse import connections, files, provider, run, schemas, traces
from dashboard.bench.abuse.bystander import Heard
from dashboard.bench.abuse.run import ATTACKS, Outcome

FEW = ("schemas of agents", "half-sent requests", "half-sent bodies", "invented", "one span")
BOMB = 60  #: seconds of a processor that only work without a bound takes


@pytest.mark.nightly
def test_attacks_are_reported_with_their_effect_on_others(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(run, "SECONDS", 0.5)
    monkeypatch.setattr(run, "AIM_P99", 60_000.0)
    monkeypatch.setattr(connections, "HALVES", 20)
    monkeypatch.setattr(connections, "HELD_SECONDS", 0.2)
    monkeypatch.setattr(files, "NAMES", 5)
    monkeypatch.setattr(traces, "TRACES", 5)
    monkeypatch.setattr(traces, "MOST_SECONDS", 60.0)
    monkeypatch.setattr(files, "MOST_METRICS", 1)
    out = io.StringIO()
    with pytest.raises(CommandError, match="An aim was missed"):
        call_command("bench", "abuse", only=list(FEW), stdout=out)
    told = out.getvalue()
    assert [name for name in ATTACKS if re.search(rf"^{name} ", told, re.MULTILINE)] == [
        "schemas of agents", "1,100 half-sent requests", "1,100 half-sent bodies", "800 invented models",
        "traces of one span each",
    ]  # fmt: skip
    assert len(re.findall(r" [1-9]\d* +0 +[\d,]+ ms +[\d,]+ ms +[1-9]\d+ MB +up \d+ s +met", told)) == 4
    assert "20 × opened" in told
    assert "5 × 200" in told
    assert re.search(r"MISSED 800 invented models: /metrics has [\d,]+ bytes; the aim is 1$", told, re.MULTILINE)
    assert "5 attacks, 1 aims missed" in told


def test_each_missed_target_is_reported_in_words():
    heard = Heard(calls=100, failed=2, why="503: Away", took=[10.0] * 98 + [400.0] * 2)
    outcome = Outcome("x", {}, heard, peak=run.AIM_MEMORY + 1, restarted=True, uptime=5.0, own=[])
    assert [sentence.partition(";")[0] for sentence in outcome.missed()] == [
        "2 calls of the other key failed",
        "p99 is 400 ms",
        "memory reached 1,500 MB",
        "a process of the server or its database ended",
    ]
    assert "missed" in outcome.line()
    assert not list(Outcome("x", {}, Heard(1, 0, "", [1.0]), 1, restarted=False, uptime=5.0, own=[]).missed())


@pytest.mark.parametrize("number", range(len(schemas.HOSTILE)))
def test_each_hostile_schema_is_judged_or_refused_in_bounded_work(number: int):
    answer, schema = schemas.HOSTILE[number]
    begun = time.process_time()
    with contextlib.suppress(TooMuchWork):
        assert len(violations(schema, json.loads(provider.SAID[answer]))) <= MOST_BREACHES
    assert time.process_time() - begun < BOMB
