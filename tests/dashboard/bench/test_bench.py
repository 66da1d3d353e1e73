"""The benchmarks run and print what they measured; how fast they are is nobody's test."""

import io

import pytest
from django.core.management import call_command

from dashboard.bench import measuring


def test_the_core_is_measured_beside_its_bounds(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(measuring, "RUN_SECONDS", 0.01)
    out = io.StringIO()
    call_command("bench", "core", stdout=out)
    told = out.getvalue()
    assert "transitions/s" in told
    assert "× slower than split lines and json.loads" in told
    assert "what-if, totals only" in told
