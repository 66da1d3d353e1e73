"""A large request is counted, parsed and written beside the event loop, so that no other call waits for it."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from dashboard.gateway import app
from dashboard.gateway.serving import call_driver, request_body
from dashboard.gateway.serving.request_body import LARGE
from dashboard.gateway.wire import parsed_request
from dashboard.gateway.wire.relay_routes import RELAYED
from tests.dashboard.gateway.served.event_loop import is_on_the_event_loop
from tests.dashboard.gateway.served.upstream import whole

#: What takes as long as the request is large.
LONG_STEPS = [
    (request_body, "holds_more_values"),
    (parsed_request, "read_strictly"),
    (app, "prepare_call"),
    (call_driver, "prepared_call"),
]


@pytest.mark.parametrize("model", ["continued", "watched"])
@pytest.mark.parametrize(("size", "on_the_loop"), [(LARGE, False), (10, True)])
def test_a_large_request_is_read_and_written_off_the_event_loop(
    gate, upstream, continued, watched, monkeypatch, model, size, on_the_loop
):
    seen: list[tuple[str, bool]] = []
    for module, name in LONG_STEPS:
        monkeypatch.setattr(module, name, _noted(getattr(module, name), seen))
    upstream.says(whole("Yes."))
    assert gate.ask(model=model, messages=[{"role": "user", "content": "a" * size}]).status == 200
    assert set(seen) == {(name, on_the_loop) for _, name in LONG_STEPS}


def test_a_large_forwarded_request_is_read_off_the_event_loop(gate, continued, monkeypatch):
    seen: list[tuple[str, bool]] = []
    monkeypatch.setitem(RELAYED, "/v1/embeddings", _noted(RELAYED["/v1/embeddings"], seen))
    body = json.dumps({"model": "continued", "input": "a" * LARGE}).encode()
    gate.send("POST", "/v1/embeddings", body, {"Content-Type": "application/json"})
    assert [on_the_loop for _, on_the_loop in seen] == [False]


def _noted(work: Callable[..., Any], seen: list[tuple[str, bool]]) -> Callable[..., Any]:
    def noted(*given: Any, **named: Any) -> Any:
        seen.append((getattr(work, "__name__", ""), is_on_the_event_loop()))
        return work(*given, **named)

    return noted
