"""A request whose own fields ask for JSON is a structured turn: it is never put together from pieces."""

import pytest

from agentcore import AttemptKind, NormalizedStopReason, StopReason, TurnStatus
from agentcore.json_mode import ANY_OBJECT, ANY_VALUE, json_asked
from dashboard.agents.schema_validation.validator import violations
from tests.agentcore.playbook import Playbook, call_model, ended, finish, started, stopped, truncated
from tests.together import together

WAYS = [
    ("openai", {"response_format": {"type": "json_object"}}, ANY_OBJECT),
    ("openai", {"response_format": {"type": "json_schema", "json_schema": {"name": "a"}}}, ANY_VALUE),
    ("openai", {"guided_json": {"type": "object"}}, ANY_VALUE),
    ("openai", {"json_schema": {"type": "object"}}, ANY_VALUE),
    ("openai_responses", {"text": {"format": {"type": "json_object"}}}, ANY_OBJECT),
    ("openai_responses", {"text": {"format": {"type": "json_schema"}}}, ANY_VALUE),
    ("anthropic", {"output_config": {"format": {"type": "json_schema", "schema": {}}}}, ANY_VALUE),
    ("bedrock", {"outputConfig": {"textFormat": {"type": "json_schema"}}}, ANY_VALUE),
    ("cohere", {"response_format": {"type": "json_object"}}, ANY_OBJECT),
    ("gemini", {"generationConfig": {"responseMimeType": "application/json"}}, ANY_VALUE),
    ("gemini", {"generationConfig": {"response_mime_type": "application/json"}}, ANY_VALUE),
    ("ollama", {"format": "json"}, ANY_VALUE),
    ("ollama", {"format": {"type": "object"}}, ANY_VALUE),
]
FREE = [
    ("openai", {}),
    ("openai", {"response_format": {"type": "text"}}),
    ("openai", {"response_format": None, "guided_json": None}),
    ("openai", {"response_format": "json_object"}),
    ("openai_responses", {"text": {"verbosity": "low"}}),
    ("openai_responses", {"text": "json_object"}),
    ("gemini", {"generationConfig": {"responseMimeType": "text/plain"}}),
    ("ollama", {"format": ""}),
    ("cohere", {"response_format": {"type": "text"}}),
    ("llama", {"response_format": {"type": "json_object"}}),
    ("a dialect of tomorrow", {"format": "json"}),
]


def asked(dialect="openai", extra=WAYS[0][1], **more):
    more = {"revision": 1, **more}
    return Playbook(provider=dialect, extra=extra, max_tokens=100, **more) >> started()


@together
@pytest.mark.parametrize(("dialect", "extra", "schema"), WAYS)
def test_each_dialect_requests_json_in_its_own_format(dialect, extra, schema):
    assert json_asked(dialect, extra) == schema


@together
@pytest.mark.parametrize(("dialect", "extra"), FREE)
def test_other_fields_ask_for_text(dialect, extra):
    assert json_asked(dialect, extra) is None
    story = asked(dialect, extra) >> truncated('{"a"') << call_model(AttemptKind.CONTINUATION)
    assert story.command.request.continuation is not None


@together
@pytest.mark.parametrize(("dialect", "extra", "schema"), WAYS)
def test_a_truncated_answer_is_requested_again_and_no_schema_is_sent(dialect, extra, schema):
    story = asked(dialect, extra) << call_model(AttemptKind.INITIAL, envelope_schema=None, extra=extra)
    story = story >> truncated('{"a": [1, ')
    assert story << call_model(AttemptKind.ENVELOPE_RETRY, continuation=None, envelope_schema=None, max_tokens=200)
    assert story >> ended('{"a": [1, 2]}') << finish('{"a": [1, 2]}', envelope={"a": [1, 2]})


def test_two_halves_restarted_by_a_grammar_are_not_an_answer():
    story = asked(schema_rounds=1) >> truncated('{"a": ') >> ended('{"b": {"c": ')
    assert story << finish("", StopReason.RETRY_LIMIT, TurnStatus.FAILED, error_code="envelope_invalid", envelope=None)


@together
@pytest.mark.parametrize("text", ["[1]", "7", '"a"', "null", "no JSON"])
def test_a_value_that_is_not_an_object_is_requested_again_with_or_without_a_validator(text):
    for more in ({"validate": violations}, {"validate": None}):
        story = asked(**more) >> ended(text) << call_model(AttemptKind.ENVELOPE_RETRY, max_tokens=100)
        assert "did not validate" in story.command.request.system_prompt


@pytest.mark.parametrize("text", ['{"a": 1}', ' {"a": 1}\n'])
@pytest.mark.parametrize("reason", [NormalizedStopReason.MAX_TOKENS, NormalizedStopReason.CONTEXT_WINDOW_EXCEEDED])
def test_a_complete_object_of_a_truncated_call_is_accepted_and_reported(text, reason):
    story = asked() >> stopped(reason, "length", text)
    assert story << finish(text, StopReason.COMPLETED, TurnStatus.COMPLETED, "completed", envelope={"a": 1})
    assert story.snapshot.spent.attempts == 1
    assert "whole_though_cut" in story.snapshot.flagged
    told = [(o.type, o.fields) for o in story.step.observed if o.type.startswith("envelope")]
    assert [name for name, _ in told] == ["envelope.truncated", "envelope.recovery.applied"]
    assert told[1][1] == {"nodeId": "turn", "path": "custom", "byteOffset": 0}
    assert "the provider cut" in story.step.transitions[-1].reason


@together
@pytest.mark.parametrize("text", ['{"a": 1', 'Here: {"a": 1}', '```json\n{"a": 1}\n```', '{"a": {}} and', "12", '"a"'])
def test_part_of_the_text_is_an_incomplete_answer(text):
    story = asked("ollama", {"format": "json"}) >> truncated(text)
    assert story << call_model(AttemptKind.ENVELOPE_RETRY, max_tokens=200)


def test_an_envelope_with_its_own_schema_completes_only_at_a_natural_end():
    story = asked(envelope_schema={"type": "object"}) >> truncated("{}")
    assert story << call_model(AttemptKind.ENVELOPE_RETRY, max_tokens=200, envelope_schema={"type": "object"})


def test_a_turn_recorded_before_rules_were_numbered_is_continued_as_before():
    story = asked(revision=None) >> truncated('{"a": ') << call_model(AttemptKind.CONTINUATION)
    assert story >> ended("1}") << finish('{"a": 1}', envelope=None)
