"""The benchmarks run and print what they measured; how fast they are is nobody's test."""

import io

import pytest
from django.core.management import call_command

from agentcore import Policy, StopReason, what_if
from agentcore.replay import Provenance
from dashboard.bench import core, measuring


def test_the_core_is_measured_beside_its_bounds(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(measuring, "RUN_SECONDS", 0.01)
    out = io.StringIO()
    call_command("bench", "core", stdout=out)
    told = out.getvalue()
    assert "transitions/s" in told
    assert "× slower than split lines and json.loads" in told
    lines = {line.split("  ")[0]: line for line in told.splitlines()}
    for what in ("what-if", "what-if, limits bind"):
        assert "turns/s" in lines[f"{what}, traced"]
        assert "turns/s" in lines[f"{what}, totals only"]
    assert "ms more than interpreter start" in lines["import agentcore"]


def test_the_benchmarks_turns_end_as_their_names_say():
    recording = core._recording()
    freely, bound = (what_if(recording, Policy(max_tokens=cap)) for cap in (400, 40))
    assert [record.provenance for record in freely.records] == [Provenance.RECORDED, Provenance.DERIVED]
    assert freely.final.end.stop_reason is StopReason.COMPLETED
    assert bound.final.end.stop_reason is StopReason.RETRY_LIMIT
