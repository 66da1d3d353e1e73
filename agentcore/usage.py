"""How many tokens an answer took, and how many of these were reasoning: as reported, as shown, or perhaps hidden."""

from agentcore.messages import ChatResponse
from agentcore.reasons import NormalizedStopReason

_OF_A_CHARACTER = 0.25  #: of English prose
#: Tokens of a byte above which a text may hide reasoning: prose takes 0.25 in most languages, code a little more.
_DENSE = 0.34
#: Tokens of a byte that every text takes at least: long words of a language that the tokenizer knows well.
_LEAST = 0.1
#: The share of an answer's tokens that may be reasoning without showing: texts differ by as much in how dense they are.
_UNSEEN = 0.25
_OF_A_CALL = 24  #: bytes that the form of a tool call counts as
_OF_AN_END = 4  #: tokens that the form of an answer may take


def withheld(response: ChatResponse) -> bool:
    """Whether a filter blocked this answer and nothing of it is shown: how much was said by then is not known."""
    blocked = response.stop_reason is NormalizedStopReason.SAFETY_BLOCKED
    return blocked and not (response.text or response.tool_calls or response.broken_tool_calls)


def reported(response: ChatResponse | None) -> int | None:
    """The reported output tokens; None where none were reported, or 0 of an answer that has cost some."""
    if response is None or response.usage is None:
        return None
    says = response.text or response.tool_calls or response.broken_tool_calls or response.reasoning_content
    has_cost = says or withheld(response) or response.stop_reason is NormalizedStopReason.MAX_TOKENS
    return response.usage.output_tokens or (None if has_cost else 0)


def slack(cap: int) -> int:
    """By how many tokens an answer that its cap has cut may be shorter: some servers do not count all that they cut."""
    return cap // 50 if cap > 100 else 2


def counts_unreported(response: ChatResponse, cap: int | None, window: int | None) -> bool:
    """Whether its cap has cut an answer with fewer tokens than that, as reported, and no full context `window` explains
    it: then the provider counts tokens that it does not report. A reported 0 is such a report. `cap` None: none was
    sent, so that this shows nothing."""
    usage = response.usage
    if (
        cap is None
        or usage is None
        or usage.output_tokens >= cap
        or response.stop_reason is not NormalizedStopReason.MAX_TOKENS
    ):
        return False
    full = window is not None and usage.input_tokens + usage.output_tokens >= window
    return not full and usage.output_tokens < cap - slack(cap)


def reasoning_of(response: ChatResponse | None, cap: int | None, *, cut: bool) -> int:
    """The provider's count; else the share of the thinking that is shown, of the tokens it counted or was cut at. `cap`
    None: none was sent."""
    if response is None or (response.usage and response.usage.reasoning_tokens):
        return response.usage.reasoning_tokens if response and response.usage else 0
    shown = len(response.reasoning_content)
    if not shown:
        return 0
    length = shown + len(response.text) + written_in(response)
    likely = length * _OF_A_CHARACTER
    output = reported(response) or (likely if cap is None else cap if cut else min(cap, likely))
    return round(output * shown / length)


def shown_in(response: ChatResponse) -> int:
    """Characters of its text and its tool calls."""
    return len(response.text) + written_in(response)


def written_in(response: ChatResponse) -> int:
    """Characters of its tool calls, broken ones included."""
    if not response.tool_calls and not response.broken_tool_calls:
        return 0
    return sum(len(call.raw) + len(call.name) for call in (*response.tool_calls, *response.broken_tool_calls))


def may_hide_reasoning(response: ChatResponse, cap: int | None) -> bool:
    """Whether more tokens were counted than such text takes in most languages, and no reasoning tells what for."""
    if response.usage is not None and 0 < response.usage.output_tokens <= len(response.text) * _DENSE:
        return False  # nearly every answer, and it has at least as many bytes as characters
    cut, output = response.stop_reason is NormalizedStopReason.MAX_TOKENS, reported(response)
    if not _says_too_little(response, cap if output is None and cut else output):
        return False
    return not reasoning_of(response, cap, cut=cut)


def was_generated(response: ChatResponse) -> bool:
    """Whether tokens were counted for the text of this answer: at its cap any are; at its end as many as every text
    takes, for the end mark alone is no text."""
    if response.usage is None:
        return False
    tokens = response.usage.output_tokens - response.usage.reasoning_tokens
    cut = response.stop_reason is NormalizedStopReason.MAX_TOKENS
    return tokens >= (1 if cut else max(2, len(response.text) * _LEAST))


def likely_output(response: ChatResponse) -> int:
    """Tokens that what it shows takes in most texts, where none were reported."""
    return round(_shown(response) * _OF_A_CHARACTER)


def unneeded(response: ChatResponse, output: int) -> int:
    """How many of its tokens may be reasoning that nothing tells of: such a text may take so many fewer."""
    spare = output - _shown(response) * _LEAST
    return max(0, int(min(spare, output * _UNSEEN)))


def _says_too_little(response: ChatResponse, output: int | None) -> bool:
    """Whether what an answer shows may have taken fewer tokens than were counted."""
    if output is None:
        return False
    shown = _shown(response)
    return shown > 0 and output > shown * _DENSE + _OF_AN_END


def _shown(response: ChatResponse) -> int:
    """Bytes of its text and its calls, with what the form of a call counts as."""
    calls = (*response.tool_calls, *response.broken_tool_calls)
    texts = (response.text, *(call.raw + call.name for call in calls))
    return sum(len(text.encode(errors="surrogatepass")) for text in texts) + len(calls) * _OF_A_CALL
