"""Messages that mean the same have the same key, in whatever form a client sends them back; others have another."""

import json
from uuid import UUID

import pytest

from dashboard.turns.run_keys import MOST_KEYS, Keys, answer_of, normal

PROJECT, OTHER = UUID(int=1), UUID(int=2)


def call(arguments='{"a": 1}', id="c1", name="look"):
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


def said(content, **more):
    return {"role": "assistant", "content": content, **more}


ALIKE = {
    "no content": (said(None, tool_calls=[call()]), said("", tool_calls=[call()])),
    "calls in another order": (
        said(None, tool_calls=[call(), call(id="c2")]),
        said(None, tool_calls=[call(id="c2"), call()]),
    ),
    "arguments written otherwise": (
        said(None, tool_calls=[call('{"a":1,"b":[2]}')]),
        said(None, tool_calls=[call('{ "b": [ 2 ], "a": 1 }')]),
    ),
    "no arguments": (said(None, tool_calls=[call("")]), said(None, tool_calls=[call("{}")])),
    "further fields": (said("Hi."), said("Hi.", refusal=None, audio=None, reasoning_content="Hm.", name="me")),
    "empty calls": (said("Hi."), said("Hi.", tool_calls=[])),
    "trimmed": (said("Hi,  you. \n"), said("Hi, you.")),
    "in parts": (said("Hi."), said([{"type": "text", "text": "Hi."}])),
    "marked to be cached": (
        {"role": "user", "content": "Hi."},
        {"role": "user", "content": [{"type": "text", "text": "Hi.", "cache_control": {"type": "ephemeral"}}]},
    ),
    "a refusal": (said(None, refusal="No."), said([{"type": "refusal", "refusal": "No."}])),
    "another name of the role": ({"role": "system", "content": "Be."}, {"role": "developer", "content": "Be."}),
    "a custom tool": (
        said(None, tool_calls=[{"id": "c", "type": "custom", "custom": {"name": "sh", "input": "ls"}}]),
        said("", tool_calls=[{"type": "custom", "custom": {"input": "ls", "name": "sh"}, "id": "c"}]),
    ),
}


@pytest.mark.parametrize("form", ALIKE)
def test_equal_conversations_in_different_formats_have_equal_keys(form):
    one, other = ALIKE[form]
    assert normal(one) == normal(other)


IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
APART = {
    "another word": (said("Hi."), said("Ho.")),
    "another role": (said("Hi."), {"role": "user", "content": "Hi."}),
    "another call": (said(None, tool_calls=[call()]), said(None, tool_calls=[call(id="c2")])),
    "other arguments": (said(None, tool_calls=[call()]), said(None, tool_calls=[call('{"a": 2}')])),
    "another tool": (said(None, tool_calls=[call()]), said(None, tool_calls=[call(name="see")])),
    "a call more": (said("Hi."), said("Hi.", tool_calls=[call()])),
    "another image": (
        {"role": "user", "content": [IMAGE]},
        {"role": "user", "content": [{**IMAGE, "image_url": {"url": "data:image/png;base64,BBBB"}}]},
    ),
    "a result of another call": (
        {"role": "tool", "tool_call_id": "c1", "content": "1"},
        {"role": "tool", "tool_call_id": "c2", "content": "1"},
    ),
}


@pytest.mark.parametrize("form", APART)
def test_messages_that_differ_in_content_have_different_keys(form):
    one, other = APART[form]
    assert normal(one) != normal(other)


@pytest.mark.parametrize(
    "message",
    [
        {},
        {"role": ["x"], "content": 5},
        {"role": "assistant", "tool_calls": [None, {"function": 3, "id": []}]},
        {"role": "assistant", "function_call": "x"},
        {"role": "user", "content": [None, 1, {"type": []}]},
        {"role": "user", "content": "\ud800"},
    ],
)
def test_an_invalid_message_still_has_a_key(message):
    assert normal(message)


def texts(*messages):
    return [json.dumps(message).encode() for message in messages]


USER = {"role": "user", "content": "Why?"}


def test_a_conversation_with_its_answer_is_the_start_of_the_next_call():
    asked = Keys().of(PROJECT, texts(USER))
    after = Keys().of(PROJECT, texts(USER, said("So."), USER))
    assert asked.answers == ()
    assert after.answers == (asked.answered(answer_of("So.", [])),)


def test_each_project_has_its_own_keys():
    one, other = (Keys().of(project, texts(USER, said("So."), USER)) for project in (PROJECT, OTHER))
    assert set(one.answers).isdisjoint(other.answers)


def test_the_latest_answers_are_searched_with_the_longest_conversation_first():
    long = Keys().of(PROJECT, texts(*[USER, said("So.")] * 9, USER))
    short = Keys().of(PROJECT, texts(*[USER, said("So.")] * 8, USER))
    assert len(long.answers) == MOST_KEYS
    assert long.answers[1:] == short.answers[: MOST_KEYS - 1]


def test_a_conversation_known_by_its_node_is_not_read_again():
    keys, nodes = Keys(), [UUID(int=n) for n in range(3)]
    first = keys.of(PROJECT, texts(USER, said("So."), USER), nodes)
    assert keys.of(PROJECT, [b"never", b"read", b"again"], nodes) == first


def test_text_that_is_not_json_is_treated_as_words():
    assert Keys().of(PROJECT, [b"{"]).key != Keys().of(PROJECT, [b"["]).key
