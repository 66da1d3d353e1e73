"""Where two runs diverge, and where the recording ends, in words."""

from collections.abc import Mapping
from typing import Any

from agentcore.events import Interrupted
from agentcore.replay import Divergence, Provenance, Recording, WhatIf, Why, first_divergence
from agentcore.values import replace
from dashboard.turns.sent_caps import commanded_cap

_NEVER_MADE = (Why.MORE_TEXT, Why.ITERATION, Why.OTHER_REQUEST, Why.ANOTHER_ANSWER, Why.REPAIR)


#: What a command differs in, by its type.
_OTHER = {
    "call_model": "the next request is a different one",
    "run_tools": "the tool calls are different",
    "finish": "the result is a different one",
}
#: Of a command: the time that is left, and a provider's id of a tool call, are different in each run.
_OF_ONE_RUN = ("seconds_left", "id")


def live_divergence(recorded: Recording, live: Recording) -> Divergence | None:
    """The first difference between a recording and its live re-run; None if they are the same to the end. Their times
    differ, and so do the evaluations that quote them: neither counts."""
    return first_divergence(_without_times(recorded), _without_times(live))


def _without_times(recording: Recording) -> Recording:
    records = (
        replace(
            record,
            transitions=tuple({**transition, "outcome": None} for transition in record.transitions),
            command=_common(record.command),
        )
        for record in recording.records
    )
    return replace(recording, records=tuple(records))


def _common(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _common(part) for key, part in value.items() if key not in _OF_ONE_RUN}
    if isinstance(value, list | tuple):
        return [_common(part) for part in value]
    return value


def parting_words(divergence: Divergence | None) -> str:
    """What differs at the first record where two runs part."""
    if divergence is None:
        return ""
    one, other = divergence.recorded, divergence.replayed
    if other is not None and "error" in other:
        return str(other["error"])
    if one is None or other is None:
        return "one run ends before the other"
    if one["transitions"] != other["transitions"]:
        return _moved(one, other)
    return _asked(one["command"], other["command"])


def _moved(one: Mapping[str, Any], other: Mapping[str, Any]) -> str:
    if _path(one) != _path(other):
        return f"{_path(one)} in the recording, {_path(other)} here"
    pairs = zip(one["transitions"], other["transitions"], strict=True)
    left, right = next(pair for pair in pairs if pair[0] != pair[1])
    if left["reason"] != right["reason"]:
        return f"{left['trigger']} because “{left['reason']}” in the recording, because “{right['reason']}” here"
    return f"{left['trigger']} for other evaluations"


def _path(judged: Mapping[str, Any]) -> str:
    return ", then ".join(transition["trigger"] for transition in judged["transitions"])


def _asked(one: Mapping[str, Any], other: Mapping[str, Any]) -> str:
    different = _OTHER.get(str(one.get("type")), "the next command is a different one")
    if not all("max_tokens" in command for command in (one, other)):
        return different
    was, now = commanded_cap(one), commanded_cap(other)
    if was == now:
        return different
    return f"the call requests {now:,} tokens; no limit was set before" if was is None else _other_cap(was, now)


def _other_cap(was: int, now: int | None) -> str:
    if now is None:
        return f"the call sets no limit instead of {was:,} tokens"
    return f"the call requests {now:,} tokens instead of {was:,}"


def reach_words(imagined: WhatIf, *, made: int) -> str:
    """How far the recording reaches under the numbers of an undecidable what-if; empty where that is not its reason.
    `made`: how many calls were recorded."""
    if imagined.final is None or not imagined.records:
        return ""
    last, iteration = imagined.records[-1], imagined.final.iteration
    command = last.command
    if isinstance(last.event, Interrupted) and last.provenance is Provenance.DERIVED and last.event.partial is not None:
        asked = imagined.records[-2].command if len(imagined.records) > 1 else command
        known = last.event.partial.usage.output_tokens if last.event.partial.usage else 0
        if not known:
            return (
                f"Call {asked.get('attempt', 1)} was stopped before its end. What would have followed is not recorded."
            )
        cap = commanded_cap(asked) if "request" in asked else 0
        allowed = "Without a limit" if cap is None else f"With {cap:,} tokens per call"
        return (
            f"The recording has the first {known:,} tokens (≈) of call {asked.get('attempt', 1)}. {allowed}, the model "
            "would have continued, and that text is not recorded."
        )
    if imagined.why is Why.TOOL_RESULTS:
        names = ", ".join(sorted({call["name"] for call in command.get("calls", ())}))
        return f"It would now call {names} with arguments that were never tried in this recording."
    if imagined.why not in _NEVER_MADE:
        return ""
    kind = str(command.get("kind", "")).replace("_", " ")
    place, call = command.get("attempt", 0), f"({kind}, iteration {iteration})"
    if place <= made:
        return f"The answer to call {place} {call} under these limits is not in this recording."
    return f"Call {place} {call} was never made in this recording."
