"""Signs that a stop reason hides truncation. They are shown beside the provider's stop reason and never replace it.

The stop reason says that the answer ended naturally, but its token count or its text says that it was truncated. Each
such finding is a sign, with its evidence in words. The stop reason stays unchanged.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from agentcore import incomplete_text
from agentcore.continuation_merge import Joining, Rule, join
from agentcore.messages import BEYOND_CAP, ChatResponse, ReasonSighting
from agentcore.reasons import CALL_WORDS, ERROR_WORDS, MALFORMED_CALL_WORDS
from agentcore.reasons import NormalizedStopReason as Reason

#: The codes in display order, each with its description.
CODES: Mapping[str, str] = {
    "output_at_cap": "Reported as ended, all output tokens used",
    "unclosed_json": "Reported as ended, inside JSON",
    "unclosed_fence": "Reported as ended, inside a code block",
    "unclosed_bracket": "Reported as ended at the cap, inside a bracket",
    "unclosed_sentence": "Reported as ended at the cap, within a sentence",
    "reasoning_ate_budget": "Reasoning used the output tokens, no text followed",
    "relabelled": "Truncation under another stop reason",
    "ambiguous_seam": "A continuation may begin with a repeat, which was kept",
}

_UNKNOWN = Reason.UNKNOWN  # Python 3.11 takes long to find a member in its enumeration
_NATURAL = (Reason.END_TURN, Reason.TOOL_CALL)
_CUTS = (Reason.MAX_TOKENS, Reason.CONTEXT_WINDOW_EXCEEDED)
_JUDGED = frozenset(ERROR_WORDS | CALL_WORDS | MALFORMED_CALL_WORDS)  #: unknown words that mean something else
_NEAR = 0.98  #: of the cap: some servers do not count the token that ended the answer
_GUESSED = (0.8, 1.6)  #: of the cap, where only the text tells how much was used
_BYTES = 4  #: of UTF-8 text, about as many as a token
_SHOWN = 80  #: characters of evidence
_AROUND = 40  #: characters on each side of a seam's two readings
_THINKING = "<think>"
_HOW = {rule: Joining(rule=max(rule, Rule.TURNS)) for rule in Rule}  #: what is joined to be looked at
_STOPS = ("stop", "stop_sequences", "stopSequences")  #: what dialects call the caller's own strings
_STOPS_IN = ("generationConfig", "inferenceConfig", "options")  #: where some of them keep those
_MAY_STOP = frozenset(_STOPS + _STOPS_IN)


@dataclass(frozen=True, slots=True)
class Sign:
    """One sign of one answer. `text`: a few characters that show it. `at`: their position in the merged answer; None if
    a number is the evidence."""

    code: str  #: one of CODES
    words: str  #: the evidence, as a sentence
    text: str = ""
    at: int | None = None
    #: of a seam with a possible repeat, both readings with the surrounding text: with the repeat, as in the answer,
    #: and without it
    readings: tuple[str, ...] = ()


def lint(
    response: ChatResponse,
    max_tokens: int | None,
    before: str = "",
    *,
    stops: bool = False,
    rule: Rule = Rule.BROKEN_OFF,
) -> tuple[str, ...]:
    """The codes of `signs`."""
    return tuple([sign.code for sign in _signs(response, max_tokens, before, stops, rule)])


def signs(
    response: ChatResponse,
    max_tokens: int | None,
    before: str = "",
    *,
    stops: bool = False,
    rule: Rule = Rule.BROKEN_OFF,
) -> tuple[Sign, ...]:
    """The signs in one answer to a call with this `max_tokens` (None: not known) that contradict its stop reason.
    `before`: the text that the answer continues, joined by `rule`. `stops`: the caller gave stop strings, so an
    unfinished text is not a sign."""
    return tuple(_signs(response, max_tokens, before, stops, rule))


def seam_sign(text: str, start: int, ambiguous: int) -> Sign:
    """The sign of a seam at `start` whose first `ambiguous` characters may be a repeat and were kept."""
    end = start + ambiguous
    before, kept, after = text[max(0, start - ambiguous - _AROUND) : start], text[start:end], text[end : end + _AROUND]
    words = (
        "The continuation begins with characters that the text before it also has. They may be a repeat, or the author "
        "may have written them twice. They were kept."
    )
    if ambiguous >= start:
        words += (
            " Where the whole text so far comes again, the server repeats what it continues: set prefill_echo on the "
            "connection."
        )
    return Sign("ambiguous_seam", words, kept[:_SHOWN], start, (before + kept + after, before + after))


def asks_for_stops(extra: Mapping[str, Any]) -> bool:
    """Whether a call's fields (`Setup.extra`) contain stop strings, in the field of any dialect. Most providers report
    an answer that met one as ended naturally."""
    if _MAY_STOP.isdisjoint(extra):
        return False  # nearly every call
    parts = (extra, *(part for name in _STOPS_IN if isinstance(part := extra.get(name), Mapping)))
    return any(part.get(name) for part in parts for name in _STOPS)


def ended_at_cap(response: ChatResponse, cap: int | None) -> bool:
    """Whether an answer that is reported as ended used every output token. It may have been truncated there."""
    return claims_an_end(response) and _at_cap(response, cap)


def _signs(response: ChatResponse, cap: int | None, before: str, stops: bool, rule: Rule) -> Iterator[Sign]:
    if claims_an_end(response):
        if _at_cap(response, cap):
            words = f"{_used_of(response, cap)} output tokens were used, and the provider says {_word(response)}."
            yield Sign("output_at_cap", words)
        if not stops:
            yield from _unclosed(response, cap, before, _HOW[rule])
    if (cap is None or cap > 0) and _reasoning_ate(response, cap, stops):
        yield Sign("reasoning_ate_budget", _eaten(response, cap), response.reasoning_content[-_SHOWN:])
    if words := _renamed(response, cap):
        yield Sign("relabelled", words)


def claims_an_end(response: ChatResponse) -> bool:
    """Whether the provider reports no truncation: a natural end, or a stop reason that does not indicate one."""
    if response.error is not None or response.incomplete_stream:
        return False
    if response.stop_reason is _UNKNOWN:
        return _folded(response) not in _JUDGED
    return response.stop_reason in _NATURAL or (response.stop_reason in _CUTS and _label(response) is not None)


def _folded(response: ChatResponse) -> str:
    return (response.raw_stop_reason or "").strip().casefold()


def _label(response: ChatResponse) -> ReasonSighting | None:
    """The word for a natural end, where something else in the answer outweighed it."""
    if "relabelled" not in response.diagnostics:
        return None
    return next((seen for seen in response.reason_trail if seen.raw and seen.normalized in _NATURAL), None)


def _used(response: ChatResponse) -> int:
    """Output tokens as the provider counts them; 0 where it did not."""
    return response.usage.output_tokens if response.usage else 0


def _used_of(response: ChatResponse, cap: int | None) -> str:
    return f"{_used(response)}" if cap is None else f"{_used(response)} of {cap}"


def _word(response: ChatResponse) -> str:
    return f"“{response.raw_stop_reason}”" if response.raw_stop_reason else "no stop reason"


def _at_cap(response: ChatResponse, cap: int | None) -> bool:
    """Whether all output tokens were used, with reasoning or, where a server does not count that, without."""
    return cap is not None and response.usage is not None and response.usage.is_at(cap)


def _near_cap(response: ChatResponse, cap: int | None) -> bool:
    """Whether the answer ends about where the cap would have cut it."""
    if cap is None:
        return False
    used, (least, most) = _used(response), _GUESSED
    if used:
        return cap * _NEAR <= used <= cap * BEYOND_CAP + 1
    return least * cap <= len(response.text.encode("utf-8", "replace")) / _BYTES <= most * cap


def _unclosed(response: ChatResponse, cap: int | None, before: str, how: Joining) -> Iterator[Sign]:
    """What the answer has open at its end. What stands before calls may end anywhere."""
    for call in response.broken_tool_calls:
        if incomplete_text.json_at(call.raw) is not None:
            words = f"The arguments of the call of “{call.name}” end before their JSON does."
            yield Sign("unclosed_json", words, call.raw[-_SHOWN:])
    if response.tool_calls or response.broken_tool_calls or _met_stop_sequence(response) or not response.text.strip():
        return
    shapes = _SHAPES if _near_cap(response, cap) else _SURE
    if shapes is _SURE and not _may_open(before + response.text):
        return  # nearly every answer, and joining takes as long as all of this
    text = join(before, response.text, how).text if before else response.text
    for code, find, what in shapes:
        at = find(text)
        if at is not None:
            shown = text.rstrip()[-_SHOWN:]
            words = (
                f"{what} at character {at + 1} and the answer ends at character {len(text.rstrip())} without its end."
            )
            yield Sign(code, words, shown, len(text.rstrip()) - len(shown))
            return


def _may_open(text: str) -> bool:
    """Whether any of `_SURE` may be open in this text, or in what is left of it without a repeat: the first of its
    characters that are not blank is the same."""
    return "`" in text or "~" in text or text.lstrip()[:1] in ("{", "[")


#: Code, where it begins, and the words; the last ones are believed only where the cap is near.
_SHAPES: tuple[tuple[str, Callable[[str], int | None], str], ...] = (
    ("unclosed_json", incomplete_text.json_at, "JSON begins"),
    ("unclosed_fence", incomplete_text.fence_at, "A code block begins"),
    ("unclosed_bracket", incomplete_text.bracket_at, "A bracket opens"),
    ("unclosed_sentence", incomplete_text.sentence_at, "A sentence begins"),
)
_SURE = _SHAPES[:2]  #: believed wherever the answer ends


def _met_stop_sequence(response: ChatResponse) -> bool:
    """Whether the caller's own stop string ended the answer: then it ends wherever that stood."""
    for seen in response.reason_trail:
        if seen.source == "stop_reason" and seen.raw and seen.normalized is Reason.UNKNOWN:
            return True
    return _folded(response) == "stop_sequence"


