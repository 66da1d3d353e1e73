"""How a value comes about, by what was used and what it leaves besides: on pages, in the API and in the sweep."""

from agentcore.number_format import count, number
from agentcore.policy import LIMIT_NAMES

#: Of a value that is larger than what was used, where nothing more is known of the difference.
MARGIN = " The limit leaves a margin, because this is an estimate."


def with_end(more: int) -> str:
    """Of a value that is as much larger as the end of an answer may take."""
    return f" The limit is {count(more, 'token')} larger, because some providers count an end and do not report it."


def one_call_estimated(value: int, used: int, most: int | None) -> str:
    """Of the cap of one call: `one call would have taken about 353 tokens, at most 404. The limit leaves a margin of 5
    tokens above that …`. `most`: the upper end of what the recording bears out."""
    top = max(used, most or 0)
    range_end = f", at most {number(top)}" if top > used else ""
    taken = f"By this recording, one call would have taken about {count(used, 'token')}{range_end}."
    if value <= top:
        return taken
    return (
        f"{taken} The limit leaves a margin of {count(value - top, 'token')} above that, because this is an estimate."
    )


def whole_last_call(value: int, used: int, room: int | None) -> str:
    """Of a total that ends no call early: `480 is 360 used before its last call and 120 that this call may use …`.
    Empty where it is made up otherwise. `room`: the cap of a call."""
    before = value - (room or 0)
    if room is None or not 0 <= before <= used < value:
        return ""
    return (
        f" {number(value)} is {number(before)} used before its last call and {number(room)} that this call may use "
        f"({LIMIT_NAMES['max_tokens']})."
    )
