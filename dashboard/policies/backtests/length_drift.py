"""Answers that become longer with time: only the newest of them tell how long the next will be.

The newer half is compared with the older one by the log-rank test, which counts cut answers as the estimate does.
Source: Mantel 1966; Peto and Peto 1972.
"""

import math
from collections import Counter
from collections.abc import Sequence

from dashboard.policies.backtests.survival import LEAST_ENDED, Length

LONGER = 2.5758  #: standard errors, which the newer half reaches by chance once in 200 times


def newest_alike(lengths: Sequence[Length]) -> Sequence[Length]:
    """Of these, oldest first, the newest that are not longer than those before them: all, a half, a quarter …"""
    older, newer = lengths[: len(lengths) // 2], lengths[len(lengths) // 2 :]
    if sum(length.ended for length in newer) < LEAST_ENDED or not _longer(older, newer):
        return lengths
    return newest_alike(newer)


def _longer(older: Sequence[Length], newer: Sequence[Length]) -> bool:
    """Whether the newer ones end later than both together would."""
    ended = Counter(length.tokens for length in (*older, *newer) if length.ended)
    later = sum(length.ended for length in newer)
    gone, gone_newer = _leaving((*older, *newer)), _leaving(newer)
    at_risk, of_newer, expected, variance = len(older) + len(newer), len(newer), 0.0, 0.0
    for tokens in sorted(gone):
        if (ends := ended[tokens]) and at_risk > 1:
            share = of_newer / at_risk
            expected += ends * share
            variance += ends * share * (1 - share) * (at_risk - ends) / (at_risk - 1)
        elif ends:
            expected += ends * of_newer / at_risk
        at_risk -= gone[tokens]
        of_newer -= gone_newer[tokens]
    return variance > 0 and (expected - later) / math.sqrt(variance) > LONGER


def _leaving(lengths: Sequence[Length]) -> Counter[int]:
    return Counter(length.tokens for length in lengths)
