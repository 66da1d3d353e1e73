"""A turn, and a data folder of its own: the seals are remembered there."""

from dataclasses import replace
from pathlib import Path

import pytest
from django.conf import settings

from dashboard.turns.models import Turn
from tests.dashboard.driving import Play


@pytest.fixture(autouse=True)
def data_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(settings, "ENVIRONMENT", replace(settings.ENVIRONMENT, data_dir=tmp_path, signing_key=""))
    return tmp_path


@pytest.fixture
def turn(play: Play) -> Turn:
    return play("sim-essay")
