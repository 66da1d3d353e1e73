"""What becomes of answers that instrumentations write in forms of their own, or lose; as recorded around real calls."""

import json
from typing import Any

import pytest

from agentcore.messages import CallIssue
from dashboard.ingest.assembly.model_answers import NO_TEXT
from dashboard.ingest.assembly.trace import TraceTurn
from dashboard.ingest.conventions.span_reader import seen
from dashboard.ingest.conventions.spans import Span, SpanEvent
from tests.dashboard.ingest.assembly.test_turn_grouping import SECOND, START, made
from tests.dashboard.ingest.conventions.test_more_instrumentations import LLM, codes, one_turn
from tests.dashboard.ingest.conventions.test_span_reader import call

CUT = '{"expression": "(17 + 25) * 3 - 48 / 6 + 1024 - 77 * 2 + (9 -'
OLDER = {"llm.request.type": "chat", "gen_ai.request.model": "m"}

LIMITED = "Error code: 429 - {'type': 'error', 'error': {'type': 'rate_limit_error', 'message': 'Try again later.'}}"


def status(turn: TraceTurn) -> str:
    assert turn.history.snapshot.end is not None
    return turn.history.snapshot.end.status.value


def note(turn: TraceTurn, code: str) -> str:
    return next(note.words for note in turn.notes if note.code == code)


def agno(message: dict[str, Any], used: int, **more: Any) -> TraceTurn:
    """A call as OpenInference for Agno writes it, which tells no stop reason."""
    told = {f"llm.output_messages.0.message.{name}": value for name, value in {"role": "assistant", **message}.items()}
    return one_turn(**LLM, **told, **{"llm.token_count.prompt": 6, "llm.token_count.completion": used}, **more)


def test_a_blank_answer_without_a_reason_that_used_tokens_was_lost_and_is_not_empty() -> None:
    """As a refusal arrives: 21 tokens, and neither the text nor “content_filter”."""
    turn = agno({}, 21)
    assert (status(turn), turn.history.snapshot.output_text) == ("completed", NO_TEXT)
    assert "21 output tokens, but contains neither text nor a tool call" in note(turn, "reason_unknown")


@pytest.mark.parametrize("more", [{}, {"llm.token_count.completion_details.reasoning": 21}])
def test_a_blank_answer_without_a_reason_and_without_other_tokens_than_thoughts_is_shown_as_empty(
    more: dict[str, Any],
) -> None:
    turn = agno({}, 21 if more else 0, **more)
    assert (status(turn), turn.history.turn.steps[0].answer.diagnostics) == ("partial", ("empty_output",))
    assert "recorded as empty" in note(turn, "reason_unknown")


def test_arguments_without_an_end_are_truncated_where_the_answer_used_all_its_tokens() -> None:
    asked = "tool_calls.0.tool_call"
    told = {f"{asked}.id": "call_1", f"{asked}.function.name": "calculator", f"{asked}.function.arguments": CUT}
    cap = {"llm.invocation_parameters": '{"max_tokens": 30}'}
    at_cap, below = agno(told, 30, **cap), agno(told, 20, **cap)
    assert [turn.history.turn.steps[0].answer.broken_tool_calls[0].issue for turn in (at_cap, below)] == [
        CallIssue.TRUNCATED,
        CallIssue.MALFORMED,
    ]
    assert "reason_unknown" in codes(at_cap), "which nobody has told"


@pytest.mark.parametrize(
    ("written", "text"),
    [('[{"type": "text", "text": "Agents "}, {"text": "stop.", "type": "text"}]', "Agents stop."), ("[]", "")],
)
def test_coheres_blocks_are_the_text_of_an_answer(written: str, text: str) -> None:
    """As OpenLLMetry writes them."""
    told = {**OLDER, "gen_ai.completion.0.role": "assistant", "gen_ai.completion.0.content": written}
    assert call(**told, **{"gen_ai.system": "Cohere"}).content.text == text
    assert call(**told, **{"gen_ai.system": "OpenAI"}).content.text == written, "others answer with such JSON"


def test_coheres_thoughts_stand_apart_from_its_text() -> None:
    blocks = [{"type": "thinking", "thinking": "Why?"}, {"type": "text", "text": "So."}]
    told = {"gen_ai.system": "Cohere", "gen_ai.completion.0.content": json.dumps(blocks)}
    content = call(**OLDER, **told).content
    assert (content.text, content.reasoning) == ("So.", "Why?")


@pytest.mark.parametrize("arguments", [CUT, 'it\'s \\ "so"\n'])
def test_tool_calls_that_dspy_writes_as_python_shows_them_are_not_lost(arguments: str) -> None:
    shown = f"ChatCompletionMessageToolCall(function=Function(arguments={arguments!r}, name='calculator'), id='call_1')"
    told = {"output.value": json.dumps([{"text": None, "tool_calls": [shown, "x", 1]}])}
    content = call(**LLM, **told).content
    assert content.text == ""
    assert [(one.id, one.name, one.raw) for one in content.calls or ()] == [("call_1", "calculator", arguments)]


