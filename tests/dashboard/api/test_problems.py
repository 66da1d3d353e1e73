"""Whatever goes wrong, a program is told in problem details, and never more than it should know."""

import json
import logging
from collections.abc import Iterator
from unittest.mock import Mock

import pytest
from django.core.exceptions import ObjectDoesNotExist
from django.http import HttpRequest
from pydantic import ValidationError as ShapeError

from dashboard.api.problems import HANDLERS, of_missing
from dashboard.api.request_base import Body
from dashboard.turns import selectors
from tests.dashboard.api.conftest import Program, said

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    "body",
    [
        "{",
        "nonsense",
        '{"name": NaN}',
        '{"name": -Infinity}',
        '{"name": 1e999}',
        '{"name": [-1e999]}',
        '{"name": ' + "1" * 5_000 + "}",
        '{"name": "a"} {}',
        b"\xff\xfe",
        '{"name": "\\ud800"}',
        "[" * 100_000,
    ],
)
def test_a_body_that_is_not_json_is_a_descriptive_400(api: Program, body: str | bytes):
    response = api.post("/connections", body)
    assert response.status_code == 400
    said(response)
    assert response.json()["detail"].startswith("The body is not JSON: ")


@pytest.mark.parametrize("body", [None, "[]", "1", "null", '"text"'])
def test_a_body_that_is_not_an_object_is_422(api: Program, body: str | None):
    assert set(api.problem("/connections", body, 422)) == {None}


@pytest.mark.parametrize("size", [2_000_001, 2_700_000])
def test_a_body_that_is_too_large_is_413(api: Program, size: int):
    response = api.post("/connections", b" " * size)
    assert response.status_code == 413
    said(response)
    assert response.json()["detail"] == "The body is larger than 2,000,000 bytes; send less at a time."


def test_a_large_body_under_the_limit_is_accepted(api: Program):
    check = {"path": "ResponseContentCheck", "kwargs": {"message": "x" * 1_900_000, "min_chars": 1}}
    assert api.post("/policies", {"name": "p", "criteria": [check]}).status_code == 201


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"emails": ["a\0@example.org"]}, "emails.0"),
        ({"name": "a\0"}, "name"),
        ({"name": "a\0", "emails": ["\0"]}, "name"),
    ],
)
def test_a_text_that_cannot_be_stored_is_an_invalid_value(api: Program, body: dict, field: str):
    rule = {"name": "a", "metric": "turns", "number": 1}
    assert "U+0000" in api.problem("/alerts", {**rule, **body}, 400)[field]
    assert api.post("/alerts", {**rule, **body, "number": "many"}).status_code == 422


def _bodies(base: type[Body]) -> Iterator[type[Body]]:
    for kind in base.__subclasses__():
        yield kind
        yield from _bodies(kind)


def _integers(kind: type[Body]) -> Iterator[str]:
    """The fields of a body that are one integer."""
    for name, field in kind.model_json_schema()["properties"].items():
        if "integer" in {each.get("type") for each in (field, *field.get("anyOf", ()))}:
            yield name


def _faults(kind: type[Body], name: str, value: float) -> set[str]:
    try:
        kind.model_validate({name: value})
    except ShapeError as error:
        return {fault["type"] for fault in error.errors() if fault["loc"][0] == name}
    return set()


def test_an_integer_may_have_a_decimal_point():
    fields = [(kind, name) for kind in _bodies(Body) for name in _integers(kind)]
    assert len(fields) > 20
    assert [(kind.__name__, name) for kind, name in fields if _faults(kind, name, 15.0)] == []
    assert [(kind.__name__, name) for kind, name in fields if not _faults(kind, name, 15.5)] == []


def test_an_unknown_field_is_refused_with_the_names_of_the_known_ones(api: Program):
    wrong = api.problem("/connections", {"name": "near", "{field}": 1}, 422)
    assert wrong["{field}"].startswith("There is no field “{field}”; the fields are name, provider, base_url, ")


@pytest.mark.parametrize(
    "name", ["{", "}", "{}", "{0}", "{field}", "{field.__class__}", "{field!r:>90000}", "{error.__traceback__}"]
)
def test_braces_in_a_field_name_are_not_placeholders(api: Program, name: str):
    wrong = api.problem("/connections", {"name": "near", name: 1}, 422)
    assert wrong[name].startswith(f"There is no field “{name}”; the fields are name, ")


