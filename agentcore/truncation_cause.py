"""The cause of a reported truncation: the cap of the call, reasoning that used it up, or something else.

Most providers use one stop reason for all three. Reported token counts distinguish them.
"""

from typing import NamedTuple

from agentcore.messages import ChatResponse
from agentcore.number_format import count, number
from agentcore.policy import limit_in_words
from agentcore.reasons import NormalizedStopReason


class CapWords(NamedTuple):
    """The name of a call's cap, and the words for a call without one."""

    name: str  #: by its key or by the name that readers see
    unset: str  #: that none was set, as the end of a sentence


STORED = CapWords("max_tokens", "with no max_tokens set")  #: in reasons that histories keep
_CAP = limit_in_words("max_tokens")
SHOWN = CapWords(_CAP, f"with {_CAP} not set")  #: in sentences for readers

#: Of the cap: an answer that used less was not cut by it. Below by far, for counts differ by a few between servers.
_CLEARLY = 0.9
_BYTES = 4  #: of reasoning that is shown and not counted, about as many as a token


def below_cap(response: ChatResponse, cap: int | None) -> bool:
    """Whether the answer was truncated although its call had tokens left: by a full context window, or by the server's
    own limit. True only if the provider counted tokens, and never if its count may exclude reasoning.

    An answer with a resume token was paused by the provider. `cap` None: the provider was
    sent none, so no cap cut the answer.
    """
    usage = response.usage
    cut = response.stop_reason is NormalizedStopReason.MAX_TOKENS and response.resume_token is None
    if cap is None:
        return cut
    if not cut or usage is None or usage.output_tokens <= 0 or not _says(response):
        return False
    return not _spent(response, cap)


def _spent(response: ChatResponse, cap: int) -> bool:
    """Whether the reported tokens come close to the cap, or may: reasoning may stand beside their count."""
    assert response.usage is not None, "the provider counted"
    thought = len(response.reasoning_content.encode("utf-8", "replace")) // _BYTES
    return response.usage.output_tokens + (response.usage.reasoning_tokens or thought) + 1 >= cap * _CLEARLY


def _says(response: ChatResponse) -> bool:
    """Whether anything came of it: where nothing did, hidden reasoning may have used the cap."""
    return bool(response.text.strip() or response.tool_calls or response.broken_tool_calls)


def eaten(response: ChatResponse, cap: int | None) -> bool:
    """Whether reasoning used up the tokens of a truncated answer, so that none were left for its text."""
    if response.stop_reason is not NormalizedStopReason.MAX_TOKENS or cap is None or cap <= 0 or _says(response):
        return False
    usage = response.usage
    if usage is None or usage.output_tokens <= 0:
        return bool(response.reasoning_content)
    thought = usage.reasoning_tokens > 0 or bool(response.reasoning_content) or not response.text
    return thought and _spent(response, cap)


def used_of(response: ChatResponse, cap: int | None) -> str:
    """The usage as text: `482 of 4,000 tokens`; `4,000 tokens` if the provider did not count; `482 tokens` if the cap
    is not known."""
    if cap is None:
        return count(response.usage.output_tokens, "token") if response.usage else "an unknown number of tokens"
    used = f"{number(response.usage.output_tokens)} of " if response.usage else ""
    return f"{used}{number(cap)} tokens"


def where_cut(response: ChatResponse, cap: int | None, words: CapWords = STORED) -> str:
    """Where an answer was truncated, if not by its cap: `at 482 of 4,000 tokens, below max_tokens`; of a call without a
    cap `at 60 tokens, with no max_tokens set`."""
    if cap is not None:
        return f"at {used_of(response, cap)}, below {words.name}"
    used = response.usage.output_tokens if response.usage else 0
    return f"at {count(used, 'token')}, {words.unset}" if used else words.unset


def beside_word(response: ChatResponse, cap: int | None, words: CapWords = STORED) -> str:
    """The same, as shown beside the provider's stop reason: `at 482 of 4,000 tokens: below the cap`."""
    if cap is not None:
        return f"at {used_of(response, cap)}: below the cap"
    return where_cut(response, cap, words)
