"""What lands is judged by the same examples each time, whatever texts and numbers stand in the source."""

import importlib

import pytest
from hypothesis.internal.conjecture import providers

from tests import examples


@pytest.fixture
def as_first_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hypothesis as it is before anything of the tree is loaded."""
    monkeypatch.setattr(providers, "_get_local_constants", providers._get_local_constants)
    monkeypatch.setattr(providers, "_local_constants", providers.Constants())


@pytest.mark.usefixtures("as_first_imported")
def test_hypothesis_draws_no_constants_of_the_source():
    examples.without_constants_of_the_tree()
    importlib.import_module("dashboard.turns.models")
    assert len(providers._get_local_constants()) == 0
