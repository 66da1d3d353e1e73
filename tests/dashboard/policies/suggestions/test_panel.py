"""The panel of a suggested limit."""

import pytest

from dashboard.policies.backtests.models import Backtest
from dashboard.policies.suggestions.templatetags.suggestions import backtest_words


@pytest.mark.parametrize(
    ("status", "words"),
    [
        ("queued", "that has not started with Max tokens per call 420"),
        ("running", "in progress with Max tokens per call 420"),
        ("failed", "that failed with Max tokens per call 420"),
    ],
)
def test_the_word_backtest_is_not_repeated_behind_its_link(status: str, words: str):
    backtest = Backtest(status=status, max_tokens=420, total=0, done=0, groups=[])
    assert backtest_words(backtest) == words
