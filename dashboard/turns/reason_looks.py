"""The hue, shape and label of every word of why something stopped, and of where a turn stands.

The template tag `reason` draws them. The shapes are symbols of `static/img/shapes.svg`, the hues tokens of
`static/css/tokens.css`.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Look:
    """One word's look."""

    hue: str  #: `w-<hue>` colours it: end, cut, limit, tool, block, odd, wait, fact, sure or guess
    shape: str  #: the symbol's id
    label: str  #: the word in English, in the middle of a sentence


UNKNOWN = Look("odd", "question", "unknown")

LOOKS: dict[str, Look] = {
    # why the model stopped
    "end_turn": Look("end", "check", "ended"),
    "tool_call": Look("tool", "nut", "called a tool"),
    "max_tokens": Look("cut", "torn", "cut off"),
    "context_window_exceeded": Look("block", "overflow", "context window full"),
    "safety_blocked": Look("block", "octagon", "blocked"),
    "cancelled": Look("wait", "cross", "cancelled"),
    "paused": Look("tool", "bars", "paused by the provider"),
    "unknown": Look("odd", "question", "unknown or not given"),
    "doubtful": Look("cut", "question", "end not certain"),
    # why the agent stopped
    "completed": Look("end", "check", "completed"),
    "steps_limit": Look("limit", "wall", "steps limit"),
    "token_limit": Look("limit", "wall", "token limit"),
    "time_limit": Look("limit", "clock", "time limit"),
    "retry_limit": Look("limit", "wall", "continuation or retry limit"),
    "error": Look("block", "triangle", "error"),
    "finish_reason": Look("block", "octagon", "ended by the model's stop reason"),
    "guard": Look("limit", "shield", "stopped by a guard"),
    "user_requested": Look("wait", "cross", "stopped by a person"),
    # where a turn stands
    "queued": Look("wait", "ring", "queued"),
    "running": Look("tool", "play", "running"),
    "held": Look("cut", "bars", "held"),
    "partial": Look("cut", "half", "partial"),
    "aborted": Look("block", "octagon", "aborted"),
    "failed": Look("block", "triangle", "failed"),
    "interrupted": Look("odd", "broken", "interrupted"),
    # the terminal reasons that are none of these
    "budget_exhausted": Look("limit", "wall", "budget used up"),
    "output_cap": Look("limit", "shield", "output limit reached"),
    "repetition": Look("limit", "shield", "repetition"),
    "empty_output": Look("odd", "ring", "empty answer"),
    "forbidden": Look("limit", "shield", "forbidden by a criterion"),
    "tool_repair_failed": Look("block", "nut", "tool call not repaired"),
    "cut_below_cap": Look("cut", "torn", "cut below the cap"),
    "broken_tool_call": Look("block", "nut", "broken tool call"),
    "envelope_truncation_unrecoverable": Look("cut", "torn", "envelope cut off"),
    "envelope_invalid": Look("block", "triangle", "invalid envelope"),
    "envelope_refusal": Look("block", "octagon", "refused"),
    "provider_error": Look("block", "triangle", "provider error"),
    "unknown_fatal": Look("odd", "question", "unknown reason"),
    # how certain a what-if is
    "recorded": Look("fact", "disc", "recorded"),
    "certain": Look("sure", "equal", "certain"),
    "estimated": Look("guess", "about", "likely"),
    "undecidable": Look("odd", "question", "not known"),
    # signs that a stop reason hides a cut
    "output_at_cap": Look("cut", "torn", "ended at the cap"),
    "unclosed_json": Look("cut", "torn", "JSON not closed"),
    "unclosed_fence": Look("cut", "torn", "code not closed"),
    "unclosed_bracket": Look("cut", "torn", "bracket not closed"),
    "unclosed_sentence": Look("cut", "torn", "sentence not ended"),
    "reasoning_ate_budget": Look("cut", "ring", "reasoning only"),
    "relabelled": Look("cut", "torn", "truncation mislabelled"),
    "ambiguous_seam": Look("odd", "question", "possible repeat"),
}


#: What it means that a turn has no word of that kind. An answer whose stop reason was not given is `unknown`.
WITHOUT = {"model_stop_reason": "no answer", "stop_reason": "not stopped yet"}


def look_of(word: object) -> Look:
    """The look of a word of ours; any other, and none, looks unknown."""
    return LOOKS.get(str(word), UNKNOWN)


def reason_label(word: object) -> str:
    """A word in English; a word that is not ours stays as it is."""
    look = look_of(word)
    return str(word) if look is UNKNOWN and word else look.label
