"""Where two runs diverge, and where the recording ends, in words."""

from collections.abc import Mapping
from typing import Any

from agentcore.events import Interrupted
from agentcore.replay import Divergence, Provenance, WhatIf, Why
from dashboard.turns.sent_caps import commanded_cap

_NEVER_MADE = (Why.MORE_TEXT, Why.ITERATION, Why.OTHER_REQUEST, Why.ANOTHER_ANSWER, Why.REPAIR)


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
    if not all("max_tokens" in command for command in (one, other)):
        return "another command is given"
    was, now = commanded_cap(one), commanded_cap(other)
    if was == now:
        return "another command is given"
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
