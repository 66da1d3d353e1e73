"""The tapes of a recorded run: what each iteration's calls said, one after another, without what they repeated."""

from collections.abc import Mapping, Sequence

from agentcore.continuation_merge import seam
from agentcore.machine.accounting import joining
from agentcore.reasons import NormalizedStopReason
from agentcore.replay.answer_tape import Tape, tape_of
from agentcore.replay.recorded_calls import Heard
from agentcore.snapshot import Snapshot
from agentcore.snapshot_parts import Segment
from agentcore.values import replace

_BLOCKED = NormalizedStopReason.SAFETY_BLOCKED


def recorded_tapes(
    calls: Mapping[int, Sequence[Heard]],
    segments: Mapping[int, Segment],
    base: Snapshot,
    *,
    exact: bool,
    rate: tuple[float, float],
) -> dict[int, Tape]:
    """One for each iteration. `segments`: what each attempt added to the answers. `exact`: continuations repeat
    nothing. `rate`: tokens of a character, least and most."""
    dropped = {attempt: part.dropped for attempt, part in segments.items()}
    dropped |= {one.attempt: _again(one) for part in calls.values() for one in part if _kept_back(one)}
    begun = {base.iteration: base.answer.text}
    return {i: tape_of(one, dropped, begun.get(i, ""), exact=exact, rate=rate) for i, one in calls.items()}


def unrepeated_tapes(
    calls: Mapping[int, Sequence[Heard]],
    segments: Mapping[int, Segment],
    base: Snapshot,
    *,
    exact: bool,
    rate: tuple[float, float],
) -> dict[int, Tape]:
    """Those of the iterations in which something may be a repeat, as if all of that were one; empty where nothing is
    in doubt. Takes what `recorded_tapes` takes."""
    doubtful = {attempt: part for attempt, part in segments.items() if part.ambiguous}
    if not doubtful:
        return {}
    without = {attempt: replace(part, dropped=part.dropped + part.ambiguous) for attempt, part in doubtful.items()}
    concerned = {i: part for i, part in calls.items() if any(one.attempt in doubtful for one in part)}
    return recorded_tapes(concerned, {**segments, **without}, base, exact=exact, rate=rate)


def _kept_back(heard: Heard) -> bool:
    """Whether the turn's answer lacks what this call said, for a filter blocked it at the end; cut before its end it
    would have stood there."""
    response = heard.response
    return response is not None and response.stop_reason is _BLOCKED and heard.answered


def _again(heard: Heard) -> int:
    """How many characters of what it said stood in the answer before."""
    response, before = heard.response, heard.before
    assert response is not None, "something was heard"
    if before.call is None or before.call.hint is None:
        return 0
    return seam(before.answer.text, response.text, joining(before, response=response))[0]
