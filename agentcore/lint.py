"""Signs that a stop reason does not tell the whole truth. Evidence beside the provider's word, never instead of it."""

from pydantic_core import from_json

from agentcore.messages import ChatResponse
from agentcore.reasons import NormalizedStopReason

_NATURAL = (NormalizedStopReason.END_TURN, NormalizedStopReason.TOOL_CALL)


def lint(response: ChatResponse, max_tokens: int) -> tuple[str, ...]:
    """The codes that apply to one answer: `output_at_cap`, `unclosed_json`, `unclosed_fence`, `reasoning_ate_budget`,
    `relabelled`."""
    codes = _signs_of_a_cut(response, max_tokens) if response.stop_reason in _NATURAL else []
    cut = response.stop_reason is NormalizedStopReason.MAX_TOKENS and max_tokens > 0
    if cut and not response.text.strip() and not response.tool_calls:
        codes.append("reasoning_ate_budget")
    if "relabelled" in response.diagnostics:
        codes.append("relabelled")
    return tuple(codes)


def _signs_of_a_cut(response: ChatResponse, max_tokens: int) -> list[str]:
    """What in an answer with a natural reason looks cut."""
    used = response.usage.output_tokens if response.usage else None
    found = {
        "output_at_cap": used is not None and 0 < max_tokens <= used,
        "unclosed_json": _unclosed_json(response.text),
        "unclosed_fence": response.text.count("```") % 2 == 1,
    }
    return [code for code, applies in found.items() if applies]


def _unclosed_json(text: str) -> bool:
    """Whether the text begins as JSON and ends before the JSON does."""
    if text.lstrip()[:1] not in ("{", "["):
        return False
    try:
        from_json(text.strip())
    except ValueError as error:
        return "EOF while parsing" in str(error)
    return False
