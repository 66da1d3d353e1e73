"""How long a call of another run likely takes, from the calls that were recorded."""

from collections.abc import Sequence

from agentcore.replay.certainty import Pace

_AS_LONG = 1.5  #: times as many tokens as the shortest call, from which on two calls tell what each token takes


def seconds_at(calls: Sequence[tuple[float, float]], tokens: float, pace: Pace | None) -> float:
    """How long a call of so many tokens likely takes. `calls`: tokens and seconds of those recorded. `pace`: how stored
    calls of the model share their time between waiting for the first token and the others; the recorded ones tell how
    fast it was that time. Without it the recorded calls tell both, where they differ enough in length."""
    took, said = sum([took for _, took in calls]), sum([said for said, _ in calls])
    if not said:
        return 0.0
    if pace is None:
        pace = _line_through(calls)
    usual = pace.first * len(calls) + pace.token * said
    return took * (pace.first + pace.token * tokens) / usual if usual else 0.0


def _line_through(calls: Sequence[tuple[float, float]]) -> Pace:
    """The line through them, with no negative part; through nothing where they are about as long as each other."""
    shortest, longest = min(said for said, _ in calls), max(said for said, _ in calls)
    said, took = (sum([call[place] for call in calls]) / len(calls) for place in (0, 1))
    if longest < _AS_LONG * shortest:
        return Pace(0.0, took / said)
    spread = sum([(one - said) ** 2 for one, _ in calls])
    token = sum([(one - said) * (other - took) for one, other in calls]) / spread
    token = min(max(token, 0.0), took / said)
    return Pace(max(0.0, took - token * said), token)
