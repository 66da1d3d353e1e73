"""A turn, and a data folder of each test's own."""

from pathlib import Path

import pytest

from dashboard.turns.models import Turn
from tests.dashboard.driving import Play


@pytest.fixture(autouse=True)
def _seals_remembered_apart(data_dir: Path) -> None:
    """Each test remembers its seals in a folder of its own."""


@pytest.fixture
def turn(play: Play) -> Turn:
    return play("sim-essay")
