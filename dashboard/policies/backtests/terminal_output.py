"""A backtest's result as lines for a terminal; every count shows the undecidable turns and the certainty of the
others."""

from collections.abc import Iterator
from dataclasses import asdict

from dashboard.agents.samples import provider_shown
from dashboard.policies.backtests.models import Backtest
from dashboard.policies.backtests.presenters import BacktestView, backtest_view
from dashboard.policies.backtests.result_text import counts_in_words, difference_in_words, in_words
from dashboard.turns.prices.templatetags.prices import no_price

LISTED = 20  #: flipped turns that are named


def lines_of(backtest: Backtest) -> Iterator[str]:
    """Its sentence; what the decided turns would have cost; each provider and model, where there are several; why turns
    are undecidable; and the first flipped turns."""
    shown = backtest_view(backtest)
    said = in_words(backtest)
    yield f"{said[0].upper()}{said[1:]}."
    yield from _cost(shown)
    if len(shown.groups) > 1:
        for each in shown.groups:
            provider = provider_shown(each.group.provider, each.group.model)
            yield f"{provider} {each.group.model}: {counts_in_words(asdict(each.group))}"
    for reason in shown.reasons:
        yield f"{reason.count:,} not decided: {reason.words} ({reason.why})"
    for flip in shown.flips[:LISTED]:
        about = ", ".join(filter(None, (flip.words, flip.difference, flip.flip.certainty, flip.flip.by_rerun)))
        yield f"{flip.flip.turn}  {flip.flip.ended} → {flip.flip.ends}  {about}"
    if backtest.flipped > LISTED:
        yield f"… and {backtest.flipped - LISTED:,} more"


def _cost(shown: BacktestView) -> Iterator[str]:
    whole = shown.whole
    if not whole.decided:
        return
    difference = (
        difference_in_words(calls=whole.group.calls, tokens=whole.group.tokens, about=whole.group.is_about)
        or "as many calls and tokens"
    )
    price = whole.dollars if whole.priced else no_price(simulated=shown.simulated)
    yield f"Of the {whole.decided:,} decided: {difference}; {price}"
