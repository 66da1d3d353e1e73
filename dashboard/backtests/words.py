"""What a backtest came to, in one sentence; the undecidable share is part of it."""

from dashboard.backtests.models import Backtest

HOW_FAR = {
    Backtest.Status.QUEUED: "a backtest that has not begun",
    Backtest.Status.RUNNING: "a backtest that is still running, so far",
    Backtest.Status.FAILED: "a backtest that failed",
    Backtest.Status.CANCELLED: "a backtest that was cancelled",
}


def in_words(backtest: Backtest) -> str:
    """`a backtest over 84 turns: 71 the same, 6 would have gone on, 7 not in the recording (8.3 %)`."""
    begun = HOW_FAR.get(Backtest.Status(backtest.status), "a backtest")
    turns = f"{backtest.done:,} turn{'' if backtest.done == 1 else 's'}"
    if backtest.done:
        return f"{begun} over {turns}: {tally_in_words(backtest)}"
    return f"{begun} over {turns}: it found none" if backtest.status == Backtest.Status.DONE else begun


def tally_in_words(backtest: Backtest) -> str:
    """The counts of a backtest that has found something, without those that are none; undecidable always."""
    gone_on, sooner = (sum(group[name] for group in backtest.groups) for name in ("gone_on", "sooner"))
    counts = {
        "the same": backtest.same,
        "would have gone on": gone_on,
        "would have stopped sooner": sooner,
        "would have ended for another reason": backtest.flipped - gone_on - sooner,
    }
    said = [f"{count:,} {words}" for words, count in counts.items() if count]
    share = f" ({percent(backtest.undecidable, backtest.done)})" if backtest.undecidable else ""
    return ", ".join([*said, f"{backtest.undecidable:,} not in the recording{share}"])


def percent(count: int, whole: int) -> str:
    """Never 0 % of some, nor 100 % of fewer than all."""
    share = count / whole if whole else 0.0
    if 0 < share < 0.001:
        return "< 0.1 %"
    return "> 99.9 %" if 0.999 < share < 1 else f"{100 * share:.1f} %"
