"""An answer that ended at the caller's own stop string is no silent cut, though its text ends in the middle."""

import json

import pytest

from tests.dashboard.gateway.served.conftest import turn_of
from tests.dashboard.gateway.served.upstream import said, whole
from tests.together import together

#: What stood before the caller's string, which providers leave out; and the sign it would be without one.
OPEN = [('```json\n{"a": 1}\n', "```", "unclosed_fence"), ('{"a": {"b": 1}', "}\n", "unclosed_json")]


def anthropic(text: str) -> bytes:
    """A whole answer that says it ended by itself."""
    body = {"id": "m1", "type": "message", "role": "assistant", "model": "m", "stop_reason": "end_turn"}
    usage = {"input_tokens": 3, "output_tokens": 5}
    return json.dumps({**body, "content": [{"type": "text", "text": text}], "usage": usage}).encode()


def found(gate, answer) -> list[str]:
    """The signs of the turn; the report and the timeline tell of the same."""
    turn = turn_of(answer)
    listed = gate.get("/api/v1/turns?" + "&".join(f"lint={code}" for _, _, code in OPEN)).json["items"]
    assert [item["id"] for item in listed] == ([str(turn.id)] if turn.lint else [])
    told = gate.get(f"/api/v1/turns/{turn.id}/lint").json
    assert [sign["code"] for sign in told] == turn.lint
    counted = {row["code"]: row["turns"] for row in gate.get("/api/v1/lint").json["codes"] if row["turns"]}
    assert counted == dict.fromkeys(turn.lint, 1)
    turn.delete()
    return turn.lint


@together
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("model", ["watched", "continued"])
@pytest.mark.parametrize(("text", "stop", "sign"), OPEN)
def test_a_turn_is_flagged_only_where_no_stop_string_was_requested(
    gate, upstream, continued, model, stream, text, stop, sign
):
    upstream.says(said(text) if stream else whole(text))
    for asked in (stop, [stop]):
        assert found(gate, gate.ask(model=model, stream=stream, stop=asked)) == []
        assert upstream.asked[-1]["stop"] == asked
    for none in ({}, {"stop": None}, {"stop": []}):
        assert found(gate, gate.ask(model=model, stream=stream, **none)) == [sign]


@pytest.mark.parametrize(("text", "stop", "sign"), OPEN)
def test_stop_strings_under_another_name_also_prevent_the_flag(gate, upstream, connected, agent_at, text, stop, sign):
    agent_at("m", "anthropic", connection=connected("anthropic", base_url=upstream.address), name="claude")
    upstream.says(anthropic(text))
    assert found(gate, gate.ask(model="claude", stop=[stop])) == []
    assert upstream.asked[-1]["stop_sequences"] == [stop]
    assert found(gate, gate.ask(model="claude")) == [sign]