def _reasoning_ate(response: ChatResponse, cap: int | None, stops: bool) -> bool:
    if response.tool_calls or response.broken_tool_calls or response.refusal or response.error is not None:
        return False
    if response.text.strip() and not _only_thinks(response.text):
        return False
    if response.stop_reason is Reason.MAX_TOKENS:
        reasoned = response.reasoning_content or _used(response) or response.usage is None
        return bool(reasoned or response.text)
    counted = response.usage.reasoning_tokens if response.usage else 0
    seen = bool(response.reasoning_content or response.text or counted)
    return claims_an_end(response) and seen and (_near_cap(response, cap) or (bool(response.text) and not stops))


def _only_thinks(text: str) -> bool:
    """Whether all of a text is reasoning that was never closed."""
    return text.lstrip().startswith(_THINKING) and "</think>" not in text


def _eaten(response: ChatResponse, cap: int | None) -> str:
    """The evidence: counts, or the reasoning itself."""
    usage, shown = response.usage, len(response.reasoning_content or response.text)
    spent = f"{_used_of(response, cap)} output tokens were used" if usage else "No tokens were counted"
    thought = f", {usage.reasoning_tokens} of them for reasoning" if usage and usage.reasoning_tokens else ""
    seen = f"; {shown} characters of reasoning came" if shown else ""
    return f"{spent}{thought}{seen}, and no text."


def _renamed(response: ChatResponse, cap: int | None) -> str:
    """Which word stands for a truncation, and what says that it is one; empty where none does."""
    if response.stop_reason is _UNKNOWN and response.raw_stop_reason and claims_an_end(response):
        return _unheard_of(response, cap)
    if response.stop_reason not in _CUTS:
        return ""
    if (label := _label(response)) is None:
        return ""
    cut = next((seen for seen in response.reason_trail if seen.normalized in _CUTS), None)
    return "" if cut is None else f"{_said(label)}, and {_said(cut)}: the answer was cut."


def _unheard_of(response: ChatResponse, cap: int | None) -> str:
    if not _at_cap(response, cap):
        return ""
    return f"{_word(response)} is no provider's word, and {_used_of(response, cap)} output tokens were used."


def _said(seen: ReasonSighting) -> str:
    return f"{seen.source} says “{seen.raw}”" if seen.raw else f"{seen.source} shows {seen.normalized}"