def test_a_text_that_is_too_long_is_reported_with_its_maximum(api: Program):
    wrong = api.problem("/policies", {"name": "p", "why": "x" * 501}, 422)
    assert wrong == {"why": "why must have at most 500 characters; it has 501."}


def test_missing_and_invalid_fields_are_reported_by_name(api: Program):
    assert api.problem("/connections", {"name": 5, "max_output_tokens": "many"}, 422) == {
        "name": "name must be text.",
        "max_output_tokens": "Max output tokens (max_output_tokens) must be a whole number.",
        "provider": "provider is required.",
        "base_url": "base_url is required.",
    }


def test_every_fault_of_a_field_names_it(api: Program):
    cap = api.problem("/agents", {"name": "a", "connection": "b", "model": "m", "max_tokens": "many"}, 422)
    assert cap == {"max_tokens": "Max tokens per call (max_tokens) must be a whole number."}
    calls = {"name": "a", "provider": "openai", "base_url": "http://127.0.0.1:1/v1", "max_concurrent_calls": 0}
    assert api.problem("/connections", calls, 400) == {
        "max_concurrent_calls": "max_concurrent_calls must be at least 1."
    }
    response = api.get("/lint?days=0")
    assert response.json()["detail"] == "days must be at least 1."
    assert api.problem("/tokens", {"name": ""}, 422)["name"] == "name must not be empty."


@pytest.mark.parametrize("path", ["tokens", "keys", "alerts"])
def test_a_name_is_one_line(api: Program, path: str):
    body = {"name": "a\nb", **({"metric": "turns", "number": 1} if path == "alerts" else {})}
    assert api.problem(f"/{path}", body, 400) == {"name": "name must be one line without control characters."}


def test_an_unknown_url_and_a_wrong_method_are_also_problems(api: Program):
    response = api.get("/nowhere")
    assert response.status_code == 404
    said(response)
    response = api.client.delete("/api/v1/turns")
    assert (response.status_code, set(response["Allow"].split(", "))) == (405, {"GET", "POST"})
    said(response)
    assert response.json()["detail"] == f"This address does not accept DELETE requests, only {response['Allow']}."


def test_an_internal_error_is_a_500_without_details_which_are_logged(api: Program, caplog, monkeypatch):
    def fail(turn_id: object) -> None:
        raise RuntimeError("the secret ingredient")

    monkeypatch.setattr(selectors, "turn_get", fail)
    with caplog.at_level(logging.ERROR, logger="dashboard.api"):
        response = api.get("/turns/01a1fbc5-27eb-74dc-9e07-332dcdb1f422")
    assert response.status_code == 500
    said(response)
    assert "secret" not in response.content.decode()
    assert "the secret ingredient" in caplog.text


def test_a_lack_of_memory_is_reported_as_a_limit():
    with pytest.raises(MemoryError):
        HANDLERS[Exception](Mock(), MemoryError())


def test_every_error_of_ninja_is_returned_in_our_format():
    from dashboard.api.api import api

    assert set(api._exception_handlers) == set(HANDLERS)


def test_a_response_is_valid_json_for_any_model_output(api: Program):
    assert json.loads(api.get("/turns").content) == {"items": [], "next": None, "previous": None}


def test_bounds_of_integers_are_in_the_schema():
    bounds = {
        (kind.__name__, name): (said.get("minimum"), said.get("maximum"))
        for kind in _bodies(Body)
        for name, field in kind.model_json_schema()["properties"].items()
        for said in (field, *field.get("anyOf", ()))
        if said.get("type") == "integer"
    }
    assert bounds["AlertRule", "least_turns"] == bounds["AlertChange", "least_turns"] == (0, 1_000_000)
    assert bounds["Activate", "version"] == (1, 2_000_000_000)


@pytest.mark.parametrize(("model", "words"), [("ApiToken", "API token"), ("McpServer", "MCP server"), ("Turn", "turn")])
def test_a_missing_object_is_named_with_the_term_of_the_docs(model: str, words: str):
    error = ObjectDoesNotExist(f"{model} matching query does not exist.")
    told = json.loads(of_missing(HttpRequest(), error).content)
    assert told["detail"] == f"There is no {words} with this name or id."
