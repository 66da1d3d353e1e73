"""What the schema says of the API is whole, and its page needs nobody else."""

import re
from collections import Counter
from dataclasses import replace
from types import ModuleType
from urllib.parse import urlencode

import jsonschema_rs
import pytest
from django.conf import settings
from pydantic import BaseModel

from dashboard.api import (
    backtest_response_schemas,
    configuration_response_schemas,
    replay_request_schemas,
    replay_response_schemas,
    request_schemas,
    run_response_schemas,
    turn_response_schemas,
)
from dashboard.api.openapi_examples import FILES
from dashboard.api.openapi_headers import UNREAD
from tests.dashboard.api.conftest import Program
from tests.nightly import nightly

pytestmark = pytest.mark.django_db

ANSWERED = (
    configuration_response_schemas,
    backtest_response_schemas,
    replay_response_schemas,
    run_response_schemas,
    turn_response_schemas,
)
ODD = ("\x00", "9" * 40, "-1")
ODD_AT_NIGHT = ("a" * 3000, "\ud800", "[", "'")

#: As design §4.3 lists them.
CALLS = {
    ("post", "/connections"): "201",
    ("get", "/connections"): "200",
    ("get", "/connections/{name}"): "200",
    ("post", "/policies"): "201",
    ("get", "/policies"): "200",
    ("get", "/policies/{name}"): "200",
    ("post", "/agents"): "201",
    ("get", "/agents"): "200",
    ("get", "/agents/{name}"): "200",
    ("post", "/conversations"): "201",
    ("get", "/conversations"): "200",
    ("get", "/conversations/{conversation_id}"): "200",
    ("patch", "/conversations/{conversation_id}"): "200",
    ("post", "/turns"): "201",
    ("get", "/turns"): "200",
    ("get", "/turns/{turn_id}"): "200",
    ("get", "/turns/{turn_id}/attempts"): "200",
    ("get", "/turns/{turn_id}/records"): "200",
    ("get", "/turns/{turn_id}/evaluations"): "200",
    ("get", "/turns/{turn_id}/events"): "200",
    ("post", "/turns/{turn_id}/cancel"): "202",
    ("post", "/turns/{turn_id}/control"): "202",
    ("post", "/turns/{turn_id}/replay"): "200",
    ("get", "/turns/{turn_id}/export"): "200",
    ("get", "/turns/export"): "200",
    ("post", "/turns/import"): "201",
    ("post", "/logs/import"): "200",
    ("get", "/turns/{turn_id}/comments"): "200",
    ("post", "/turns/{turn_id}/comments"): "201",
    ("get", "/turns/{turn_id}/lint"): "200",
    ("get", "/turns/{turn_id}/verdict"): "200",
    ("get", "/turns/{turn_id}/roads"): "200",
    ("get", "/lint"): "200",
    ("post", "/backtests"): "201",
    ("get", "/backtests/{backtest_id}"): "200",
    ("get", "/capabilities"): "200",
    ("get", "/metrics"): "200",
    ("get", "/alerts"): "200",
    ("post", "/alerts"): "201",
    ("post", "/alerts/preview"): "200",
    ("get", "/alerts/{alert_id}"): "200",
    ("patch", "/alerts/{alert_id}"): "200",
    ("delete", "/alerts/{alert_id}"): "204",
}


@pytest.fixture
def schema(api: Program) -> dict:
    return api.get("/openapi.json").json()


def operations(schema: dict) -> dict[tuple[str, str], dict]:
    return {
        (method, path.removeprefix("/api/v1")): operation
        for path, methods in schema["paths"].items()
        for method, operation in methods.items()
    }


def test_the_schema_documents_every_operation_of_the_design_and_its_responses(schema: dict):
    found = operations(schema)
    assert found.keys() >= CALLS.keys()
    assert all(status in found[call]["responses"] for call, status in CALLS.items())


def test_the_test_seam_is_documented_only_where_it_is_open(api: Program, monkeypatch: pytest.MonkeyPatch):
    seam = ("post", "/simulator/scripts")
    assert seam not in operations(api.get("/openapi.json").json())
    monkeypatch.setattr(settings, "ENVIRONMENT", replace(settings.ENVIRONMENT, test_seam=True))
    told = operations(api.get("/openapi.json").json())
    assert "201" in told[seam]["responses"]
    assert "404" in told["get", "/simulator/scripts/{name}/calls"]["responses"]


def test_every_operation_has_a_description_and_its_errors(schema: dict):
    for operation in operations(schema).values():
        assert operation["summary"]
        assert operation["description"]
        assert operation["security"]
        problems = {status: answer for status, answer in operation["responses"].items() if status >= "400"}
        assert {"401", "500"} <= problems.keys()
        assert all("application/problem+json" in answer["content"] for answer in problems.values())


