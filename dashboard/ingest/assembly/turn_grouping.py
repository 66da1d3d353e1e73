"""Groups the calls of a trace into turns: calls of one loop or span that continue one another.

Also holds tool calls, or their ids, that an answer's own span lacks, and the next request or the tools' own spans hold:
some instrumentations lose them, or record no content.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise, takewhile

from agentcore.messages import ChatResponse, Message, Role, ToolCall
from agentcore.reasons import NormalizedStopReason
from agentcore.values import quickly_made, replace
from dashboard.ingest.assembly.call_links import SLACK, CallLink, call_link_of
from dashboard.ingest.assembly.model_answers import UNNAMED, answer_of, meaning_of
from dashboard.ingest.assembly.span_tree import SpanTree
from dashboard.ingest.conventions.content.shapes import words
from dashboard.ingest.conventions.observations import AskedCall, Loop, LoopFailure, ModelCall, ToolRun

_ENDS = frozenset({NormalizedStopReason.END_TURN, NormalizedStopReason.TOOL_CALL})
_CUT = frozenset({NormalizedStopReason.MAX_TOKENS, NormalizedStopReason.CONTEXT_WINDOW_EXCEEDED})


def with_calls_from(call: ModelCall, after: ModelCall) -> ModelCall:
    """`call` with the tool calls that `after` sends back as its answer, where the trace has none of them itself."""
    is_told = call.error is not None or call.exchange is not None
    message = None if is_told else _answer_in(call, after)
    if message is not None and call.content.calls:
        return _with_ids(call, message)
    if message is None or any(meaning_of(word.raw) in _CUT for word in call.words):
        return call
    told = call.content
    text = message.text if told.text is None else told.text
    asked = tuple(AskedCall(one.id, one.name, one.raw, is_object=True) for one in message.tool_calls)
    return replace(call, content=replace(told, text=text, calls=asked), calls_from_next=True)


def with_calls_run(call: ModelCall, after: ModelCall, ran: Sequence[ToolRun]) -> ModelCall:
    """`call` with the tools that its loop ran before it called the model again, where nothing of its answer is told.

    What the model asked for is then known by name alone. A loop that runs a tool was asked to: some providers' word for
    that is the one for a natural end. `ran`: by when they began."""
    content = call.content
    is_told = call.error is not None or call.exchange is not None or content.answered or not call.words
    if is_told or any(meaning_of(word.raw) not in _ENDS for word in call.words):
        return call
    first = bisect_left(ran, call.span.end - SLACK, key=_began)
    begun = ran[first : bisect_right(ran, after.span.start + SLACK, key=_began)]
    between = [one for one in begun if one.span.end <= after.span.start + SLACK]
    if not between:
        return call
    asked = tuple(AskedCall(one.call_id, one.name, "", is_object=True) for one in between)
    return replace(call, content=replace(content, calls=asked), calls_from_tools=True)


def _began(run: ToolRun) -> int:
    return run.span.start


def _with_ids(call: ModelCall, message: Message) -> ModelCall:
    """LiteLLM tells calls without their ids, by which their results are found."""
    asked, sent = call.content.calls or (), message.tool_calls
    if any(one.id for one in asked) or [one.name for one in asked] != [one.name for one in sent]:
        return call
    named = tuple(replace(one, id=same.id) for one, same in zip(asked, sent, strict=True))
    return replace(call, content=replace(call.content, calls=named))


def _answer_in(call: ModelCall, after: ModelCall) -> Message | None:
    """The message after the whole of this call's conversation, if it has the same text, tool calls, and results."""
    asked, sent = call.content.input, after.content.input
    if call.model != after.model or not asked or not sent or sent[: len(asked)] != asked:
        return None
    added = sent[len(asked) :]
    if added and added[0].role is Role.TOOL:
        return _asker_of(added, call)
    if [one.role for one in added[:2]] != [Role.ASSISTANT, Role.TOOL] or not added[0].tool_calls:
        return None
    message = added[0]
    is_same = call.content.text is None or call.content.text.strip() == message.text.strip()
    return message if is_same else None


