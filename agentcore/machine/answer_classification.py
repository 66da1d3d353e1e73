"""What an answer is, judged by what it contains and then by what it calls itself (design §3.1 and §3.2)."""

from agentcore import tool_call_markup
from agentcore.errors import ErrorType, ProviderError
from agentcore.events import ToolResult
from agentcore.messages import CallIssue, ChatResponse, ToolCall, ToolSpec
from agentcore.policy import OnTruncation, Policy, Violation
from agentcore.reasons import CALL_WORDS, ERROR_WORDS, TIMEOUT_WORDS
from agentcore.reasons import NormalizedStopReason as Reason
from agentcore.snapshot import Snapshot
from agentcore.states import Trigger
from agentcore.values import replace

# Python 3.11 takes longer to find a member in its enumeration than to call a function, and every answer asks for these.
_UNKNOWN, _MAX_TOKENS, _PAUSED, _END_TURN = Reason.UNKNOWN, Reason.MAX_TOKENS, Reason.PAUSED, Trigger.END_TURN
MAX_ID_CHARS = 256  #: a provider's call id is a key of ours; a longer one gets one of our own

_ENDINGS = {
    Reason.SAFETY_BLOCKED: Trigger.SAFETY_BLOCKED,
    Reason.CONTEXT_WINDOW_EXCEEDED: Trigger.CONTEXT_WINDOW_EXCEEDED,
    Reason.CANCELLED: Trigger.CANCELLED,
}
_CUTS = {Reason.MAX_TOKENS: Trigger.MAX_TOKENS, Reason.PAUSED: Trigger.PAUSED}


def word_of(response: ChatResponse) -> str:
    """The provider's own word, folded; empty where there was none."""
    return (response.raw_stop_reason or "").strip().casefold()


def classify(snapshot: Snapshot, response: ChatResponse, policy: Policy) -> Trigger:
    """Which way out of `evaluate_stop` an answer asks for, before limits and criteria have their say.

    Judged in this order: error, envelope, block, broken call, truncation, whole calls, natural end.
    """
    reason = response.stop_reason
    if (response.error is not None or reason is _UNKNOWN) and response_error(response) is not None:
        return Trigger.RESPONSE_ERROR
    has_calls = bool(response.tool_calls or response.broken_tool_calls)
    if reason in _CUTS and not has_calls and _warm_up(snapshot):
        return Trigger.END_TURN
    if snapshot.asked.envelope_schema is not None and not has_calls and reason is not _PAUSED:
        return Trigger.ENVELOPE
    if reason in _ENDINGS:
        return _ENDINGS[reason]
    if has_calls and broken_issue(snapshot, response, policy) is not None:
        return Trigger.BROKEN_TOOL_CALL
    if reason is _UNKNOWN and word_of(response):
        return _unknown_word(response)
    if reason in _CUTS and not (response.tool_calls and reason is _MAX_TOKENS):
        return _CUTS[reason]
    return Trigger.TOOL_CALL if response.tool_calls else _END_TURN


def as_asked(snapshot: Snapshot, response: ChatResponse) -> ChatResponse:
    """The answer beside what was asked: badly written output is a broken call only where there were tools to call, and
    so is the markup of a call that was cut in the text."""
    if not snapshot.asked.tools:
        malformed = word_of(response) == "malformed_model_output" and not response.tool_calls
        return replace(response, stop_reason=Reason.UNKNOWN, broken_tool_calls=()) if malformed else response
    if snapshot.revision and response.stop_reason is _MAX_TOKENS:
        return _with_written_call(snapshot, response, snapshot.revision)
    return response


def _with_written_call(snapshot: Snapshot, response: ChatResponse, revision: int) -> ChatResponse:
    """A cut answer whose text ends inside the markup of a tool call has that call, cut; its text ends before it."""
    if response.tool_calls or response.broken_tool_calls:
        return response
    bare = revision >= 4 and _is_bare_call(snapshot, response.text)
    begins = 0 if bare else tool_call_markup.left_open(response.text, later=revision >= 3)
    if begins is None:
        return response
    written = response.text[begins:]
    call = ToolCall("", tool_call_markup.name_in(written), raw=written, issue=CallIssue.TRUNCATED, shown_whole=False)
    return replace(response, text=response.text[:begins], broken_tool_calls=(call,), echo=None)


