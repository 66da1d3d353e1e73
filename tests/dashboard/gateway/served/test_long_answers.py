"""A long answer is judged beside the event loop, so that no other call waits for it."""

import json
from typing import Any

import pytest

from agentcore.events import ModelResponded
from agentcore.machine.advance import advance
from dashboard.gateway.serving import call_driver
from dashboard.live.model_call import LONG_ANSWER
from tests.dashboard.gateway.served.event_loop import is_on_the_event_loop
from tests.dashboard.gateway.served.upstream import whole

FORMAT = {"type": "json_schema", "json_schema": {"name": "e", "schema": {"allOf": [{"type": "array"}]}}}


@pytest.mark.parametrize("model", ["continued", "watched"])
@pytest.mark.parametrize("asked", [{}, {"response_format": FORMAT}])
def test_a_long_answer_is_judged_off_the_event_loop(gate, upstream, continued, watched, monkeypatch, model, asked):
    on_the_loop: list[bool] = []

    def noted(snapshot: Any, event: Any, policy: Any) -> Any:
        if isinstance(event, ModelResponded):
            on_the_loop.append(is_on_the_event_loop())
        return advance(snapshot, event, policy)

    monkeypatch.setattr(call_driver, "advance", noted)
    upstream.says(whole(json.dumps([*range(LONG_ANSWER // 6)])))
    assert gate.ask(model=model, **asked).status == 200
    assert on_the_loop == [False]