@pytest.mark.parametrize(
    ("told", "shown"),
    [
        ("projects/p/locations/us-central1/publishers/google/models/gemini-2.5-pro", "gemini-2.5-pro"),
        ("publishers/anthropic/models/claude-sonnet-4@20250514", "claude-sonnet-4@20250514"),
        ("projects/p/locations/l/models/1234", "1234"),
        ("arn:aws:bedrock:us-east-1::foundation-model/amazon.nova-lite-v1:0", "amazon.nova-lite-v1:0"),
        ("arn:aws:bedrock:us-east-1:1:inference-profile/us.amazon.nova-lite-v1:0", "us.amazon.nova-lite-v1:0"),
        ("arn:aws:bedrock:us-east-1:1:application-inference-profile/a1b2", None),
        ("projects/p/locations/l/endpoints/77", None),
        ("accounts/fireworks/models/llama-v3", None),
        ("meta-llama/Llama-3", None),
    ],
)
def test_a_model_told_as_a_path_of_a_cloud_is_shown_by_its_name(told: str, shown: str | None) -> None:
    assert call(**{**OLDER, "gen_ai.request.model": told, "gen_ai.completion.0.content": "So."}).model == (
        shown or told
    )


def failed(name: str = "chat m", scope: str = "openlit.instrumentation.anthropic", **more: Any) -> Span:
    """A failed call of Anthropic's as OpenLIT 1.45 writes it: without any attribute."""
    raised = SpanEvent("exception", {"exception.type": "anthropic.RateLimitError", "exception.message": LIMITED})
    told = {"scope": scope, "failed": True, "message": f"RateLimitError: {LIMITED}", "events": (raised,), **more}
    return Span("1" * 32, "b" * 16, "", name, START, START + SECOND, **told)


def test_a_failed_call_of_which_only_the_spans_name_tells_is_a_turn() -> None:
    (turn,) = made(failed())
    (step,) = turn.history.turn.steps
    assert (status(turn), step.call.model, step.call.provider) == ("failed", "m", "anthropic")
    assert step.call.error is not None
    assert (step.call.error.kind, step.call.error.status) == ("rate_limit", 429)


@pytest.mark.parametrize(
    "span", [failed(scope="shop.chat"), failed(failed=False), failed("chat"), failed("rerank m"), failed("chat m now")]
)
def test_a_name_alone_tells_of_no_call_elsewhere(span: Span) -> None:
    assert seen(span) is None


def test_the_provider_is_the_one_that_the_agent_kit_tells_and_not_the_one_of_its_instrumentation() -> None:
    """As OpenInference adds to the span of Google's agent kit around a call of LiteLLM's."""
    assert call(**LLM, **{"llm.provider": "google", "gen_ai.provider.name": "openai"}).provider == "openai"


@pytest.mark.parametrize(
    ("written", "word"),
    [
        ("FinishReason.LENGTH", "LENGTH"),
        (["FinishReason.LENGTH"], "LENGTH"),
        ("<FinishReason.LENGTH: 'length'>", "length"),
        ("<FinishReason.MAX_TOKENS: 2>", "MAX_TOKENS"),
        ("max_tokens", "max_tokens"),
    ],
)
def test_a_reason_that_python_shows_with_the_name_of_its_enumeration_is_understood(written: Any, word: str) -> None:
    """As Semantic Kernel writes it."""
    turn = one_turn(**OLDER, **{"gen_ai.response.finish_reason": written, "gen_ai.completion.0.content": "So"})
    assert (status(turn), turn.history.turn.steps[0].answer.raw_stop_reason) == ("partial", word)


VERCEL = {"ai.operationId": "ai.generateText.doGenerate", "ai.model.id": "m", "ai.model.provider": "openai.chat"}


@pytest.mark.parametrize(("sent", "made_of_it"), [(6, "partial"), (0, "completed")])
def test_an_answer_that_ended_without_a_token_is_empty_where_tokens_were_counted(sent: int, made_of_it: str) -> None:
    """As version 6 of the AI SDK writes it, without a text."""
    turn = one_turn(
        **VERCEL,
        **{"ai.response.finishReason": "stop", "ai.usage.inputTokens": sent, "ai.usage.outputTokens": 0},
    )
    assert status(turn) == made_of_it
    assert ("answer_unknown" in codes(turn)) == (made_of_it == "completed")


def test_openais_sentence_for_a_server_error_says_which_error_it_is() -> None:
    """The AI SDK's span has the sentence alone."""
    said = "The server had an error while processing your request."
    (turn,) = made(failed(scope="ai", attributes=VERCEL, events=(), message=said))
    error = turn.history.turn.steps[0].call.error
    assert (error and error.kind, error and error.status) == ("server", None)