def test_every_body_has_an_example_valid_under_its_schema(schema: dict):
    for (method, path), operation in operations(schema).items():
        answers = {status: answer for status, answer in operation["responses"].items() if status != "304"}
        if method != "get" and "requestBody" in operation:
            answers["request"] = operation["requestBody"]
        for said, body in answers.items():
            for kind, content in body.get("content", {}).items():
                assert "example" in content, (method, path, said)
                if "json" not in kind or operation["operationId"] in FILES:
                    continue
                whole = {**content["schema"], "components": schema["components"]}
                faults = [str(error) for error in jsonschema_rs.iter_errors(whole, content["example"])]
                assert faults == [], (method, path, said)


def test_every_operation_documents_its_headers(schema: dict):
    for (method, path), operation in operations(schema).items():
        named = {parameter["name"] for parameter in operation["parameters"]}
        wanted = {"If-None-Match"} if method == "get" else {"Idempotency-Key", "If-Match"}
        assert named >= wanted - ({"If-Match"} if f"/api/v1{path}" in UNREAD else set())
        assert all(
            "RateLimit" in answer["headers"] for status, answer in operation["responses"].items() if status != "304"
        )


def test_every_reference_in_the_schema_resolves(api: Program):
    text = api.get("/openapi.json").content.decode()
    schemas = api.get("/openapi.json").json()["components"]["schemas"]
    assert set(re.findall(r"#/components/schemas/(\w+)", text)) <= schemas.keys()


def test_requests_and_responses_have_separate_schema_names(schema: dict):
    """Schemas stand side by side by name, so of two with one name only the last is told."""
    sent = [model for module in (request_schemas, replay_request_schemas) for model in defined(module)]
    answered = [model for module in ANSWERED for model in defined(module)]
    named = Counter(model.__name__ for model in (*sent, *answered))
    assert [name for name, times in named.items() if times > 1] == []
    told = schema["components"]["schemas"]
    for model in sent:
        assert set(told[model.__name__]["properties"]) == set(model.model_fields), model
    body = operations(schema)["post", "/turns"]["requestBody"]["content"]["application/json"]["schema"]
    assert body == {"$ref": "#/components/schemas/NewTurn"}


def defined(module: ModuleType) -> list[type[BaseModel]]:
    """The shapes that a module defines itself."""
    models = (one for one in vars(module).values() if isinstance(one, type) and issubclass(one, BaseModel))
    return [model for model in models if model.__module__ == module.__name__]


def test_events_of_a_stream_are_documented_with_their_websocket(schema: dict):
    answers = operations(schema)[("get", "/turns/{turn_id}/events")]["responses"]
    stream = answers["200"]["content"]["text/event-stream"]
    described = stream["x-events"]
    assert stream["schema"]["properties"]["event"]["enum"] == [*described]
    assert {kind: event["$ref"].rpartition("/")[2] for kind, event in described.items()} == {
        "record": "Record",
        "draft": "Draft",
        "end": "Turn",
    }
    assert set(schema["components"]["schemas"]["Draft"]["properties"]) == {"attempt", "offset", "text"}
    assert "429" in answers
    assert "/ws/turns/{turn_id}/?format=json" in schema["info"]["description"]


def test_operation_ids_are_unique(schema: dict):
    names = [operation["operationId"] for operation in operations(schema).values()]
    assert len(set(names)) == len(names)


def test_the_schema_page_loads_only_local_files(api: Program):
    page = api.get("/docs").content.decode()
    sources = re.findall(r'(?:src|href)="([^"]+)"', page)
    assert sources
    assert all(re.match(r"/static/|/account/$|/$", source) for source in sources)
    assert sum(source.endswith("/css/tokens.css") for source in sources) == 1
    assert not re.search(r"<script>|<style|onload=", page)


@pytest.mark.parametrize("values", [pytest.param(ODD, id="each change"), nightly(ODD_AT_NIGHT, id="nightly")])
def test_no_query_value_causes_a_server_error(api: Program, values: tuple[str, ...]):
    """Every parameter of every address that is read, with values that nobody means."""
    paths = api.get("/openapi.json").json()["paths"]
    asked = [
        (path.removeprefix("/api/v1"), parameter["name"])
        for path, methods in paths.items()
        for parameter in methods.get("get", {}).get("parameters", [])
        if parameter["in"] == "query" and "{" not in path
    ]
    assert len(asked) > 20
    for path, name in asked:
        for odd in values:
            query = urlencode({name: odd.encode("utf-8", "surrogatepass")})
            assert api.get(f"{path}?{query}").status_code < 500, (path, query)
