"""A Messages conversation as the core has it."""

import pytest

from agentcore.messages import Role
from dashboard.gateway.wire.faults import Fault
from dashboard.gateway.wire.messages.conversation import Conversation, read_messages

USE = {"type": "tool_use", "id": "t1", "name": "look", "input": {"at": 1}}
RESULT = {"type": "tool_result", "tool_use_id": "t1", "content": "seen"}
IMAGE = {"type": "image", "source": {"type": "url", "url": "u"}}


def text(said, **more):
    return {"type": "text", "text": said, **more}


def user(*content):
    return {"role": "user", "content": list(content)}


def assistant(*content):
    return {"role": "assistant", "content": list(content)}


def read(*messages) -> Conversation:
    found = read_messages(list(messages))
    assert isinstance(found, Conversation), found
    return found


def fault(*messages) -> str:
    found = read_messages(list(messages))
    assert isinstance(found, Fault), found
    return found.message


def test_tool_results_and_text_of_one_message_become_separate_messages():
    found = read(user(text("?")), assistant(USE), user(RESULT, text("and"), text("now?"))).messages
    assert [(message.role, message.text) for message in found] == [
        (Role.USER, "?"),
        (Role.ASSISTANT, ""),
        (Role.TOOL, "seen"),
        (Role.USER, "and\nnow?"),
    ]
    assert (found[1].tool_calls[0].arguments, found[1].tool_calls[0].id) == ({"at": 1}, "t1")
    assert (found[2].tool_call_id, found[2].echo) == ("t1", None)
    assert found[3].echo == [text("and"), text("now?")]


def test_only_messages_with_more_than_text_are_echoed():
    assert read({"role": "user", "content": "?"}).messages[0].echo is None
    assert read(user(text("?"))).messages[0].echo is None
    assert read(user(text("?", cache_control={}))).messages[0].echo == [text("?", cache_control={})]
    failed = {**RESULT, "is_error": True}
    assert read(user(text("?")), assistant(USE), user(failed)).messages[2].echo == failed


def test_unsigned_reasoning_is_omitted_and_signed_reasoning_kept():
    signed = {"type": "thinking", "thinking": "", "signature": "s"}
    hidden = {"type": "redacted_thinking", "data": "d"}
    loose = {"type": "thinking", "thinking": "hm", "signature": ""}
    found = read(user(text("?")), assistant(loose, signed, hidden, text("a"), text("b")))
    assert found.messages[1].echo == [signed, hidden, text("a"), text("b")]
    assert (found.messages[1].text, found.beyond_text) == ("ab", None)


@pytest.mark.parametrize(
    ("messages", "at"),
    [
        ([user(text("?"), IMAGE)], "messages.0.content.1"),
        ([user(text("?")), assistant({"type": "server_tool_use"}), user(text("?"))], "messages.1.content.0"),
        ([user(text("?")), assistant(USE), user({**RESULT, "content": [IMAGE]})], "messages.2.content.0.content.0"),
    ],
)
def test_the_first_block_that_no_other_dialect_supports_is_named(messages, at):
    assert read(*messages).beyond_text == at


def test_a_system_message_keeps_its_position():
    message = {"role": "system", "content": "Now be brief."}
    found = read(user(text("?")), message, user(text("?"))).messages
    assert (found[1].role, found[1].text, found[1].echo) == (Role.SYSTEM, "Now be brief.", message)


@pytest.mark.parametrize(
    ("messages", "words"),
    [
        (["?"], "messages.0: Input should be an object"),
        ([{"content": "?"}], "messages.0.role: Input should be 'user', 'assistant' or 'system'"),
        ([{"role": "user"}], "messages.0.content: Field required"),
        ([user()], "messages.0.content: all messages must have non-empty content"),
        ([user("?")], "messages.0.content.0: Input should be an object"),
        ([user({})], "messages.0.content.0.type: Field required"),
        ([user(RESULT)], "messages.0.content.0: unexpected `tool_use_id` found in `tool_result` blocks: t1"),
        ([user(text("?")), assistant(USE), user(text("!"))], "`tool_use` ids were found without `tool_result` blocks"),
        ([user(text("?")), assistant({**USE, "input": "{}"})], "messages.1.content.0.input: Input should be an object"),
        ([user(text("?")), assistant({"type": "tool_use"})], "messages.1.content.0.id: Field required"),
        ([user(text("?")), assistant({"type": "tool_use", "id": "t"})], "messages.1.content.0.name: Field required"),
        ([user({"type": "tool_result"})], "messages.0.content.0.tool_use_id: Field required"),
    ],
)
def test_a_fault_is_reported_with_its_location(messages, words):
    assert words in fault(*messages)
