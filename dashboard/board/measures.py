"""The names of what is summed, as `Sum.sums` has them. Those that end in a colon are followed by a word."""

from collections.abc import Mapping

TURNS = "turns"
ENDED = "ended"
FAILED = "failed"  #: failed, aborted or interrupted
CUT = "cut"  #: the model was cut off at least once: it was continued, or its last answer was
#: Neither of these, but a truncated tool call was requested again; the same of a structured answer alone.
CUT_CALLS, CUT_ENVELOPES = "cut_calls", "cut_envelopes"
TRUNCATED = (CUT, CUT_CALLS, CUT_ENVELOPES)  #: together: the turns with at least one truncated answer
CONTINUED = "continued"
CONTINUATIONS = "continuations"
INPUT, OUTPUT, CACHED = "input_tokens", "output_tokens", "cached_tokens"
LINTED = "linted"  #: turns with a sign of a hidden cut
FAILED_PREDICTIONS = "failed_predictions"
MODEL_STOP, AGENT_STOP = "model_stop_reason:", "stop_reason:"  #: turns by word; none: not stopped yet
LINT = "lint:"  #: turns by code
TOOK = "took:"  #: continued turns that ended, by place of their duration among `BOUNDS`

#: Seconds. Place 0 is below the first, the last place has no end.
BOUNDS = (0.5, 1.0, 2.0, 3.0, 5.0, 8.0, 13.0, 20.0, 30.0, 45.0, 60.0, 90.0, 120.0, 180.0, 300.0, 600.0, 1800.0)
#: What of a turn counts as `failed`.
FAILURES = ("failed", "aborted", "interrupted")
OTHER = "other"  #: stands for the names that have no sums of their own


def quantile(sums: Mapping[str, float], share: float) -> float | None:
    """Seconds that so large a share of the continued turns took at most: even within a place. None without any."""
    counts = [sums.get(f"{TOOK}{place}", 0) for place in range(len(BOUNDS) + 1)]
    wanted, below = share * sum(counts), 0.0
    if not wanted:
        return None
    for place, count in enumerate(counts):
        if below + count >= wanted:
            low = BOUNDS[place - 1] if place else 0.0
            high = BOUNDS[place] if place < len(BOUNDS) else low
            return low + (high - low) * (wanted - below) / count
        below += count
    return float(BOUNDS[-1])
