"""A body of more JSON values than any real request has is refused at every address, before one of them is made."""

import gzip
from typing import Any

import pytest

from dashboard.gateway.serving.request_body import MOST_VALUES, MOST_VALUES_RELAYED
from dashboard.gateway.wire.caller_dialects import BY_PATH
from dashboard.gateway.wire.relay_routes import RELAYED
from tests.dashboard.gateway.served.conftest import AgentAt
from tests.dashboard.gateway.served.gate import Gate

GEMINI = "/v1beta/models/helper:"
#: The most values that may be sent to each address.
MOST = {
    **dict.fromkeys((*BY_PATH, f"{GEMINI}generateContent", f"{GEMINI}streamGenerateContent"), MOST_VALUES),
    **dict.fromkeys((*RELAYED, f"{GEMINI}countTokens"), MOST_VALUES_RELAYED),
}
#: What an error's form has beside its message, by the beginning of the address.
FORMS: dict[str, dict[str, Any]] = {
    "/v1/messages": {"type": "request_too_large", "details": {"error_code": "request_too_large"}},
    "/v1beta": {"code": 413, "status": "INVALID_ARGUMENT"},
    "/v1": {"type": "invalid_request_error", "code": "request_too_large", "param": None},
}
FEW = b'{"model":"helper","messages":[{"role":"user","content":"%b"}]}' % (b"[{,}]" * MOST_VALUES)


def test_too_many_values_are_refused_in_the_format_of_the_endpoint(
    gate: Gate, agent_at: AgentAt, subtests: pytest.Subtests
):
    agent_at("sim-script", name="helper")
    for address, most in MOST.items():
        many = b'{"model":"helper","x":[' + b"{}," * (most // 2) + b"0]}"
        form = next(form for beginning, form in FORMS.items() if address.startswith(beginning))
        for body, coding in ((many, "identity"), (gzip.compress(many), "gzip")):
            with subtests.test(address, coding=coding):
                answer = gate.send("POST", address, body, {"Content-Encoding": coding})
                error = dict(answer.json["error"])
                assert answer.status == 413
                assert error.pop("message") == f"The request holds more than {most:,} JSON values. Send less at a time."
                assert form.items() <= error.items()


def test_a_long_text_is_one_value_whatever_it_contains(gate: Gate, agent_at: AgentAt):
    agent_at("sim-script", name="helper")
    assert gate.post(FEW).status == 200
