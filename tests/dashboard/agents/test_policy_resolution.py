"""Each field of a policy comes from the nearest level that speaks of it, and says so."""

from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentcore.error_policy import PRESETS, ErrorHandlingDecision
from agentcore.policy import OnTruncation, RecoveryPath
from agentcore.reasons import NormalizedStopReason
from dashboard.agents.limit_fields import LIMIT_FIELDS
from dashboard.agents.models import PolicyVersion
from dashboard.agents.policies import draft_policy, overridden, policy_for
from dashboard.agents.policy_resolution import DEFAULTS, FIELDS, Layer, Level, overridden_sources, resolve, spoken
from dashboard.agents.policy_validation import HANDLING_KEYS
from tests.together import together

LEVELS = [level for level in Level if level is not Level.DEFAULT]


def a_word(field: str, level: Level) -> Any:
    """What a level says of a field: another value for each level."""
    number = LEVELS.index(level)
    match field.partition("."):
        case ("limits", _, name):
            return number + max(1, int(LIMIT_FIELDS[name].minimum))
        case ("error_policy", _, "max_retries"):
            return number + 1
        case ("error_policy", _, _):
            return list(ErrorHandlingDecision)[number % 3].value
        case ("tool_calls_on_truncation", _, _):
            return list(OnTruncation)[number % 2].value
        case ("retention", _, _):
            return [0, 7, 30, 365, 9, 11][number]
        case ("envelope", _, _):
            return [[], [RecoveryPath.JSONREPAIR.value]][number % 2]
        case ("finish_reasons", _, _):
            return [list(NormalizedStopReason)[number].value]
        case _:
            return [{"path": "ResponseContentCheck", "kwargs": {"message": "More.", "min_chars": number + 1}}]


def body(field: str, value: Any) -> dict[str, Any]:
    part, _, name = field.partition(".")
    return {part: {name: value}} if name else {part: value}


@together
@pytest.mark.parametrize("field", FIELDS)
def test_the_most_specific_level_that_sets_a_field_wins(field: str):
    for speaking in product((False, True), repeat=len(LEVELS)):
        said = [a_word(field, level) if speaks else None for level, speaks in zip(LEVELS, speaking, strict=True)]
        layers = [
            Layer(level, {} if word is None else body(field, word)) for level, word in zip(LEVELS, said, strict=True)
        ]
        resolved = resolve(layers)
        nearest = next((level for level, speaks in zip(LEVELS, speaking, strict=True) if speaks), None)
        source = resolved.source(field)
        assert (source.level if source else None) == nearest
        assert resolved.values[field] == (DEFAULTS[field] if nearest is None else a_word(field, nearest))
        assert {other for other in FIELDS if resolved.source(other)} <= {field}


limits = st.dictionaries(st.sampled_from(list(LIMIT_FIELDS)), st.integers(1, 8))
errors = st.fixed_dictionaries(
    {},
    optional={
        "preset": st.sampled_from(list(PRESETS)),
        "max_retries": st.integers(0, 9),
        **{key: st.sampled_from([d.value for d in ErrorHandlingDecision]) for key in HANDLING_KEYS},
    },
)


@given(limits, errors, limits, errors, st.sampled_from(["", *OnTruncation]))
def test_one_version_under_overrides_is_the_same_policy_as_before(own, policy, mine, override, cut):
    error_policy = {"preset": "stop_on_any_error", **policy} if policy else {}
    version = PolicyVersion(limits=own, error_policy=error_policy, tool_calls_on_truncation=cut)
    overrides = {"limits": mine, "error_policy": override, "max_tokens": 9}
    said = {"limits": own, "error_policy": error_policy, "tool_calls_on_truncation": cut}
    resolved = resolve([Layer(Level.TURN, overrides), Layer(Level.AGENT, said)])
    assert overridden(draft_policy(resolved.said), overrides) == policy_for(version, overrides)


def test_a_preset_sets_every_error_and_single_fields_only_themselves():
    errors_spoken = {field for field in FIELDS if field.startswith("error_policy.")}
    assert set(spoken({"error_policy": {"preset": "retry_all"}})) == errors_spoken
    assert set(spoken({"error_policy": {"max_retries": 2}})) == {"error_policy.max_retries"}


def test_null_is_a_setting_and_an_omitted_field_is_not():
    far = Layer(Level.SITE, {"limits": {"max_seconds": 9.0}})
    assert resolve([Layer(Level.AGENT, {"limits": {"max_seconds": None}}), far]).values["limits.max_seconds"] is None
    assert resolve([Layer(Level.AGENT, {"limits": {}}), far]).values["limits.max_seconds"] == 9.0


def test_a_rerun_keeps_the_sources_of_fields_it_does_not_override():
    stored = resolve([Layer(Level.AGENT, {"limits": {"max_steps": 2, "max_seconds": 5}}, policy="wide")]).stored()
    again = overridden_sources(stored, {"limits": {"max_steps": 9}, "max_tokens": 7})
    assert [layer["level"] for layer in again["layers"]] == ["turn", "agent"]
    assert again["fields"] == {"limits.max_steps": 0, "limits.max_seconds": 1}
    assert overridden_sources(again, {"limits": {"max_seconds": 1}})["fields"] == {
        "limits.max_steps": 0,
        "limits.max_seconds": 0,
    }
    assert overridden_sources(stored, {"max_tokens": 7}) == stored
