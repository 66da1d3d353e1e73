from itertools import product

import pytest

from agentcore.replay import Assumed, Assumption, Why
from agentcore.replay.certainty import CUT_AS_TOLD
from dashboard.turns.certainty_text import WHYS, assumption_and_share, assumption_in_words, if_high, if_low
from tests.together import together


@pytest.mark.parametrize(
    ("name", "low", "high", "said"),
    [
        (Assumed.REPEATS, 0, 12, "A continuation repeats 0–12 tokens at the seam (default)"),
        (Assumed.USAGE, 9.6, 80, "A call without exact usage spent 9.6–80 output tokens (default)"),
        (Assumed.USAGE, 0, 0, "The provider reports every output token that it counts (default)"),
        (Assumed.FAILURES, 0, 0, "The calls that failed in the recording fail again, and no others fail (default)"),
        (Assumed.WORDING, 40, 48, "The continued text takes 40–48 tokens (default)"),
        (Assumed.WORDING, 0, 0, "The provider gives the same answers as in the recorded calls (default)"),
    ],
)
def test_an_assumption_is_a_sentence_with_its_range_and_its_source(name, low, high, said):
    assert assumption_in_words(Assumption(name, low, high, "default")) == said


@together
@pytest.mark.parametrize(("name", "high"), list(product(Assumed, [0, 1, 2500])))
def test_every_assumption_and_each_of_its_ends_has_a_text(name, high):
    assumption = Assumption(name, 0, high, "default")
    for words in (assumption_in_words(assumption), if_low([assumption]), if_high([assumption])):
        assert words
        assert "{}" not in words


def test_reasoning_that_may_not_count_is_not_described_as_absent_reasoning():
    """One range for both: what calls that were never made would think, and whether thoughts count at all."""
    uncounted = Assumption(Assumed.REASONING, 0, 300, "whether reasoning counts towards the limit is not recorded")
    assert assumption_in_words(uncounted).startswith(
        "Reasoning uses 0–300 of the tokens that Max tokens per call (max_tokens) allows (whether reasoning counts"
    )
    assert if_low([uncounted]) == "If reasoning uses no tokens"
    assert if_high([uncounted]) == "If reasoning uses 300 of the tokens that Max tokens per call (max_tokens) allows"


def test_an_assumption_that_often_fails_is_shown_with_the_share_of_correct_estimates():
    often, seldom = (Assumption(Assumed.TRUNCATION, 0, 0, source) for source in (CUT_AS_TOLD, "stored calls"))
    assert assumption_and_share(often) == (
        f"The provider reports a truncated answer as truncated ({CUT_AS_TOLD}). "
        "In tests with providers for which this does not hold, 67 % of the estimates came true"
    )
    assert assumption_and_share(seldom) == assumption_in_words(seldom)


def test_every_reason_of_an_undecidable_result_has_a_text():
    assert list(WHYS) == list(Why)
