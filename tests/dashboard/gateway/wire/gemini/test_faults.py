"""Errors in Google's form."""

import json

from dashboard.gateway.wire.faults import Fault
from dashboard.gateway.wire.gemini.faults import fault_body, fault_event, status_of


def test_an_error_gives_its_message_in_machine_readable_form_too():
    fault = Fault(429, "Later.", code="rate_limit_exceeded", param="max_tokens", headers=(("retry-after", "7"),))
    error = json.loads(fault_body(fault, "req_1"))["error"]
    assert (error["code"], error["message"], error["status"]) == (429, "Later.", "RESOURCE_EXHAUSTED")
    reason, field, wait, request = error["details"]
    assert reason["reason"] == "RATE_LIMIT_EXCEEDED"
    assert field["fieldViolations"][0]["field"] == "generationConfig.maxOutputTokens"
    assert (wait["retryDelay"], request["requestId"]) == ("7s", "req_1")
    assert fault_event(fault, "req_1") == b"data: " + fault_body(fault, "req_1") + b"\n\n"


def test_every_http_status_has_a_status_name():
    assert [status_of(code) for code in (400, 405, 413, 500, 502)] == ["INVALID_ARGUMENT"] * 3 + ["INTERNAL"] * 2
    assert [status_of(code) for code in (401, 503)] == ["UNAUTHENTICATED", "UNAVAILABLE"]
