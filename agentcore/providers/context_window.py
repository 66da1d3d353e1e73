"""Whether a truncated answer was cut by the cap of its call or by a full context window.

Most providers use one stop reason for both (providers.md, rule 13), vLLM and the Responses API by definition. But a
larger cap only helps in the first case.
"""

from agentcore.messages import ChatResponse, ReasonSighting
from agentcore.providers.wire.reason_tracker import PRIORITIES
from agentcore.reasons import NormalizedStopReason
from agentcore.values import replace

_FULL = NormalizedStopReason.CONTEXT_WINDOW_EXCEEDED


def beside_window(response: ChatResponse, *, max_tokens: int | None, context_window: int | None) -> ChatResponse:
    """The answer, with `context_window_exceeded` for `max_tokens` where its tokens say so.

    This is the case if the output is below the cap of the call (`max_tokens`; None: none was sent), and input and
    output together fill the window. `context_window`: in tokens; None: not known, and the answer stays unchanged. The
    provider's raw stop reason is kept.
    """
    usage = response.usage
    cut = response.stop_reason is NormalizedStopReason.MAX_TOKENS and response.resume_token is None
    if context_window is None or usage is None or not cut:
        return response
    if max_tokens is not None and usage.output_tokens >= max_tokens:
        return response
    if usage.input_tokens + usage.output_tokens < context_window:
        return response
    seen = ReasonSighting("context_window", None, _FULL, PRIORITIES[_FULL])
    diagnostics = tuple(word for word in response.diagnostics if word != "relabelled")
    trail, diagnostics = (*response.reason_trail, seen), (*diagnostics, "relabelled")
    return replace(response, stop_reason=_FULL, reason_trail=trail, diagnostics=diagnostics)
