"""The seam, open; and a simulator in this process that answers from it."""

from collections.abc import Iterator
from dataclasses import replace

import pytest
from django.conf import settings

from dashboard.simulator.scripts import SCRIPTS
from tests.dashboard.api.conftest import Program, api

__all__ = ["Program", "api"]


@pytest.fixture(autouse=True)
def no_scripts() -> Iterator[None]:
    """What a test wrote is gone after it."""
    yield
    for standing in SCRIPTS.all():
        SCRIPTS.delete(standing.name)


@pytest.fixture
def seam(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "ENVIRONMENT", replace(settings.ENVIRONMENT, test_seam=True))
    monkeypatch.setattr(SCRIPTS, "served_at", "http://127.0.0.1:8322")
