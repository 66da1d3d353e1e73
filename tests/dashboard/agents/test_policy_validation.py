import dataclasses
import json
import math
import re

import pytest
from django.core.exceptions import ValidationError
from django.utils.html import escape

from agentcore.error_policy import PRESETS, ErrorPolicy
from agentcore.policy import SPEC_KEYS, Limits
from dashboard.agents.criteria import criteria_clean
from dashboard.agents.limit_fields import LIMIT_FIELDS, default_in_words, spec_key_of
from dashboard.agents.policy_validation import (
    HANDLING_KEYS,
    PRESETS_THAT_NEVER_RETRY,
    envelope_clean,
    error_policy_clean,
    error_policy_warning,
    finish_reasons_clean,
    limits_clean,
    retention_clean,
    tool_calls_on_truncation_clean,
)
from dashboard.turns.templatetags.glossary import keys_in_code
from tests.together import together


def test_every_limit_has_a_field_in_the_same_order():
    assert list(LIMIT_FIELDS) == [field.name for field in dataclasses.fields(Limits)]


def test_the_defaults_are_valid():
    defaults = dataclasses.asdict(Limits())
    assert limits_clean(defaults) == defaults


def test_only_a_limit_without_a_default_may_be_left_unset():
    assert {name for name, limit in LIMIT_FIELDS.items() if limit.unset} == {
        name for name, default in dataclasses.asdict(Limits()).items() if default is None
    }


def test_defaults_are_shown_in_readable_form():
    assert default_in_words("max_total_output_chars") == "120,000"
    assert default_in_words("max_total_completion_tokens") == "4 × the first Max tokens per call, if set"


def test_the_specs_keys_are_accepted_for_our_fields():
    assert limits_clean(dict.fromkeys(SPEC_KEYS, 7)) == dict.fromkeys(SPEC_KEYS.values(), 7)


@together
@pytest.mark.parametrize(
    ("limits", "words"),
    [
        ([], "must be an object"),
        ({"max_steps": 0}, r"Max steps \(max_steps\) must be a whole number from 1 to 10,000\."),
        ({"max_steps": 120_000}, r"Max steps \(max_steps\) must be"),
        ({"max_seconds": 1234567.5}, r"Time limit \(max_seconds\) must be a number of seconds"),
        ({"max_steps": "120 000"}, "must be a whole number from 1 to 10,000"),
        ({"max_continuations": -1}, "from 0 to 1,000"),
        ({"max_continuations": 2.0}, "whole number"),
        ({"max_continuations": True}, "whole number"),
        ({"max_continuations": "3"}, "whole number"),
        ({"max_continuations": None}, "whole number"),
        ({"max_seconds": math.nan}, "a number of seconds"),
        ({"max_seconds": math.inf}, "a number of seconds"),
        ({"max_seconds": 0}, "from 0.1 to 604,800"),
        ({"max_seconds": 10**400}, "from 0.1 to 604,800"),
        ({"max_steps": 10**400}, "from 1 to 10,000"),
        ({"truncation_budget_multiplier": 8.5}, r"\) must be a number from 1 to 8\."),
        ({"max_token": 1}, "no limit “max_token”; the limits are max_continuations, max_total"),
        ({1: 1}, "no limit “1”"),
        ({"max_continuations": 1, "continuation_max_attempts": 2}, r"\(max_continuations\) is set twice"),
    ],
)
def test_a_limit_out_of_range_is_refused_with_an_explanation(limits, words):
    with pytest.raises(ValidationError, match=words):
        limits_clean(limits)


def test_all_faults_are_reported_at_once():
    with pytest.raises(ValidationError) as refused:
        limits_clean({"max_steps": 0, "nonsense": 1, "schema_rounds": 1})
    assert len(refused.value.messages) == 2


def test_the_fields_of_an_error_policy_are_those_of_the_core():
    assert {*HANDLING_KEYS, "max_retries"} == {field.name for field in dataclasses.fields(ErrorPolicy)}


@pytest.mark.parametrize("said", [{}, {"max_retries": 2}, {"on_model_error": "retry"}, {"preset": "retry_all"}])
def test_an_error_policy_stores_only_the_given_fields(said):
    assert error_policy_clean(said) == said


@together
@pytest.mark.parametrize(
    ("error_policy", "words"),
    [
        ("retry_all", "must be an object"),
        ({"preset": "never"}, "no error policy “never”; the presets are stop_on_any_error"),
        ({"preset": []}, "no error policy"),
        ({"max_retries": -1}, r"Max failures in a row \(max_retries\) must be .* from 0 to 100"),
        ({"max_retries": "3"}, "whole number"),
        ({"max_retries": True}, "whole number"),
        ({"on_tool_error": "explode"}, r"On tool error \(on_tool_error\) must be one of stop, retry, ignore"),
        ({"on_tool_error": {}}, r"On tool error \(on_tool_error\) must be one of"),
        ({"on_any_error": "stop"}, "no “on_any_error”; its fields are preset, max_retries, on_tool_error"),
    ],
)
def test_an_invalid_error_policy_is_refused_with_an_explanation(error_policy, words):
    with pytest.raises(ValidationError, match=words):
        error_policy_clean(error_policy)


