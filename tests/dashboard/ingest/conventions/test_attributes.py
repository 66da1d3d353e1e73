"""What attributes tell is believed within what a call can be."""

import json
from typing import Any

import pytest

from agentcore.messages import TokenUsage
from dashboard.ingest.conventions import tables
from dashboard.ingest.conventions.attributes import seconds_of, usage_of

TOLD = [
    table for table in vars(tables).values() if isinstance(table, tables.Convention) and "first_token" in table.facts
]


@pytest.mark.parametrize("convention", TOLD, ids=lambda one: one.facts["first_token"][0])
@pytest.mark.parametrize(
    ("told", "seconds"), [(0.5, 0.5), (0, 0.0), (10**400, None), (-1, None), (True, None), (1e300, None), ("x", None)]
)
def test_the_time_to_the_first_token_must_be_plausible(
    convention: tables.Convention, told: Any, seconds: float | None
) -> None:
    assert seconds_of(convention, {convention.facts["first_token"][0]: told}) == seconds


def test_the_listed_conventions_exist() -> None:
    assert TOLD


@pytest.mark.parametrize(
    ("told", "usage"),
    [
        (
            {"input": 20, "output": 10, "total": 500, "output_reasoning": 390,
             "input_cache_read": 60, "input_cache_creation": 20},
            TokenUsage(100, 400, 390, 60),
        ),
        (
            {"input": 40, "output": 10, "total": 500, "output_reasoning_tokens": 390, "input_cached_tokens": 60},
            TokenUsage(100, 400, 390, 60),
        ),
        (
            {"input": 100, "output": 400, "total": 500, "output_reasoning": 390, "input_cached_tokens": 60},
            TokenUsage(100, 400, 390, 60),
        ),
        (
            {"input": 20, "output": 10, "cache_read_input_tokens": 60, "cache_creation_input_tokens": 20},
            TokenUsage(100, 10, 0, 60),
        ),
        ({"input": 9, "output": 16, "output_priority_reasoning": 8}, TokenUsage(9, 16)),
        (
            {"prompt_tokens": 100, "completion_tokens": 400, "total_tokens": 500,
             "completion_tokens_details": {"reasoning_tokens": 390}, "prompt_tokens_details": {"cached_tokens": 60}},
            TokenUsage(100, 400),
        ),
    ],
    ids=["langchain", "javascript", "not subtracted", "anthropic", "priority", "openai"],
)  # fmt: skip
def test_details_subtracted_by_langfuse_are_added_again(told: dict[str, Any], usage: TokenUsage) -> None:
    assert usage_of(tables.LANGFUSE, {"langfuse.observation.usage_details": json.dumps(told)}) == usage
