"""Each form of a cut tool call (providers.md §1.12), in every dialect, streamed and whole: none of them ever runs."""

import json
from dataclasses import dataclass
from typing import Any

import pytest

from agentcore.messages import CallIssue, ChatResponse
from agentcore.providers import PROVIDERS
from agentcore.reasons import NormalizedStopReason as Reason
from dashboard.simulator import texts
from dashboard.simulator.cut_calls import CUT_FORMS
from dashboard.simulator.dialects.bedrock import BEDROCK
from dashboard.simulator.dialects.gemini import GEMINI
from dashboard.simulator.dialects.openai import OPENAI
from tests.together import together

from .client import CALCULATOR as WIRE_CALCULATOR
from .client import Client
from .codecs import CALCULATOR, Talk

BUDGET = 40
#: What only some vendors do, and would mean something else coming from the others.
OF_SOME = {"sim-cut-native", "sim-cut-open", "sim-cut-context", "sim-cut-label", "sim-cut-malformed", "sim-cut-braces"}
FORMS = {"sim-cut-tool", *CUT_FORMS}


@together
@pytest.mark.parametrize("model", sorted(FORMS - OF_SOME))
def test_no_format_of_a_truncated_call_is_mistaken_for_an_answer(talk: Talk, model: str) -> None:
    answer = talk.ask(model, tools=(CALCULATOR,), max_tokens=BUDGET)
    assert isinstance(answer, ChatResponse)
    assert answer.stop_reason in (Reason.MAX_TOKENS, Reason.TOOL_CALL)
    assert answer.stop_reason is Reason.MAX_TOKENS or answer.broken_tool_calls or not answer.tool_calls
    # Gemini tells no tokens of an attempt that it threw away.
    thrown_away = talk.dialect == "gemini" and answer.broken_tool_calls
    assert answer.usage is not None
    assert thrown_away or answer.usage.output_tokens == BUDGET


@dataclass(frozen=True, slots=True)
class Form:
    """What a dialect's codec reads of a form; of the two ways to send it, `only` one, if not both."""

    dialect: str
    model: str
    reason: Reason
    raw: str
    issue: CallIssue | None
    arguments: str | None = None
    only: str | None = None


CUT, MALFORMED = CallIssue.TRUNCATED, CallIssue.MALFORMED
PREFIX = '{"expression": "(17 + 25) * 3'
#: The rows of §1.12, in its order. `arguments`: how what was read of them begins; a repair tells them to nobody.
SEEN = (
    Form("openai", "sim-cut-tool", Reason.MAX_TOKENS, "length", CUT, PREFIX),
    Form("openai_responses", "sim-cut-tool", Reason.MAX_TOKENS, "max_output_tokens", CUT, PREFIX),
    Form("openai", "sim-cut-native", Reason.MAX_TOKENS, "max_output_tokens", CUT, PREFIX),
    Form("openai", "sim-cut-empty", Reason.MAX_TOKENS, "length", CUT, ""),
    Form("openai", "sim-cut-braces", Reason.MAX_TOKENS, "length", None, "{}"),
    Form("openai", "sim-cut-label", Reason.MAX_TOKENS, "tool_calls", CUT, PREFIX),
    Form("llama", "sim-cut-tool", Reason.MAX_TOKENS, "length", CUT, PREFIX),
    Form("anthropic", "sim-cut-tool", Reason.MAX_TOKENS, "max_tokens", CUT, PREFIX, only="streamed"),
    Form("anthropic", "sim-cut-tool", Reason.MAX_TOKENS, "max_tokens", CUT, "{}", only="whole"),
    Form("anthropic", "sim-cut-key", Reason.MAX_TOKENS, "max_tokens", CUT, '{"expression":', only="whole"),
    Form("anthropic", "sim-cut-key", Reason.MAX_TOKENS, "max_tokens", CUT, '{"expression":', only="streamed"),
    Form("anthropic", "sim-cut-context", Reason.CONTEXT_WINDOW_EXCEEDED, "model_context_window_exceeded", CUT, None),
    Form("gemini", "sim-cut-dropped", Reason.MAX_TOKENS, "MAX_TOKENS", None),
    Form("gemini", "sim-cut-tool", Reason.TOOL_CALL, "MALFORMED_FUNCTION_CALL", MALFORMED),
    Form("gemini", "sim-cut-open", Reason.MAX_TOKENS, "MAX_TOKENS", CUT, '{"expression":', only="streamed"),
    Form("gemini", "sim-cut-open", Reason.MAX_TOKENS, "MAX_TOKENS", None, only="whole"),
    Form("bedrock", "sim-cut-tool", Reason.MAX_TOKENS, "max_tokens", CUT, PREFIX, only="streamed"),
    Form("bedrock", "sim-cut-key", Reason.MAX_TOKENS, "max_tokens", CUT, '{"expression":', only="whole"),
    Form("bedrock", "sim-cut-malformed", Reason.MAX_TOKENS, "malformed_tool_use", CUT, PREFIX, only="streamed"),
    Form("bedrock", "sim-cut-malformed", Reason.TOOL_CALL, "malformed_tool_use", MALFORMED, "", only="whole"),
    Form("ollama", "sim-cut-dropped", Reason.MAX_TOKENS, "length", None),
    Form("ollama", "sim-cut-remnant", Reason.MAX_TOKENS, "length", None),
)


