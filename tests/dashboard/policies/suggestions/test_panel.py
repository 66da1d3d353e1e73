"""The panel of a suggested limit."""

from types import SimpleNamespace
from typing import cast

import pytest

from dashboard.policies.backtests.models import Backtest
from dashboard.policies.suggestions.panel import Panel
from dashboard.policies.suggestions.suggestion import Suggestion
from dashboard.turns.models import Turn


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
    panel = Panel(Turn(), cast("Suggestion", SimpleNamespace()), None, None, backtest, None)
    assert panel.backtest_words == words
