"""A fork: a new turn that starts from the snapshot after a record of another turn, under other limits."""

from agentcore.argument_validation import required
from agentcore.errors import RecordingError
from agentcore.policy import Policy, is_watched, stated
from agentcore.reasons import AttemptKind
from agentcore.replay.recorded_judgement import step_again
from agentcore.replay.recording import Recording
from agentcore.snapshot import Snapshot
from agentcore.snapshot_parts import Call, Spent
from agentcore.states import CALLS, TERMINAL, State
from agentcore.values import replace

#: What counts the attempts of a kind beside `attempts`.
_COUNTED = {
    AttemptKind.CONTINUATION: "continuations",
    AttemptKind.RESUME: "continuations",
    AttemptKind.TOOL_REPAIR: "tool_repairs",
    AttemptKind.ENVELOPE_RETRY: "envelope_retries",
}


def fork(recording: Recording, seq: int, policy: Policy, turn_id: str) -> Snapshot:
    """Return the snapshot from which turn `turn_id` starts. Raises `RecordingError` with the reason if nothing can
    follow that record."""
    required(recording, Recording, "recording")
    required(policy, Policy, "policy")
    required(seq, int, "seq")
    required(turn_id, str, "turn_id")
    if not recording.records:
        raise RecordingError("Nothing has been recorded for this turn yet. Start from the beginning.")
    if not 1 <= seq <= len(recording.records):
        raise RecordingError(f"This turn has records 1 to {len(recording.records)}, not {seq}.")
    snapshot = recording.base_snapshot
    for record in recording.records[:seq]:
        snapshot = step_again(snapshot, recording, record).snapshot
    if why := unforkable(snapshot, seq):
        raise RecordingError(why)
    return beginning(under(snapshot, recording.policy, policy), turn_id)


def beginning(snapshot: Snapshot, turn_id: str) -> Snapshot:
    """Return this snapshot as the start of turn `turn_id`, which counts only its own usage."""
    setup = replace(snapshot.asked, turn_id=turn_id)
    return replace(snapshot, setup=setup, at=0.0, inherited=_begun_with(snapshot), call=_made_anew(snapshot))


def _made_anew(snapshot: Snapshot) -> Call | None:
    """A call that is pending there is made by the fork, and so as its setup says, not as it was made before."""
    if snapshot.call is None or snapshot.state not in CALLS:
        return snapshot.call
    return replace(snapshot.call, sent_uncapped=None, asked_cap=None)


def _begun_with(snapshot: Snapshot) -> Spent:
    """What was used before the fork. A call that is pending there is made by the fork, and is its own."""
    spent, call = snapshot.spent, snapshot.call
    if call is None or snapshot.state not in CALLS:
        return spent
    counted = _COUNTED.get(call.kind)
    kind = {counted: getattr(spent, counted) - 1} if counted else {}
    return replace(spent, attempts=spent.attempts - 1, **kind)


def unforkable(snapshot: Snapshot, seq: int) -> str | None:
    """Why no turn can start from the snapshot after record `seq`, in words; None if one can."""
    if snapshot.state in TERMINAL:
        return (
            f"After record {seq} the turn has ended ({snapshot.state}); nothing follows it. Choose an earlier record, "
            "or begin from the start."
        )
    if snapshot.state is State.HELD:
        return (
            f"After record {seq} the turn is held, and nothing follows it before its release. Choose the record of the "
            "release, or an earlier one."
        )
    return None


def under(snapshot: Snapshot, before: Policy, policy: Policy) -> Snapshot:
    """Apply a new policy to a snapshot of a started turn: the values in which it differs from the policy before.

    Values that an operator changed are kept, unless the new policy differs from the old one in them.
    """
    if snapshot.setup is None or policy == before:
        return snapshot
    policy = stated(policy, before)
    asked = snapshot.setup.asking(max_tokens=policy.max_tokens, model=policy.model, system_prompt=policy.system_prompt)
    call, pending = snapshot.call, snapshot.state in (*CALLS, State.BACKOFF)
    if call is not None and pending and policy.max_tokens is not None and policy.max_tokens != before.max_tokens:
        call = replace(call, max_tokens=policy.max_tokens, bound=None)
    limits = snapshot.limits if policy.limits == before.limits else policy.limits
    error_policy = snapshot.error_policy if policy.error_policy == before.error_policy else policy.error_policy
    watched = is_watched(policy) if snapshot.watched else None
    observed = (policy.watched or None) if snapshot.observed else None
    snapshot = replace(snapshot, limits=limits, error_policy=error_policy, watched=watched, observed=observed)
    return replace(snapshot, setup=asked, call=call)