@together
@pytest.mark.parametrize("form", SEEN, ids=lambda form: f"{form.dialect}-{form.model}-{form.only or 'both'}")
def test_each_observed_format_is_recognized(server: Client, stream: bool, form: Form) -> None:
    if form.only is not None and form.only != ("streamed" if stream else "whole"):
        return
    answer = Talk(server.port, form.dialect, stream).ask(form.model, tools=(CALCULATOR,), max_tokens=BUDGET)
    assert isinstance(answer, ChatResponse)
    assert answer.stop_reason is form.reason
    # Empty braces are whole JSON: that they are no call is for the tool's schema to say.
    assert [call.raw for call in answer.tool_calls] == (["{}"] if form.model == "sim-cut-braces" else [])
    words = {answer.raw_stop_reason, *(seen.raw for seen in answer.reason_trail)}
    assert form.raw in words
    if form.issue is not None:
        assert [call.issue for call in answer.broken_tool_calls] == [form.issue]
        assert form.arguments is None or answer.broken_tool_calls[0].raw.startswith(form.arguments)


def test_the_table_lists_every_format_and_every_dialect_of_the_section() -> None:
    assert {form.model for form in SEEN} == FORMS
    assert {form.dialect for form in SEEN} == PROVIDERS.keys() - {"cohere"}  # of whose cut calls nothing is known


def test_the_remnant_of_a_call_that_ollama_could_not_parse_is_text(server: Client, stream: bool) -> None:
    answer = Talk(server.port, "ollama", stream).ask("sim-cut-remnant", tools=(CALCULATOR,), max_tokens=BUDGET)
    assert isinstance(answer, ChatResponse)
    assert answer.text.startswith('{"name": "calculator", "parameters": {"expression": "(17')


@together
@pytest.mark.parametrize("model", sorted(FORMS - {"sim-cut-open"}))
@pytest.mark.parametrize("budget", [80, 400])
def test_under_a_large_budget_every_format_is_the_same_call(
    server: Client, stream: bool, model: str, budget: int
) -> None:
    answer = server.ask(model, stream=stream, tools=[WIRE_CALCULATOR], max_tokens=budget)
    assert answer.reason == "tool_calls"
    assert [json.loads(raw) for _, raw in answer.calls.values()] == [{"expression": texts.LONG_EXPRESSION}]


@pytest.mark.parametrize(
    ("dialect", "model"), [("anthropic", "sim-cut-native"), ("openai", "sim-cut-open"), ("llama", "sim-cut-native")]
)
def test_a_format_that_a_vendor_lacks_is_not_one_of_its_models(server: Client, dialect: str, model: str) -> None:
    refused: Any = Talk(server.port, dialect, stream=True).ask(model, tools=(CALCULATOR,))
    assert (refused.status, refused.kind) == (404, "not_found")


def test_a_truncated_call_with_no_room_left_is_reported_by_an_error_where_no_reason_exists(server: Client) -> None:
    assert not {"context"} & {ending.value for ending in (*OPENAI.words, *GEMINI.words)}
    assert "context" in {ending.value for ending in BEDROCK.words}
    answer = server.ask("sim-cut-context", tools=[WIRE_CALCULATOR], max_tokens=BUDGET)
    assert (answer.status, answer.error["code"]) == (400, "context_length_exceeded")
