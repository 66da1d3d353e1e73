"""Whether a loop ended on purpose with its last tools, as its output shows: LangChain's `return_direct`, smolagents'
`final_answer`, pydantic-ai's output tools."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from agentcore.messages import ToolCall
from dashboard.ingest.conventions.content.shapes import words
from dashboard.ingest.conventions.observations import Loop, ToolRun

if TYPE_CHECKING:
    from dashboard.ingest.assembly.turn_grouping import TurnCall


def ending_tools(turn: "Sequence[TurnCall]", loop: Loop, ran: Sequence[ToolRun]) -> tuple[str, ...]:
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
