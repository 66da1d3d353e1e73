"""Calls that go on from one another are one run: the gateway knows them by what they say, without any header."""

from typing import Any

from dashboard.turns.models import Turn
from tests.dashboard.gateway.served.conftest import turn_of
from tests.dashboard.gateway.served.gate import Gate
from tests.dashboard.gateway.served.upstream import Reply, called, said, whole

ASKED = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Look."}]
TOOLS = [{"type": "function", "function": {"name": "look"}}]
RESULT = {"role": "tool", "tool_call_id": "call_0", "content": "nothing"}


def ask(gate: Gate, *messages: dict[str, Any], model: str = "watched", **body: Any) -> Turn:
    answer = gate.ask(model=model, messages=list(messages), **body)
    assert answer.status == 200, answer.body
    return turn_of(answer)


def assistant(content: Any, **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": content, **more}


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def test_a_call_that_continues_from_an_answer_joins_its_run(gate, upstream, watched):
    upstream.says(whole("Hello."))
    first = ask(gate, *ASKED)
    second = ask(gate, *ASKED, assistant("Hello."), user("And?"))
    third = ask(gate, *ASKED, assistant("Hello."), user("And?"), assistant("Hello."), user("More."))
    assert (first.run, second.run, third.run) == (first.id,) * 3
    assert (first.follows, second.follows, third.follows) == (None, first.id, second.id)


def test_a_stream_is_continued_from_like_a_complete_answer(gate, upstream, watched, continued):
    upstream.replies = [Reply(said("Hel", "lo."))]
    for model in ("watched", "continued"):
        first = ask(gate, *ASKED, model=model, stream=True)
        assert ask(gate, *ASKED, assistant("Hello."), user("And?"), model=model, stream=True).follows == first.id


def test_a_continued_answer_is_continued_from_as_one_text(gate, upstream, continued):
    upstream.says(whole("One two three", "length"), whole(" four."), whole("Well."))
    first = ask(gate, *ASKED, model="continued")
    assert first.attempts == 2
    assert ask(gate, *ASKED, assistant(first.output_text), user("And?"), model="continued").follows == first.id


def test_calls_are_returned_in_the_clients_own_format(gate, upstream, watched):
    upstream.says(whole(None, "tool_calls", tool_calls=called('{"a": 1}', '{"b": [2]}')))
    first = ask(gate, *ASKED, tools=TOOLS)
    results = [RESULT, {**RESULT, "tool_call_id": "call_1"}]
    for form in (
        assistant("", tool_calls=called('{"a":1}', '{ "b": [ 2 ] }')[::-1]),
        assistant(None, tool_calls=called('{"a": 1}', '{"b": [2]}'), refusal=None, audio=None),
    ):
        assert ask(gate, *ASKED, form, *results, tools=TOOLS).follows == first.id


def test_trimmed_and_split_text_is_still_recognized(gate, upstream, watched):
    upstream.says(whole("Hello,  you. \n"))
    first = ask(gate, *ASKED)
    for content in ("Hello, you.", [{"type": "text", "text": "Hello, you."}]):
        assert ask(gate, *ASKED, assistant(content), user("And?")).follows == first.id


def test_other_answers_and_other_questions_are_other_runs(gate, upstream, watched):
    upstream.says(whole("Hello."))
    first = ask(gate, *ASKED)
    others = [
        ask(gate, *ASKED),
        ask(gate, *ASKED, assistant("Goodbye."), user("And?")),
        ask(gate, ASKED[0], user("Look!"), assistant("Hello."), user("And?")),
        ask(gate, ASKED[0], user("A summary of what was said before.")),
    ]
    assert {turn.follows for turn in others} == {None}
    assert len({turn.run for turn in (first, *others)}) == 5


def test_going_back_and_trying_again_creates_a_branch(gate, upstream, watched):
    upstream.says(whole("Hello."))
    first = ask(gate, *ASKED)
    one, other = (ask(gate, *ASKED, assistant("Hello."), user(text)) for text in ("And?", "And now?"))
    edited = ask(gate, *ASKED, assistant("Hello."), user("And?"), assistant("Edited."), user("More."))
    assert [turn.follows for turn in (one, other, edited)] == [first.id] * 3
    assert {turn.run for turn in (one, other, edited)} == {first.id}


def test_similar_beginnings_are_kept_apart_as_far_as_possible(gate, upstream, watched):
    upstream.says(whole("Hello."))
    begun = [ask(gate, *ASKED) for _ in range(2)]
    gone_on = [ask(gate, *ASKED, assistant("Hello."), user(text)) for text in ("And?", "Or?")]
    assert sorted(turn.run for turn in gone_on) == [turn.id for turn in begun]


def test_another_model_may_continue_the_run(gate, upstream, watched, continued):
    upstream.says(whole("Hello."))
    first = ask(gate, *ASKED, model="watched")
    assert ask(gate, *ASKED, assistant("Hello."), user("And?"), model="continued").follows == first.id


def test_a_legacy_function_call_can_be_continued_from(gate, upstream, watched):
    upstream.says(whole(None, "function_call", function_call={"name": "look", "arguments": "{}"}))
    functions = [{"name": "look", "parameters": {"type": "object", "properties": {}}}]
    first = ask(gate, *ASKED, functions=functions)
    back = assistant(None, function_call={"name": "look", "arguments": "{}"})
    result = {"role": "function", "name": "look", "content": "nothing"}
    assert ask(gate, *ASKED, back, result, functions=functions).follows == first.id
