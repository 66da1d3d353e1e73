"""What the recording answers to tool calls under another policy: the results of the same occurrences."""

from agentcore.events import ToolResult, ToolsReturned
from agentcore.machine.state_commands import calls_to_run
from agentcore.replay.assumptions import NEARLY
from agentcore.replay.certainty import Certainty, Why
from agentcore.replay.pending_call import Answer, unknown
from agentcore.replay.recorded_calls import result_for
from agentcore.replay.recorded_run import Past
from agentcore.snapshot import Snapshot


def tools_answer(snapshot: Snapshot, past: Past) -> Answer:
    """The recorded results. Unknown where a call was never run, and past the time limit: nobody knows what a tool would
    have done."""
    results: list[ToolResult] = []
    for call in calls_to_run(snapshot):
        recorded = result_for(past.tools, snapshot, call)
        if recorded is None:
            return unknown(Why.TOOL_RESULTS)
        results.append(recorded)
    iteration, left = snapshot.iteration, snapshot.seconds_left
    seconds, given_up = past.tool_seconds.get(iteration, 0.0), past.given_up.get(iteration, left)
    if left != given_up or (left is not None and seconds > left - NEARLY):
        return unknown(Why.TOOL_SECONDS)
    return Answer(ToolsReturned(snapshot.at + seconds, tuple(results)), Certainty.CERTAIN)
