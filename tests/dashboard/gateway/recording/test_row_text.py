"""A row is JSON that Postgres takes, and says what it was given."""

import json
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection
from hypothesis import given
from hypothesis import strategies as st

from dashboard.gateway.recording.row_text import row_text
from dashboard.platform.fields import exact_json, storable_text
from dashboard.turns.models import Attempt

texts = st.text(st.characters(codec=None) | st.sampled_from("\x00\ud800\udc00\ue000\uefff\\u0"))


def written(**columns: Any) -> tuple[str, dict[str, Any]]:
    text = row_text(Attempt, columns).decode()
    return text, json.loads(text)


def as_read(column: Any) -> Any:
    """As the model's field reads what Postgres gives."""
    return exact_json(json.dumps(column, ensure_ascii=False))


@given(texts, texts)
def test_json_is_stored_exactly_and_text_except_for_forbidden_characters(said: str, shown: str):
    text, row = written(usage={said: [said]}, text=shown, turn_id=uuid4())
    assert as_read(row["usage"]) == {said: [said]}
    assert row["text"] in (shown, storable_text(shown))
    assert storable_text(row["text"]) == storable_text(shown)
    assert "\\u0000" not in text.replace("\\\\", "")


@pytest.mark.parametrize("odd", ["\x00", "\ud800", "\ue0000000"])
def test_forbidden_characters_are_marked_in_json_even_as_the_only_content(odd: str):
    text, row = written(usage={"said": odd})
    assert row["usage"] != {"said": odd}
    assert as_read(row["usage"]) == {"said": odd}
    text.encode()


def test_an_escaped_backslash_before_u0000_is_not_a_null_character():
    _, row = written(usage={"said": "\\u0000"}, text="\\u0000")
    assert as_read(row["usage"]) == {"said": "\\u0000"}
    assert row["text"] == "\\u0000"


@pytest.mark.django_db
@pytest.mark.parametrize("number", [1e308, 1e22, -1.5e16, -0.0, 1.0, 1e-7, 2**70])
def test_numbers_read_back_from_postgres_unchanged(number: float):
    text = row_text(Attempt, {"usage": {"at": [number]}, "text": "1e+22 and -0.0"}).decode()
    with connection.cursor() as cursor:
        cursor.execute("SELECT (%s::json ->> 'usage')::jsonb::text, %s::json ->> 'text'", [text, text])
        usage, shown = cursor.fetchone()
    assert repr(exact_json(usage)) == repr({"at": [number]})
    assert shown == "1e+22 and -0.0"