def _asker_of(results: Sequence[Message], call: ModelCall) -> Message | None:
    """The message that asked for these results, where Langtrace lost it: the names of its calls are not told."""
    ids = [one.tool_call_id for one in takewhile(lambda one: one.role is Role.TOOL, results)]
    calls = tuple(ToolCall(name or "", UNNAMED) for name in ids)
    return Message(Role.ASSISTANT, call.content.text or "", calls) if all(ids) else None


@quickly_made
@dataclass(frozen=True, slots=True)
class TurnCall:
    """A call of a turn with its answer, and how it goes on from the one before it; None for the first."""

    call: ModelCall
    answer: ChatResponse
    joint: CallLink | None


@quickly_made
@dataclass(frozen=True, slots=True)
class TurnCalls:
    """The calls of one turn, and the loop that they are of. `failure`: how that failed, after its last call; `ending`:
    the tools of its last call, where the loop ended with what they gave."""

    steps: tuple[TurnCall, ...]
    loop: Loop | None
    failure: LoopFailure | None = None
    ending: tuple[str, ...] = ()


#: Tools that are called to end a loop, by the names that frameworks give them.
_ENDING = frozenset({"final_answer", "final_result"})
RAN = (
    "The tools of the last call had run, and the model was not called with their results. The trace does not tell "
    "whether the agent or a limit of its loop ended it."
)


def joined(calls: Iterable[ModelCall], places: SpanTree, tools: Sequence[ToolRun] = ()) -> Iterator[TurnCalls]:
    """The turns, by when they began. `tools`: those that ran."""
    by_place: dict[str, tuple[Loop | None, list[ModelCall]]] = {}
    for call in calls:
        loop = places.loop_of(call.span.id)
        place = loop.span.id if loop else call.span.parent or call.span.id
        by_place.setdefault(place, (loop, []))[1].append(call)
    ran: dict[str, list[ToolRun]] = {}
    for run in tools:
        if (around := places.loop_of(run.span.id)) is not None:
            ran.setdefault(around.span.id, []).append(run)
    found = [
        turn
        for loop, calls in by_place.values()
        for tools_of in (ran.get(loop.span.id, ()) if loop else (),)
        for turn in _turns_in(_steps(_with_error(_with_text(calls, loop), loop), tools_of), loop, tools_of)
    ]
    yield from sorted(found, key=lambda turn: (turn.steps[0].call.span.start, turn.steps[0].call.span.id))


def _with_error(calls: Sequence[ModelCall], loop: Loop | None) -> Sequence[ModelCall]:
    """The last call with the error of its loop, where nothing is told of its answer: the span of a stream that failed
    as it began ends without one."""
    error = loop.failure.error if loop is not None and loop.failure is not None else None
    return calls if error is None or not is_blank(calls[-1]) else [*calls[:-1], replace(calls[-1], error=error)]


def _with_text(calls: Sequence[ModelCall], loop: Loop | None) -> Sequence[ModelCall]:
    """The last call with the text that its loop gave, where that is told as the text of its answer."""
    is_told = loop is None or not loop.gives_text or not loop.output or loop.failure is not None
    if is_told or loop is None or calls[-1].content.answered or calls[-1].error is not None:
        return calls
    content = replace(calls[-1].content, text=loop.output)
    return [*calls[:-1], replace(calls[-1], content=content, text_from_agent=not calls[-1].is_run)]


def is_blank(call: ModelCall) -> bool:
    """Whether nothing is told of its answer, nor of an error but that there was one, as the AI SDK does with a word."""
    content = call.content
    said = (
        [one.raw for one in call.words if one.raw != "error"],
        content.text,
        content.calls,
        content.reasoning,
        content.refusal,
    )
    return call.error is None and call.usage is None and not any(said)


def _steps(calls: Sequence[ModelCall], ran: Sequence[ToolRun]) -> list[TurnCall]:
    ran = sorted(ran, key=lambda run: run.span.start)
    whole = [with_calls_run(with_calls_from(call, after), after, ran) for call, after in pairwise(calls)]
    return [TurnCall(call, answer_of(call), None) for call in (*whole, *calls[-1:])]


