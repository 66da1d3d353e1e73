"""What lands is judged by the same examples each time, whatever texts and numbers stand in the source."""

import importlib
import sys

import pytest
from hypothesis import strategies as st
from hypothesis.internal import charmap
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


def test_characters_are_those_that_utf_8_encodes():
    encodable, changed = charmap.intervals_from_codec("utf-8")
    known = "".join(chr(number) for first, last in encodable.intervals for number in range(first, last + 1))
    same = "".join(map(chr, range(sys.maxunicode + 1))).encode(errors="ignore").decode() == known
    assert same, "a million characters are not printed"
    assert len(changed) == 0


def test_a_strategy_takes_the_characters_from_where_they_are_known(monkeypatch: pytest.MonkeyPatch):
    known, asked = charmap.intervals_from_codec, list[str]()
    monkeypatch.setattr(charmap, "intervals_from_codec", lambda name: asked.append(name) or known(name))
    st.characters(codec="utf-8", exclude_characters="a").validate()
    assert asked == ["utf-8"]
    assert not hasattr(known, "cache_clear"), "it is the function of Hypothesis, which encodes each character"
