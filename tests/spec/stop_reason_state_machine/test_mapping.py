"""stop-reason-state-machine: the model of stop reasons, and what each provider's words map to."""

from typing import Any

import pytest
from structlog.testing import capture_logs

from agentcore import ChatResponse, NormalizedStopReason
from agentcore.providers import PROVIDERS
from dashboard.metrics.counters import count_step
from tests.agentcore.playbook import Playbook, started, unknown
from tests.spec.rules import Kind, rule
from tests.spec.stop_reason_state_machine.answers import STREAMED, WHOLE, streamed, whole

R = NormalizedStopReason
MODEL = "stop-reason-state-machine §Stop-Reason Model"
MATRIX = "stop-reason-state-machine §Provider Mapping Matrix"
VERIFICATION = "stop-reason-state-machine §Verification"

#: The document's matrix, one row per word.
ROWS = [
    ("openai", "stop", R.END_TURN),
    ("openai", "tool_calls", R.TOOL_CALL),
    ("openai", "function_call", R.TOOL_CALL),
    ("openai", "length", R.MAX_TOKENS),
    ("openai", "content_filter", R.SAFETY_BLOCKED),
    ("anthropic", "end_turn", R.END_TURN),
    ("anthropic", "stop_sequence", R.END_TURN),
    ("anthropic", "tool_use", R.TOOL_CALL),
    ("anthropic", "max_tokens", R.MAX_TOKENS),
    ("anthropic", "model_context_window_exceeded", R.CONTEXT_WINDOW_EXCEEDED),
    ("gemini", "STOP", R.END_TURN),
    ("gemini", "MAX_TOKENS", R.MAX_TOKENS),
    ("gemini", "SAFETY", R.SAFETY_BLOCKED),
    ("gemini", "RECITATION", R.SAFETY_BLOCKED),
    ("bedrock", "end_turn", R.END_TURN),
    ("bedrock", "tool_use", R.TOOL_CALL),
    ("bedrock", "max_tokens", R.MAX_TOKENS),
    ("bedrock", "guardrail_intervened", R.SAFETY_BLOCKED),
]
each_row = pytest.mark.parametrize(("provider", "word", "reason"), ROWS, ids=lambda value: str(value))


@rule(MODEL, "There are seven normalized reasons, `unknown` among them")
def test_the_seven_normalized_reasons_exist() -> None:
    seven = "end_turn tool_call max_tokens context_window_exceeded safety_blocked cancelled unknown"
    assert {R(word) for word in seven.split()} == set(R) - {R.PAUSED}


@rule(MODEL, "A response carries text, tool calls, usage, reasoning, quota metadata, stop reason and raw stop reason")
def test_a_response_has_the_fields_of_the_struct_in_the_document() -> None:
    named = "text tool_calls usage reasoning_content quota_metadata stop_reason raw_stop_reason"
    assert set(named.split()) <= set(ChatResponse.__dataclass_fields__)


@rule(MODEL, "`raw_stop_reason` keeps the provider's own word, as it was written")
@pytest.mark.parametrize("word", ["Length", " length ", "LENGTH"])
def test_the_raw_reason_is_kept_as_written_although_compared_case_insensitively(word: str) -> None:
    response = whole("openai", word)
    assert (response.stop_reason, response.raw_stop_reason) == (R.MAX_TOKENS, word)


@rule(MATRIX, "Each row of the matrix holds for a complete response")
@each_row
def test_a_complete_answer_maps_as_in_the_matrix(provider: str, word: str, reason: R) -> None:
    response = whole(provider, word)
    assert (response.stop_reason, response.raw_stop_reason) == (reason, word)


@rule(MATRIX, "Each row of the matrix holds for a streamed response")
@each_row
def test_a_streamed_answer_maps_as_in_the_matrix(provider: str, word: str, reason: R) -> None:
    response = streamed(provider, word)
    assert (response.stop_reason, response.raw_stop_reason) == (reason, word)


@rule(MATRIX, "The codec's table alone maps each word as the matrix does")
@each_row
def test_the_table_alone_maps_as_in_the_matrix(provider: str, word: str, reason: R) -> None:
    assert PROVIDERS[provider].normalize(word) is reason


@rule(MATRIX, "A word that is in no table is `unknown`; the word is kept")
@pytest.mark.parametrize("provider", list(WHOLE))
def test_an_unknown_reason_is_unknown_and_kept(provider: str) -> None:
    for response in (whole(provider, "solar_flare"), streamed(provider, "solar_flare")):
        assert (response.stop_reason, response.raw_stop_reason) == (R.UNKNOWN, "solar_flare")


@rule(MATRIX, "No provider's codec reads an unknown word as a natural end")
@pytest.mark.parametrize("provider", list(PROVIDERS))
def test_no_codec_treats_an_unknown_reason_as_an_end(provider: str) -> None:
    assert PROVIDERS[provider].normalize("solar_flare") is PROVIDERS[provider].normalize(None) is R.UNKNOWN


@rule(MATRIX, "An unknown word is logged once per provider and model")
def test_an_unknown_reason_is_logged_once_for_each_provider_and_model() -> None:
    def logged(word: str, **who: Any) -> list[tuple[str, str, str]]:
        story = Playbook(**who) >> started() >> unknown(word, "Hello")
        with capture_logs() as logs:
            for step in story.steps:
                count_step(step)
        return [(one["provider"], one["model"], one["raw"]) for one in logs]

    assert logged("sunspot", provider="p", model="spec-a") == [("p", "spec-a", "sunspot")]
    assert logged("sunspot", provider="p", model="spec-a") == []
    assert logged("sunspot", provider="p", model="spec-b") == [("p", "spec-b", "sunspot")]
    assert logged("sunspot", provider="q", model="spec-a") == [("q", "spec-a", "sunspot")]


@rule(VERIFICATION, "Every adapter's mapping is tested with responses in its vendor's format", Kind.MUST)
def test_every_family_of_the_matrix_is_tested_complete_and_streamed() -> None:
    assert {provider for provider, _, _ in ROWS} == set(WHOLE) == set(STREAMED)
