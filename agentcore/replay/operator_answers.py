"""Whether operators act once more in a run under another policy, and how sure that is.

An act is certain where they see what they saw: the same answer and messages, and the same command in flight. Else it is
an assumption that they do the same. What they wrote for one text, as another conversation or as a tool's arguments, is
not put into another.
"""

from agentcore.machine.state_commands import calls_to_run, same_command
from agentcore.replay.assumptions import NEARLY, AssumptionSet
from agentcore.replay.certainty import Assumed, Certainty, Why
from agentcore.replay.pending_call import Answer, unknown
from agentcore.replay.recorded_operators import OperatorAct, again
from agentcore.replay.request_comparison import alike, asks_of, worded
from agentcore.snapshot import Snapshot
from agentcore.states import CALLS, State

_TEXT = "the turn differs from the recording there"
_IN_TIME = "the call or wait may be over before the action"
#: The states that `max_seconds` ends, and what is then not known.
_TIMED = {**dict.fromkeys(CALLS, Why.TIMED_OUT), State.EXECUTE_TOOLS: Why.TOOL_SECONDS}


def operator_answer(snapshot: Snapshot, acted: OperatorAct, assuming: AssumptionSet) -> Answer | None:
    """What comes of a recorded act at the same wait; None: it is assumed that the wait is over before it."""
    if _is_late(snapshot, acted):
        return unknown(_TIMED[snapshot.state])
    if _sees_the_same(snapshot, acted.before):
        return Answer(again(acted, snapshot.at, mends=True), Certainty.CERTAIN)
    if acted.is_written_for_its_text:
        return unknown(Why.OPERATOR)
    act = again(acted, snapshot.at, mends=False)
    if not _lasts(snapshot, acted):
        return Answer(act, Certainty.ESTIMATED) if assuming.at(Assumed.OPERATORS, 0.0, 1.0, _IN_TIME) else None
    assuming.note(Assumed.OPERATORS, 0.0, 0.0, _TEXT)
    return Answer(act, Certainty.ESTIMATED)


def _is_late(snapshot: Snapshot, acted: OperatorAct) -> bool:
    """Whether `max_seconds` has ended what is in flight by then. As it was recorded, it had not."""
    left = snapshot.seconds_left
    if left is None or snapshot.state not in _TIMED or left == acted.before.seconds_left:
        return False
    return acted.after > left - NEARLY


def _sees_the_same(snapshot: Snapshot, before: Snapshot) -> bool:
    if snapshot.state is not State.HELD and not same_command(snapshot, before):
        return False
    return _shown(snapshot) == _shown(before)


def _shown(snapshot: Snapshot) -> tuple[object, ...]:
    """What operators decide by: the conversation, the answer so far, and what has just come of a call."""
    said, failure = snapshot.response, snapshot.failure
    came = None if said is None else (said.text, said.stop_reason, said.broken_tool_calls)
    failed = None if failure is None else (failure.type, failure.message)
    calls = [(call.id, call.name, call.raw) for call in (snapshot.calls or (said.tool_calls if said else ()))]
    return worded(snapshot.messages), snapshot.answer.text, came, failed, calls


def _lasts(snapshot: Snapshot, acted: OperatorAct) -> bool:
    """Whether what is waited for takes at least as long as the act took to come."""
    before = acted.before
    if snapshot.state in CALLS:
        longer = snapshot.current_call.max_tokens >= before.current_call.max_tokens
        return longer and alike(asks_of(snapshot), asks_of(before))
    if snapshot.state is State.EXECUTE_TOOLS:
        return calls_to_run(snapshot) == calls_to_run(before)
    if snapshot.state is State.BACKOFF:
        return snapshot.wait_seconds >= min(before.wait_seconds, acted.after + NEARLY)
    return True
