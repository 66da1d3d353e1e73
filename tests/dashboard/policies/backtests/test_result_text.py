"""A backtest in one sentence: what could not be told is always part of it."""

import pytest

from dashboard.policies.backtests.models import Backtest
from dashboard.policies.backtests.result_text import in_words, percent
from tests.together import together

GROUPS = [{"gone_on": 2, "sooner": 0}, {"gone_on": 4, "sooner": 1}]


@together
@pytest.mark.parametrize(
    ("made", "words"),
    [
        (
            Backtest(status="done", done=90, same=71, flipped=8, undecidable=11, groups=GROUPS),
            "a backtest over 90 turns: 71 end as recorded, 6 would have ended later, 1 would have stopped sooner, "
            "1 would have ended for another reason, 11 not known (12.2 %)",
        ),
        (Backtest(status="done", done=1, same=1), "a backtest over 1 turn: 1 ends as recorded, 0 not known"),
        (Backtest(status="done"), "a backtest over 0 turns: it found none"),
        (Backtest(status="queued"), "a backtest that has not started"),
        (Backtest(status="running", done=5, same=5), "a backtest in progress, so far over 5 turns: 5 end as recorded"),
        (Backtest(status="running", max_tokens=600), "a backtest in progress with Max tokens per call 600"),
        (Backtest(status="cancelled"), "a backtest that was cancelled"),
        (
            Backtest(status="cancelled", done=7, total=700, same=7),
            "a backtest that was cancelled over 7 of 700 turns: 7 end as recorded",
        ),
        (
            Backtest(status="done", done=84, total=84, same=84, max_tokens=1500),
            "a backtest over 84 turns with Max tokens per call 1,500: 84 end as recorded",
        ),
        (Backtest(status="queued", max_tokens=9), "a backtest that has not started with Max tokens per call 9"),
    ],
)
def test_a_backtest_is_summarized_in_a_sentence(made: Backtest, words: str):
    assert in_words(made).startswith(words)


def test_the_certainty_of_decided_turns_is_shown_with_all_counts():
    made = Backtest(status="done", done=9, same=5, undecidable=4, recorded=3, certain=0, estimated=2)
    assert in_words(made).endswith(
        "5 end as recorded, 4 not known (44.4 %); of the 5 with a known end, 3 recorded, 2 likely"
    )
    unended = Backtest(
        status="done", done=2, same=1, undecidable=1, recorded=1, certain=0, estimated=0, groups=[{"unended": 1}]
    )
    assert in_words(unended).endswith(
        "1 ends as recorded, 1 would have gone on to an end that is not known; of the 1 with a known end, 1 recorded"
    )
    before = Backtest(status="done", done=1, same=1, recorded=None, certain=None, estimated=None)
    assert in_words(before).endswith("1 ends as recorded, 0 not known; how certain is not known")
    assert in_words(Backtest(status="done", done=1, undecidable=1)).endswith("1 not known (100 %)")


def test_turns_that_would_have_completed_are_counted_apart_from_those_that_end_later_in_another_way():
    group = {"gone_on": 3, "completed": 2, "proven": 1, "unended": 1}
    made = Backtest(status="done", done=6, same=1, flipped=3, undecidable=2, certain=2, estimated=2, groups=[group])
    assert in_words(made) == (
        "a backtest over 6 turns: 1 ends as recorded, 2 would have completed (1 proven by a re-run), 1 would have "
        "ended later, 1 would have gone on to an end that is not known, 1 not known (16.7 %); "
        "of the 4 with a known end, 1 certain, 1 proven, 2 likely"
    )
    made.groups = [group, {**group, "completed": None}]
    assert "would have completed" not in in_words(made), "it is not known of all"


def test_a_share_is_never_rounded_to_none_or_all():
    assert [percent(*of) for of in ((0, 0), (0, 9), (1, 9_999), (1, 3), (9_999, 10_000), (4, 4))] == [
        "0 %",
        "0 %",
        "< 0.1 %",
        "33.3 %",
        "> 99.9 %",
        "100 %",
    ]
