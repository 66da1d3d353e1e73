"""A client's messages as the core's: nothing is lost, and what an upstream would refuse is said first."""

import pytest

from agentcore.messages import Role
from dashboard.gateway.wire.chat.conversation import Conversation, read_messages
from dashboard.gateway.wire.faults import Fault
from dashboard.gateway.wire.parsed_request import shown_input

USER = {"role": "user", "content": "Hello?"}


def call(call_id="c1", arguments='{"a": 1}'):
    return {"id": call_id, "type": "function", "function": {"name": "look", "arguments": arguments}}


def read(*messages):
    found = read_messages(list(messages))
    assert isinstance(found, Conversation), found
    return found


def fault(*messages):
    found = read_messages(list(messages))
    assert isinstance(found, Fault), found
    return found


def test_plain_messages_need_no_echo_and_others_are_echoed():
    developer = {"role": "developer", "content": "Be brief."}
    named = {**USER, "name": "ada"}
    parts = {"role": "user", "content": [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]}
    found = read(developer, USER, named, parts).messages
    assert [message.role for message in found] == [Role.SYSTEM, Role.USER, Role.USER, Role.USER]
    assert [message.text for message in found] == ["Be brief.", "Hello?", "Hello?", "one\ntwo"]
    assert [message.echo for message in found] == [developer, None, named, parts]


def test_arguments_that_are_not_json_are_kept_only_as_text():
    said = {"role": "assistant", "content": None, "tool_calls": [call(arguments='{"a": 1e999}')]}
    _, assistant, _ = read(USER, said, {"role": "tool", "tool_call_id": "c1", "content": "1"}).messages
    (made,) = assistant.tool_calls
    assert (dict(made.arguments), made.raw) == ({}, '{"a": 1e999}')


def test_calls_and_their_results_are_paired():
    said = {"role": "assistant", "content": None, "tool_calls": [call(), call("c2", "not json")]}
    results = [{"role": "tool", "tool_call_id": name, "content": name} for name in ("c2", "c1")]
    _, assistant, *told = read(USER, said, *results).messages
    assert [dict(made.arguments) for made in assistant.tool_calls] == [{"a": 1}, {}]
    assert [message.tool_call_id for message in told] == ["c2", "c1"]
    assert "did not have response messages: c1" in fault(USER, said, results[0]).message
    assert "must be a response" in fault(USER, results[0]).message


def test_legacy_function_results_find_the_call_by_name():
    said = {"role": "assistant", "content": None, "function_call": {"name": "look", "arguments": "{}"}}
    _, assistant, result = read(USER, said, {"role": "function", "name": "look", "content": "seen"}).messages
    assert result.tool_call_id == assistant.tool_calls[0].id
    assert assistant.echo is None


def test_an_unpaired_function_call_or_result_is_sent_unchanged():
    said = {"role": "assistant", "content": None, "function_call": {"name": "look", "arguments": "{}"}}
    result = {"role": "function", "name": "look", "content": "seen"}
    left, _, other, paired, told = read(result, USER, said, said, result).messages
    assert (left.role, left.text, left.echo) == (Role.USER, "seen", result)
    assert (other.tool_calls, other.echo) == ((), said)
    assert told.tool_call_id == paired.tool_calls[0].id


def test_the_first_non_text_part_is_recorded():
    image = {"role": "user", "content": [{"type": "text", "text": "?"}, {"type": "image_url"}, {"type": "input_audio"}]}
    assert read(USER, image).beyond_text == "messages[1].content[1]"
    assert read(USER).beyond_text is None


@pytest.mark.parametrize(
    ("message", "param"),
    [
        ("hello", "messages[0]"),
        ({"content": "x"}, "messages[0].role"),
        ({"role": 7, "content": "x"}, "messages[0].role"),
        ({"role": "user"}, "messages[0].content"),
        ({"role": "user", "content": 7}, "messages[0].content"),
        ({"role": "user", "content": ["x"]}, "messages[0].content[0]"),
        ({"role": "tool", "content": "x"}, "messages[0].tool_call_id"),
        ({"role": "assistant", "tool_calls": "x"}, "messages[0].tool_calls"),
        ({"role": "assistant", "tool_calls": [{}]}, "messages[0].tool_calls[0].function"),
        ({"role": "assistant", "tool_calls": [{"function": {}}]}, "messages[0].tool_calls[0].id"),
        (
            {"role": "assistant", "tool_calls": [{**call(), "function": {"name": "x"}}]},
            "messages[0].tool_calls[0].function.arguments",
        ),
    ],
)
def test_a_fault_is_reported_with_its_location(message, param):
    found = fault(message)
    assert (found.status, found.type, found.param) == (400, "invalid_request_error", param)


def test_the_timeline_shows_the_last_message_of_a_person():
    result = [{"role": "assistant", "tool_calls": [call()]}, {"role": "tool", "tool_call_id": "c1", "content": "seen"}]
    assert shown_input(read(USER, *result).messages) == "Hello?"
    assert shown_input(read({"role": "system", "content": "Begin."}).messages) == "Begin."
    assert shown_input([]) == ""


@pytest.mark.parametrize("kind", [[], {}, ["text"]])
def test_a_part_with_an_impossible_type_is_refused(kind):
    found = fault({"role": "user", "content": [{"type": kind, "text": "Hm."}]})
    assert (found.param, found.code) == ("messages[0].content[0].type", "invalid_type")


@pytest.mark.parametrize("kind", [None, 1, "image_url"])
def test_a_part_whose_type_is_not_a_string_is_not_text(kind):
    conversation = read_messages([{"role": "user", "content": [{"type": kind, "text": "Hm."}]}])
    assert (conversation.messages[0].text, conversation.beyond_text) == ("", "messages[0].content[0]")