def _is_bare_call(snapshot: Snapshot, text: str) -> bool:
    """Whether the answer is the beginning of a tool call in bare JSON. Where JSON was asked for, it is the answer."""
    begins = not snapshot.answer.text.strip() and snapshot.asked.envelope_schema is None
    return begins and tool_call_markup.is_cut_bare_call(text, [tool.name for tool in snapshot.asked.tools])


def _warm_up(snapshot: Snapshot) -> bool:
    """`max_tokens: 0` fills a cache; that it ends in `max_tokens` is no truncation."""
    return snapshot.call is not None and snapshot.call.max_tokens == 0


def _unknown_word(response: ChatResponse) -> Trigger:
    if word_of(response) in CALL_WORDS or not response.text:
        return Trigger.UNKNOWN_FATAL
    return Trigger.END_TURN


def response_error(response: ChatResponse) -> ProviderError | None:
    """The error an answer carries: an error object, a stream without its end, or a word that means one."""
    if response.error is not None:
        return response.error
    if response.stop_reason is not _UNKNOWN:
        return None
    if response.incomplete_stream:
        return ProviderError(ErrorType.MODEL, "incomplete_stream", "The stream ended before the answer did.")
    word = word_of(response)
    if word in ERROR_WORDS:
        error = ErrorType.TIMEOUT if word in TIMEOUT_WORDS else ErrorType.MODEL
        return ProviderError(error, word, f"The provider ended the answer with “{word}”.")
    return None


def broken_issue(snapshot: Snapshot, response: ChatResponse, policy: Policy) -> CallIssue | None:
    """Why the answer's calls may not run and must be asked for again; None where nothing is broken."""
    if response.broken_tool_calls:
        issues = [call.issue for call in response.broken_tool_calls]
        return CallIssue.TRUNCATED if CallIssue.TRUNCATED in issues else CallIssue.MALFORMED
    if response.stop_reason is not _MAX_TOKENS or not response.tool_calls:
        return None
    if policy.tool_calls_on_truncation is OnTruncation.REPAIR:
        return CallIssue.TRUNCATED
    tools = {tool.name: tool for tool in snapshot.asked.tools}
    whole = all(
        call.shown_whole and call.name in tools and not _violations(call, tools[call.name], policy)
        for call in response.tool_calls
    )
    return None if whole else CallIssue.TRUNCATED


def _violations(call: ToolCall, tool: ToolSpec, policy: Policy) -> list[Violation]:
    """What is wrong with a call's arguments. A validator that fails has not found them right; they do not run."""
    if call.custom or policy.validate is None:
        return []
    try:
        return policy.validate(tool.schema, dict(call.arguments))
    except Exception as error:
        return [Violation("", "", "unchecked", f"they could not be checked ({type(error).__name__})")]


def rejections(snapshot: Snapshot, policy: Policy) -> tuple[ToolResult, ...]:
    """Error results for whole calls that name an unknown tool or do not fit its schema."""
    tools = {tool.name: tool for tool in snapshot.asked.tools}
    results = []
    for call in snapshot.calls:
        if call.name not in tools:
            known = ", ".join(tools) or "none"
            problem = f"There is no tool named “{call.name}”. Known tools: {known}."
        elif violations := _violations(call, tools[call.name], policy):
            problem = "The arguments do not fit: " + "; ".join(v.message for v in violations[:3])
        else:
            continue
        results.append(ToolResult(call.id, call.name, problem, ErrorType.TOOL))
    return tuple(results)


def _free_id(wanted: str, taken: set[str]) -> str:
    while wanted in taken:
        wanted += "_"
    return wanted


def with_unique_ids(calls: tuple[ToolCall, ...], taken: frozenset[str], attempt: int) -> tuple[ToolCall, ...]:
    """Every call of a turn has an id of its own; a missing or repeated one derives from attempt and position."""
    seen = set(taken)
    named = []
    for position, call in enumerate(calls):
        usable = 0 < len(call.id) <= MAX_ID_CHARS and call.id not in seen
        unique = call if usable else replace(call, id=_free_id(f"call_{attempt}_{position}", seen))
        seen.add(unique.id)
        named.append(unique)
    return tuple(named)
