"""Garbage in each field of each body that makes something: one sentence for one fault, in the words of this product."""

import re
from typing import Any

import pytest
from django.db import transaction

from tests.dashboard.accounts.walking import made_world
from tests.dashboard.api.conftest import Program

pytestmark = pytest.mark.django_db
BODIES: dict[str, dict[str, Any]] = {
    "agents": {"name": "x", "connection": "walked", "model": "m", "max_tokens": 50, "system_prompt": "", "tools": []},
    "connections": {
        "name": "x", "provider": "openai", "base_url": "http://127.0.0.1:1/v1", "max_output_tokens": 5,
        "context_window": 5, "max_concurrent_calls": 4, "requests_per_minute": 4,
    },
    "keys": {"name": "x", "mode": "", "limits": {"requests_per_minute": 1}},
    "alerts": {
        "name": "x", "metric": "truncation_rate", "condition": "above", "number": 1, "window_minutes": 15,
        "least_turns": 1,
    },
    "policies": {"name": "x", "why": "y", "limits": {"max_steps": 3}},
    "turns": {"agent": "walked", "input": "x", "overrides": {"max_tokens": 4}},
    "tokens": {"name": "x"},
}  # fmt: skip
GARBAGE = (10**30, -7, "", "x" * 100_000, "a b", 1.5, [], {}, "🙂", "<script>", True)
#: How the libraries that read bodies and models begin their sentences.
FOREIGN = re.compile(r"This field|This value|Ensure th|Input should|String should|Unable to parse|Enter a valid")


@pytest.mark.parametrize("path", BODIES)
def test_garbage_is_answered_once_and_in_our_words(api: Program, path: str):
    made_world()
    wrong = []
    for field in BODIES[path]:
        for garbage in GARBAGE:
            with transaction.atomic():
                answer = api.post(f"/{path}", {**BODIES[path], field: garbage})
                transaction.set_rollback(True)
            if answer.status_code < 400:
                continue
            told = [fault["message"] for fault in answer.json()["errors"]]
            found = FOREIGN.search(answer.json()["detail"])
            bounds = [words for words in told if "must be at" in words]
            if answer.status_code >= 500 or found or len(set(told)) < len(told) or len(bounds) > 1:
                wrong.append((field, str(garbage)[:20], answer.status_code, [words[:120] for words in told]))
    assert not wrong
