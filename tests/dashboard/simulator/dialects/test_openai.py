"""The order and the shape of what is sent, as OpenAI's own streams have them."""

import json

from dashboard.simulator import texts
from tests.dashboard.simulator.client import CALCULATOR, Client, user


def test_a_stream_has_role_words_reason_usage_and_done_in_this_order(server: Client) -> None:
    answer = server.ask("sim-essay", stream=True, max_tokens=5, stream_options={"include_usage": True})
    first, *words, last, usage = answer.chunks
    assert first["choices"][0]["delta"] == {"role": "assistant", "content": "", "refusal": None}
    assert [chunk["choices"][0]["delta"].keys() for chunk in words] == [{"content"}] * 5
    assert (last["choices"][0]["delta"], last["choices"][0]["finish_reason"]) == ({}, "length")
    assert all(chunk["usage"] is None for chunk in answer.chunks[:-1])
    assert usage["choices"] == []
    assert usage["usage"]["completion_tokens_details"] == {"reasoning_tokens": 0}
    assert usage["usage"]["total_tokens"] == usage["usage"]["prompt_tokens"] + 5
    assert answer.body.endswith(b"\n\ndata: [DONE]\n\n")


def test_usage_is_streamed_only_when_asked_for(server: Client) -> None:
    answer = server.ask("sim-odd", stream=True)
    assert all("usage" not in chunk and chunk["choices"] for chunk in answer.chunks)


def test_a_call_starts_with_its_id_and_name_and_arrives_in_chunks(server: Client) -> None:
    answer = server.ask("sim-cut-tool", stream=True, tools=[CALCULATOR])
    opened, *pieces = [chunk["choices"][0]["delta"]["tool_calls"][0] for chunk in answer.chunks[1:-1]]
    assert opened.keys() == {"index", "id", "type", "function"}
    assert opened["function"] == {"name": "calculator", "arguments": ""}
    assert all(piece.keys() == {"index", "function"} for piece in pieces)
    assert len(pieces) == 79


def test_legacy_functions_are_answered_with_a_legacy_call(server: Client) -> None:
    offered = {"functions": [CALCULATOR["function"]]}
    streamed = [chunk["choices"][0] for chunk in server.ask("sim-tools", stream=True, **offered).chunks]
    pieces = [choice["delta"]["function_call"] for choice in streamed if "function_call" in choice["delta"]]
    whole = json.loads(server.ask("sim-tools", **offered).body)["choices"][0]
    made = {"name": "calculator", "arguments": "".join(piece["arguments"] for piece in pieces)}
    assert pieces[0] == {"name": "calculator", "arguments": ""}
    assert made == {"name": "calculator", "arguments": '{"expression": "6 * 7"}'} == whole["message"]["function_call"]
    assert whole["finish_reason"] == streamed[-1]["finish_reason"] == "function_call"
    assert "tool_calls" not in whole["message"]
    assert not server.ask("sim-tools", **offered, function_call="none").calls


def test_ids_depend_only_on_the_request(server: Client) -> None:
    first, same, other = (json.loads(server.ask("sim-odd", temperature=t).body)["id"] for t in (0, 0, 1))
    assert first == same != other
    calls = json.loads(server.ask("sim-tools", tools=[CALCULATOR]).body)["choices"][0]["message"]["tool_calls"]
    assert len({call["id"] for call in calls}) == 2


def test_prompt_tokens_are_counted_over_all_messages(server: Client) -> None:
    parts = [{"type": "text", "text": "four"}, {"type": "text", "text": " words"}]
    one, two = (
        server.ask("sim-odd", talk) for talk in ([user("one")], [user("one"), {"role": "user", "content": parts}])
    )
    assert one.usage is not None
    assert two.usage is not None
    assert (one.usage["prompt_tokens"], two.usage["prompt_tokens"]) == (1, 3)


def test_a_surrogate_half_in_a_result_is_quoted_as_a_question_mark(server: Client) -> None:
    talk = [user("Go"), {"role": "tool", "content": "\ud83d"}]
    assert server.ask("sim-cut-tool", talk).text == "The sum comes to ?."


def test_the_text_is_sent_as_utf_8(server: Client) -> None:
    assert "“length”" in texts.ESSAY
    assert "“length”".encode() in server.ask("sim-essay").body
