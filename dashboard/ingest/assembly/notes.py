"""What is not known of a turn, or differs from what its provider said: a code, and a sentence for people."""

from collections.abc import Iterator
from dataclasses import dataclass

from agentcore.reasons import NormalizedStopReason
from agentcore.values import quickly_made
from dashboard.ingest.assembly.model_answers import (
    AUTOGEN_CALLS,
    UNNAMED,
    is_blank_without_reason,
    lacks_its_end,
    lost_with_its_reason,
    used_nothing,
)
from dashboard.ingest.assembly.turn_grouping import TurnCall, TurnCalls
from dashboard.ingest.conventions.observations import LoopFailure, ModelCall
from dashboard.ingest.conventions.tables import LUMPED, dialect_of
from dashboard.turns.sent_caps import CAP_UNKNOWN

#: OpenTelemetry's words, which no provider of these dialects says: an instrumentation wrote them in place of its own.
_OTHERS = frozenset({"length", "tool_call", "tool_calls", "stop", "content_filter", "error"})
_RENAMED = {"anthropic": _OTHERS, "bedrock": _OTHERS, "cohere": _OTHERS, "gemini": _OTHERS - {"stop"}}
_CAP_UNKNOWN = "The trace does not contain the limit of output tokens that was requested."
_CUT_AT = " What the truncated answer used is taken for the limit."
_ENDED = "The agent's loop ended with what the tools of the last call gave, without calling the model again."
_INVENTED = (
    "The instrumentation writes “{word}” and counts of its own for every stream. The provider's stop reason and token "
    "counts are not in the trace."
)
_EMPTY = " The answer is recorded as empty, so it is shown as an empty answer; why it is empty is unknown."
_RUN = (
    "The trace has the run of an agent, but none of its model calls. The run is shown as one call: its text and its "
    "token counts may be those of several calls, and their stop reasons are unknown."
)
_IN_ONE = (
    "Tools ran within the span of this call ({tools}), so it holds several requests to the model. They are "
    "shown as one. Its token counts may be their sum, or those of the last request."
)
_FROM_AGENT = (
    "The span of this call does not contain its answer. Its text is what the agent gave in the end; tool calls are "
    "unknown."
)
_OVERWRITTEN = (
    "LiteLLM wrote this call on the span around it. Each call within that span replaces the one before it, so other "
    "calls may be missing. Set USE_OTEL_LITELLM_REQUEST_SPAN=true to have a span for each call."
)
_LITELLM, _LITELLM_CALL = "litellm", "litellm.call_id"
_MOST_OF_FAILURE = 300  #: characters
_HYPHEN = "-"  #: stands in the AI SDK's own words only


@quickly_made
@dataclass(frozen=True, slots=True)
class Note:
    """`attempt`: of which call; 0: of the whole turn."""

    code: str
    words: str
    attempt: int = 0


def notes_of(turn: TurnCalls, unread: int = 0) -> list[Note]:
    """Every note of the turn. `unread`: how many spans of its trace could not be read."""
    found = [Note(code, words, place) for place, step in enumerate(turn.steps, 1) for code, words in _of(step)]
    if unread:
        spans = "1 span" if unread == 1 else f"{unread:,} spans"
        found.append(
            Note("spans_unread", f"{spans} of this trace could not be read, so a call or a tool may be missing.")
        )
    reason = turn.loop.word if turn.loop is not None else None
    if reason:
        found.append(Note("loop_reason", f"The loop around the calls gave “{reason}” as its own reason."))
    if turn.ending:
        found.append(Note("loop_ended", _ENDED))
    if turn.failure is not None and turn.steps[-1].call.error is None:
        found.append(Note("loop_failed", loop_failure_told(turn.failure)))
    return found


def loop_failure_told(failure: LoopFailure) -> str:
    """How a loop failed, in a sentence."""
    if failure.in_words:
        return failure.message
    words = failure.message.strip()[:_MOST_OF_FAILURE].rstrip(".")
    if failure.is_limit:
        return f"A limit of the agent's loop ended it: “{words}”."
    return f"The agent's loop ended with an error: “{words}”."