def _turns_in(steps: Sequence[TurnCall], loop: Loop | None, ran: Sequence[ToolRun]) -> Iterator[TurnCalls]:
    """A turn whose last answer asks for tools, of which the trace shows no results, is handed out as the gateway does
    it: each of its calls is a turn, and who asked runs the tools. A loop that failed ran them, and asked no more; so
    did one within which they ran. `ran`: the tools that ran within the loop."""
    at = 0
    while at < len(steps):
        end = at + 1
        turn = [steps[at]]
        while end < len(steps):
            joint = call_link_of(turn[-1].call, turn[-1].answer, steps[end].call, in_loop=loop is not None)
            if joint is None:
                break
            turn.append(TurnCall(steps[end].call, steps[end].answer, joint))
            end += 1
        failure = loop.failure if loop is not None and end == len(steps) else None
        is_quiet = failure is None and len(turn) > 1 and end == len(steps)
        ending = ending_tools(turn, loop, _after(turn[-1], ran)) if is_quiet and loop is not None else ()
        if is_quiet and not ending and _ran_all(turn[-1], ran):
            failure = LoopFailure("", RAN, is_limit=False, in_words=True)
        is_handed_out = turn[-1].answer.tool_calls and len(turn) > 1 and failure is None and not ending
        parts = _handed_out(turn) if is_handed_out else [turn]
        yield from (TurnCalls(tuple(part), loop, failure, ending) for part in parts)
        at = end


def _after(last: TurnCall, ran: Sequence[ToolRun]) -> list[ToolRun]:
    return [run for run in ran if run.span.start + SLACK >= last.call.span.end]


def _ran_all(last: TurnCall, ran: Sequence[ToolRun]) -> bool:
    """Whether the loop ran each tool that its last call asked for. Spans of tools may lack the id of their call."""
    after = _after(last, ran)
    ids, names = {run.call_id for run in after}, {run.name for run in after if not run.call_id}
    asked = last.answer.tool_calls
    return bool(asked) and all(call.name not in _ENDING and (call.id in ids or call.name in names) for call in asked)


def _handed_out(turn: Sequence[TurnCall]) -> list[list[TurnCall]]:
    parts: list[list[TurnCall]] = []
    for step in turn:
        if not parts or step.joint is CallLink.TOOLS:
            parts.append([TurnCall(step.call, step.answer, None)])
        else:
            parts[-1].append(step)
    return parts


def ending_tools(turn: Sequence[TurnCall], loop: Loop, ran: Sequence[ToolRun]) -> tuple[str, ...]:
    """The names of the last call's tools, where the loop did not fail and gave what they came to. None of them where
    one had been called before: the loop had gone on then, so it is not the tool that ends it.

    `ran`: the tools that ran after the last call."""
    last, output = turn[-1].answer.tool_calls, loop.output.strip()
    names = {call.name for call in last}
    before = {call.name for step in turn[:-1] for call in step.answer.tool_calls}
    if not output or not names or names & before:
        return ()
    results = [run.result for run in ran if run.result and not run.failed and run.name in names]
    is_given = any(_is_told(output, [step.answer.text for step in turn], result) for result in results)
    unseen = [call for call in last if call.name not in {run.name for run in ran}]
    return tuple(sorted(names)) if is_given or any(output in _given(call) for call in unseen) else ()


def _is_told(output: str, said: Sequence[str], result: str) -> bool:
    """Whether the output is a tool's result, alone or after the model's words: of its last answer, or of all answers.
    Only spaces may differ. An output that merely ends like the result may come from elsewhere."""
    told = {_bare(f"{words_before}{result}") for words_before in ("", said[-1], "".join(said))}
    return bool(_bare(result)) and _bare(output) in told


def _bare(text: str) -> str:
    return "".join(text.split())


def _given(call: ToolCall) -> Iterator[str]:
    """What a call whose arguments are the answer comes to: all of them, or one. No span tells that such a tool ran."""
    yield from (call.raw.strip(), words(dict(call.arguments)))
    yield from (words(value).strip() for value in call.arguments.values())
