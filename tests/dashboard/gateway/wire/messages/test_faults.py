"""Errors as Anthropic's clients read them."""

import json

import pytest

from agentcore.providers import get_provider
from dashboard.gateway.wire.faults import Fault
from dashboard.gateway.wire.messages.faults import fault_body, fault_event, type_of
from tests.together import together


@together
@pytest.mark.parametrize("status", range(400, 600))
def test_every_status_has_an_error_type_of_the_same_meaning(status):
    kind = type_of(status)
    assert kind.endswith("_error") or kind == "request_too_large"
    body = fault_body(Fault(status, "No."), "req_1")
    assert get_provider("anthropic").decode_error(status, {}, body).status == status


def test_an_error_gives_its_request_id_and_our_code():
    fault = Fault(404, "The model `x` does not exist.", code="model_not_found")
    told = {
        "type": "error",
        "error": {
            "type": "not_found_error",
            "message": "The model `x` does not exist.",
            "details": {"error_code": "model_not_found"},
        },
        "request_id": "req_1",
    }
    assert json.loads(fault_body(fault, "req_1")) == told
    name, data, *_ = fault_event(fault, "req_1").decode().split("\n")
    assert (name, json.loads(data.removeprefix("data: "))) == ("event: error", told)