@together
@pytest.mark.parametrize(
    "error_policy",
    [
        {"preset": "ignore_tool_errors"},
        {"preset": "retry_all", "max_retries": 1},
        {"preset": "stop_on_any_error", "on_model_error": "retry"},
        {"on_model_error": "retry", "max_retries": 0},
        {"on_model_error": "retry"},
    ],
)
def test_a_retry_that_can_never_happen_causes_a_warning(error_policy):
    words = error_policy_warning(error_policy) or ""
    assert "Max failures in a row (max_retries) is" in words
    assert re.search(r"On \w+( \w+)? error \(on_\w+_error\)", words), words
    assert "nothing is retried" in words or "nothing is ever retried" in words


@pytest.mark.parametrize("error_policy", [{}, *({"preset": name} for name in PRESETS if name != "ignore_tool_errors")])
def test_a_valid_error_policy_causes_no_warning(error_policy):
    assert error_policy_warning(error_policy) is None


def test_on_truncation_accepts_two_values():
    assert tool_calls_on_truncation_clean("repair") == "repair"
    with pytest.raises(ValidationError, match="execute_if_complete, repair"):
        tool_calls_on_truncation_clean("run")


@together
@pytest.mark.parametrize(
    ("said", "stored"),
    [
        (None, None),
        ({}, None),
        ({"recovery": ["brace-walker", "markdown-fence"]}, {"recovery": ["markdown-fence", "brace-walker"]}),
        ({"recovery": []}, {"recovery": []}),
        ({"recovery": ["direct"]}, {"recovery": []}),
        ({"recovery": ["jsonrepair", "brace-walker", "jsonrepair"]}, {"recovery": ["brace-walker", "jsonrepair"]}),
    ],
)
def test_recovery_paths_are_stored_once_and_in_order_where_set(said, stored):
    assert envelope_clean(said) == stored


@together
@pytest.mark.parametrize(
    ("envelope", "words"),
    [
        ([], "envelope must be an object"),
        ({"a": 1}, "envelope has no “a”; its field is recovery"),
        ({"schema_rounds": 1}, "“schema_rounds” is one of the limits"),
        ({"recovery": "jsonrepair"}, "must be a list of markdown-fence, brace-walker, jsonrepair, not “jsonrepair”"),
        ({"recovery": ["guess"]}, "no recovery path “guess”; the paths are markdown-fence, brace-walker, jsonrepair"),
        ({"recovery": [{}]}, "no recovery path {}"),
        ({"recovery": None}, "must be a list"),
    ],
)
def test_invalid_envelope_rules_are_refused_with_an_explanation(envelope, words):
    with pytest.raises(ValidationError, match=words):
        envelope_clean(envelope)


def test_finish_reasons_are_stored_once_and_in_order():
    assert finish_reasons_clean(["max_tokens", "end_turn", "max_tokens"]) == ["end_turn", "max_tokens"]
    with pytest.raises(ValidationError, match="no stop reason “length”; they are end_turn, tool_call, max_tokens"):
        finish_reasons_clean(["length"])
    with pytest.raises(ValidationError, match="must be a list"):
        finish_reasons_clean("max_tokens")


def test_the_only_preset_that_never_retries_is_known():
    assert PRESETS_THAT_NEVER_RETRY == ("ignore_tool_errors",)


def test_the_specs_keys_are_shown_beside_their_limits():
    assert {spec_key_of(name): name for name in LIMIT_FIELDS if spec_key_of(name)} == SPEC_KEYS


def codes_of(clean, value) -> list[str | None]:
    try:
        clean(value)
    except ValidationError as error:
        return [fault.code for fault in error.error_list]
    return []


def test_each_fault_names_its_field():
    assert codes_of(limits_clean, {"max_continuations": -1, "max_steps": "many"}) == ["max_continuations", "max_steps"]
    assert codes_of(limits_clean, {"max_continuations": 1, "continuation_max_attempts": 2}) == ["max_continuations"]
    wrong = {"max_retries": -1, "on_tool_error": "hope"}
    assert codes_of(error_policy_clean, wrong) == ["max_retries", "on_tool_error"]


def test_a_fault_without_a_field_names_none():
    assert codes_of(limits_clean, {"max_hope": 1}) == [None]
    assert codes_of(error_policy_clean, {"preset": "hope"}) == [None]


def test_an_example_in_an_error_is_json_in_marks_of_code():
    for clean in (
        limits_clean,
        error_policy_clean,
        retention_clean,
        envelope_clean,
        criteria_clean,
        finish_reasons_clean,
    ):
        with pytest.raises(ValidationError) as refused:
            clean("x" * 1_000)
        (told,) = refused.value.messages
        assert json.loads(told.split("`")[1]), "what stands between the marks can be copied"
        assert len(told) < 300
        assert f"<code>{escape(told.split('`')[1])}</code>" in keys_in_code(told)
        assert "`" not in keys_in_code(told)
