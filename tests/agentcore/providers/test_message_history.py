from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentcore.messages import CallIssue, ChatRequest, Message, Role, ToolCall
from agentcore.providers import get_provider
from agentcore.providers.wire.request_messages import History

LOOK, WAIT = ToolCall("c1", "look"), ToolCall("c2", "wait")
BROKEN = ToolCall("c3", "cut", issue=CallIssue.TRUNCATED)


def test_a_call_without_a_result_is_never_sent():
    asked = Message(Role.ASSISTANT, tool_calls=(LOOK, WAIT, BROKEN))
    result = Message(Role.TOOL, "seen", tool_call_id="c1")
    history = History((asked, result, Message(Role.TOOL, "?", tool_call_id="c3")))
    assert history.calls_of(asked) == (LOOK,)
    assert not history.may_echo(asked)
    assert history.may_echo(Message(Role.ASSISTANT, tool_calls=(LOOK,)))


def test_a_result_has_the_name_of_its_call():
    history = History((Message(Role.ASSISTANT, tool_calls=(LOOK,)),))
    result, stray = Message(Role.TOOL, "", tool_call_id="c1"), Message(Role.TOOL, "", tool_call_id="x")
    assert (history.name_of(result), history.has_call(result)) == ("look", True)
    assert (history.name_of(stray), history.has_call(stray)) == ("", False)


def test_a_result_with_a_reused_id_belongs_to_the_last_call_before_it():
    first, again = Message(Role.TOOL, "seen", tool_call_id="c1"), Message(Role.TOOL, "late", tool_call_id="c1")
    looked = Message(Role.ASSISTANT, tool_calls=(LOOK,))
    waited = Message(Role.ASSISTANT, tool_calls=(replace(WAIT, id="c1"),))
    history = History((looked, first, waited, again))
    assert (history.name_of(first), history.name_of(again)) == ("look", "wait")


def pairs_of(name: str, body: dict[str, Any]) -> tuple[list[str], list[str]]:
    """The ids of the calls and of the results in a body."""
    if name == "openai_responses":
        items = body["input"]
        calls = [item["call_id"] for item in items if item.get("type") == "function_call"]
        return calls, [item["call_id"] for item in items if item.get("type") == "function_call_output"]
    messages = body["messages"]
    calls = [call["id"] for message in messages for call in message.get("tool_calls", [])]
    return calls, [message["tool_call_id"] for message in messages if message["role"] == "tool"]


IDS = st.sampled_from(["a", "b", "c", "d"])
CALLS = st.builds(ToolCall, IDS, st.just("look"), st.just({}), st.just("{}"), st.sampled_from([None, None, *CallIssue]))
ECHOES = st.sampled_from([None, "x", [{"type": "thinking"}], {"role": "model"}])
SAID = st.builds(Message, st.just(Role.ASSISTANT), st.text(max_size=3), st.lists(CALLS, max_size=3).map(tuple))
RESULTS = st.builds(Message, st.just(Role.TOOL), st.text(max_size=3), st.just(()), IDS)


@pytest.mark.parametrize("name", ["openai", "openai_responses", "ollama"])
@given(st.lists(SAID | RESULTS, max_size=8), ECHOES)
def test_no_body_contains_a_call_without_a_result_or_a_result_without_a_call(name, history, echo):
    taken: set[str] = set()  # the reducer makes ids unique
    messages = []
    for message in history:
        fresh = tuple(call for call in message.tool_calls if not (call.id in taken or taken.add(call.id)))
        messages.append(replace(message, tool_calls=fresh, echo=echo))
    calls, results = pairs_of(name, get_provider(name).encode_request(ChatRequest("m", tuple(messages), 60)))
    assert set(calls) == set(results)