def _of(step: TurnCall) -> Iterator[tuple[str, str]]:
    call, content = step.call, step.call.content
    answer_is_cut = step.answer.stop_reason is NormalizedStopReason.MAX_TOKENS
    if len(call.spans) > 1:
        yield "told_twice", f"{len(call.spans)} spans describe this call. They are shown as one.{_elsewhere(call)}"
    if call.span.dropped:
        yield "attributes_dropped", _dropped(call.span.dropped)
    if call.is_run:
        yield "run_without_calls", _RUN
    if _LITELLM_CALL in call.span.attributes and not call.span.scope.startswith(_LITELLM):
        yield "calls_overwritten", _OVERWRITTEN
    if content.input is None:
        yield "input_unknown", "The trace does not contain the request."
    if not content.answered and call.error is None and not used_nothing(call, step.answer.stop_reason):
        yield "answer_unknown", "The trace does not contain the content of the answer."
    if not call.words and call.error is None:
        yield "reason_unknown", "The trace has no stop reason for this call." + _blank(call)
    if call.usage is None and call.error is None:
        yield "usage_unknown", "The trace has no token counts, so they are estimated."
    if call.max_tokens is None and not call.uncapped:
        yield CAP_UNKNOWN, _CAP_UNKNOWN + (_CUT_AT if answer_is_cut else "")
    if call.exchange is not None:
        yield from call.exchange.notes
    yield from _of_reason(call)
    yield from _of_calls(step)


def _blank(call: ModelCall) -> str:
    """What follows for an answer of which the trace has nothing."""
    if lost_with_its_reason(call):
        used = call.usage.output_tokens if call.usage is not None else 0
        return f" It counts {used:,} output tokens, but contains neither text nor a tool call: the answer was lost."
    return _EMPTY if is_blank_without_reason(call) else ""


def _elsewhere(call: ModelCall) -> str:
    traces = " and ".join(call.elsewhere)
    return f" Of these, {traces} came as a trace of its own, with the same response id." if traces else ""


def _dropped(count: int) -> str:
    told = "1 attribute" if count == 1 else f"{count:,} attributes"
    return f"The exporter dropped {told} of this call's span, so earlier messages or tools may be missing."


def _of_reason(call: ModelCall) -> Iterator[tuple[str, str]]:
    if call.invented:
        yield "reason_invented", _INVENTED.format(word=call.invented)
    lumped = (told for scope, told in LUMPED.items() if call.span.scope.startswith(scope))
    yield from (("reason_lumped", words) for word, words in lumped if [one.raw for one in call.words] == [word])
    raw = [word.raw for word in call.words]
    dialect = dialect_of(call.provider)
    renamed = [word for word in raw if word in _RENAMED.get(dialect, ()) or _HYPHEN in word or word == AUTOGEN_CALLS]
    if renamed:
        own = [word for word in raw if word not in renamed and _spelt(word) != _spelt(renamed[0])]
        said = (
            f"; the provider's own stop reason was “{own[0]}”"
            if own
            else "; the provider's own stop reason is not in the trace"
        )
        yield "reason_renamed", f"The instrumentation's word for the stop reason is “{renamed[0]}”{said}."


def _spelt(word: str) -> str:
    """The word without what two spellings of it differ by: AI SDK 7 writes “tool-calls” beside “tool_call”, and neither
    is the provider's own."""
    return word.replace(_HYPHEN, "_").removesuffix("s")


def _of_calls(step: TurnCall) -> Iterator[tuple[str, str]]:
    call, content, answer = step.call, step.call.content, step.answer
    is_cut = answer.stop_reason is NormalizedStopReason.MAX_TOKENS
    used = call.usage.output_tokens if call.usage is not None else 0
    if content.answered and lacks_its_end(call, answer.stop_reason):
        may = " They may be a truncated tool call that was lost." if content.tools else ""
        lost = (
            "Nothing of the truncated answer is"
            if call.usage is None
            else f"{used} output tokens are neither text nor a tool call"
        )
        yield "cut_call_lost", f"{lost} in the trace.{may}"
    last = content.calls[-1] if content.calls else None
    if is_cut and last is not None and last.may_hide_a_cut:
        yield (
            "cut_arguments_lost",
            "The trace has the arguments of the truncated tool call as a complete object, not as the truncated text.",
        )
    if call.calls_from_next:
        yield (
            "calls_from_next",
            "The span of this call does not contain its tool calls. They are taken from the next request.",
        )
    if call.calls_from_tools:
        yield (
            "calls_from_tools",
            "The span of this call does not contain its answer. Its tool calls are those that the agent then ran. "
            "Their arguments, and any text, are unknown.",
        )
    if call.text_from_agent:
        yield "text_from_agent", _FROM_AGENT
    if call.ran_within and not call.is_run:
        yield "requests_in_one", _IN_ONE.format(tools=", ".join(dict.fromkeys(call.ran_within)))
    is_unnamed = any(asked.name == UNNAMED for asked in content.calls or ())
    if is_unnamed or (answer.stop_reason is NormalizedStopReason.TOOL_CALL and not content.calls):
        yield "calls_unknown", "The model called a tool. Its name and arguments are not in the trace."
