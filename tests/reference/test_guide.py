"""The guide's examples are run, and what they print is what it says."""

import doctest

from tests.reference.sources import ROOT


def test_the_examples_of_the_guide_print_the_documented_output():
    guide = ROOT / "docs" / "tutorial" / "agentcore.md"
    results = doctest.testfile(str(guide), module_relative=False, encoding="utf-8")
    assert results.attempted > 15
    assert results.failed == 0
