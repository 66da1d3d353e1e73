"""The benchmarks run and print what they measured; how fast they are is nobody's test."""

import io
import json
import re
import subprocess
from types import SimpleNamespace

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from pytest_django import DjangoDbBlocker

from agentcore import Policy, Recording, StopReason, verify, what_if
from agentcore.replay import Provenance
from agentcore.replay.assumptions import AssumptionSet, NeedsEnds
from agentcore.replay.recorded_run import Past
from agentcore.replay.what_if import NO_EXPERIENCE, _Run
from dashboard.bench import bulk_load, core, live, measurements, timeline, write_rates
from dashboard.bench import what_if as bench_what_if
from dashboard.bench.gateway import run as gateway
from dashboard.bench.turn_mix import WORDS, Mix, vocabulary
from dashboard.turns.history import rebuilt_columns, recording_of
from dashboard.turns.models import Turn


def test_the_core_is_measured_beside_its_bounds(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(measurements, "RUN_SECONDS", 0.01)
    out = io.StringIO()
    call_command("bench", "core", stdout=out)
    told = out.getvalue()
    assert "transitions/s" in told
    assert "× slower than split lines and json.loads" in told
    lines = {line.split("  ")[0]: line for line in told.splitlines()}
    for what in ("what-if", "what-if, limits bind", "what-if, two ends", "what-if, two ends, limits bind"):
        assert all("turns/s" in lines[f"{what}, {asked}"] for asked in ("traced", "asked first", "asked again"))
    assert "× slower than what-if, asked first" in lines["what-if, two ends, asked first"]
    assert "ms more than interpreter start" in lines["import agentcore"]


def test_the_benchmarks_turns_end_as_their_names_say():
    hinted, exact, repeating = core._recording(), core._recording(prefill=True), core._recording(repeats=True)
    larger, smaller = Policy(max_tokens=400), Policy(max_tokens=40)
    freely, bound = what_if(hinted, larger), what_if(exact, smaller)
    assert [record.provenance for record in freely.records] == [Provenance.RECORDED, Provenance.DERIVED]
    assert freely.final.end.stop_reason is StopReason.COMPLETED
    assert bound.final.end.stop_reason is StopReason.RETRY_LIMIT
    assert not _takes_two_ends(hinted, larger)
    assert not _takes_two_ends(exact, smaller)
    assert _takes_two_ends(repeating, larger)
    assert _takes_two_ends(repeating, smaller)


def _takes_two_ends(recording: Recording, policy: Policy) -> bool:
    run = _Run(recording, policy, False, AssumptionSet(Past.of(recording), NO_EXPERIENCE))
    try:
        run.to_the_end()
    except NeedsEnds:
        return True
    return False


@pytest.mark.nightly  # a benchmark of developers, as those below
@pytest.mark.django_db(transaction=True)
def test_generated_turns_are_found_counted_and_some_verify(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(bulk_load, "HISTORY_EVERY", 100)
    monkeypatch.setattr(timeline, "RUNS", 1)
    monkeypatch.setattr(write_rates, "TURNS", 2)
    out = io.StringIO()
    call_command("bench", "load", turns=400, days=2, stdout=out)
    assert Turn.objects.count() == 400
    assert "4 turns with a history" in out.getvalue()
    for turn in Turn.objects.filter(last_seq__gt=0):
        assert verify(recording_of(turn)).verified
        assert all(getattr(turn, column) == value for column, value in rebuilt_columns(turn).items())
    with connection.cursor() as cursor:
        indexes = set(connection.introspection.get_constraints(cursor, "turns_turn"))
    assert {index.name for index in Turn._meta.indexes} <= indexes
    call_command("bench", "timeline", stdout=out)
    told = out.getvalue()
    assert all(f"\n{name} " in told for name in timeline.CASES)
    assert "without any of it" in told
    assert Turn.objects.count() == 400


@pytest.mark.django_db
def test_without_turns_the_timeline_is_not_measured():
    out = io.StringIO()
    call_command("bench", "timeline", stdout=out)
    assert "`manage.py bench load` generates some" in out.getvalue()


@pytest.mark.nightly
def test_the_same_seed_generates_the_same_turns_and_their_text_can_be_copied():
    one, other = ([Mix(seed).turn(n, 0.5) for n in range(50)] for seed in (4, 4))
    assert one == other
    assert len(set(vocabulary())) == WORDS
    assert all("\\" not in str(value) and "\t" not in str(value) for turn in one for value in turn.values())


@pytest.mark.nightly
@pytest.mark.django_db
def test_a_what_if_page_is_measured_beside_the_bare_core(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(bench_what_if, "RUNS", 20)
    out = io.StringIO()
    call_command("bench", "what-if", stdout=out)
    told = out.getvalue()
    for what in ("bare what-if of the core", "what-if column, as a slider asks", "whole replay page", "sweep of"):
        assert re.search(rf"{what}.* p50 +[\d.]+ p95 +[\d.]+ ms", told)
    assert not Turn.objects.exists()


@pytest.mark.nightly
def test_deliveries_are_measured_beside_a_bare_broadcast_and_channels(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(live, "VIEWERS", (5,))
    monkeypatch.setattr(live, "RUNS", 1)
    monkeypatch.setattr(live, "LEISURELY", 3)
    monkeypatch.setattr(live, "FLOOD", 100)
    out = io.StringIO()
    call_command("bench", "live", stdout=out)
    told = out.getvalue()
    for what in live.WAYS.values():
        assert re.search(rf"{what} +5 viewers +[\d,]+ deliveries/s, +[\d,]+ of processor time +p50 +[\d.]+ p99", told)
    assert re.search(r"Whystop's room.* [\d.]+ × bare, [\d.]+ × channels", told)


@pytest.mark.parametrize(
    ("failed", "sentence"), [(None, "stop other programs on this machine"), ("503", "A call failed: 503")]
)
def test_a_gateway_measurement_that_cannot_continue_ends_with_a_sentence(
    monkeypatch: pytest.MonkeyPatch, failed: str | None, sentence: str
):
    told = json.dumps({"failed": failed, "whole": [], "chunks": 0, "first": []})
    monkeypatch.setattr(subprocess, "run", lambda command, **_: subprocess.CompletedProcess(command, 0, told))
    proxy = SimpleNamespace(port=1, busy=lambda: 0.0)
    with pytest.raises(CommandError, match=sentence):
        gateway._run("whole", 1, proxy, "token", gateway.CHAT)  # type: ignore[arg-type]


@pytest.mark.nightly
def test_calls_through_the_gateway_are_measured_beside_a_direct_call_and_a_bare_proxy(
    monkeypatch: pytest.MonkeyPatch, django_db_setup: None, django_db_blocker: DjangoDbBlocker
):
    monkeypatch.setattr(gateway, "CALLERS", (2,))
    monkeypatch.setattr(gateway, "RUNS", 1)
    monkeypatch.setattr(gateway, "SECONDS", 2.0)
    out = io.StringIO()
    with django_db_blocker.unblock():  # it has a database of its own
        call_command("bench", "gateway", stdout=out)
    told = out.getvalue()
    assert re.search(r"a flush of the disk, which each answer awaits: p50 [\d.]+ ms", told)
    for how in gateway.HOW.values():
        assert f"{how}, 2 at a time" in told
    assert len(re.findall(r"nothing +[\d,]+ calls/s", told)) == 3
    recording = "gateway, observing|gateway, continuing|bare proxy, a row a call"
    assert len(re.findall(rf"(?:{recording}) .*adds p50 .* µs busy/call +[\d.]+ × bare", told)) == 9
    assert len(re.findall(r"[\d,]+ chunks/s .*to the first chunk p50", told)) == 12
    for recorded in (r"([\d,]+) turns were recorded", r"([\d,]+) calls were recorded as a row"):
        assert int(re.search(recorded, told)[1].replace(",", "")) > 0
