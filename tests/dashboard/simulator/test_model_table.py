"""Each model by what it is for, over real HTTP, streamed and whole."""

import json
import time

import pytest

from agentcore.continuation_merge import merge_continuation
from dashboard.simulator import texts
from dashboard.simulator.model_table import MODELS
from dashboard.simulator.texts import count_tokens
from tests.together import together

from .client import CALCULATOR, HINT, Client, assistant, user

USAGE = {"include_usage": True}
#: Models that turn a caller away, and how in this dialect. `sim-timeout` never answers: see test_disconnects;
#: `sim-silent` stops in the middle and `sim-no-choices` has no answer: see test_servers.
SILENT = {
    "sim-429": 429,
    "sim-500": 500,
    "sim-overloaded": 503,
    "sim-context": 400,
    "sim-blocked": 400,
    "sim-pause": 404,
    "sim-cut-open": 404,
    "sim-timeout": 0,
    "sim-silent": 0,
    "sim-no-choices": 0,
}


def test_the_essay_is_complete_under_a_large_budget(server: Client, stream: bool) -> None:
    answer = server.ask("sim-essay", stream=stream, max_tokens=400, stream_options=USAGE)
    assert (answer.text, answer.reason, answer.ended) == (texts.ESSAY, "stop", True)
    assert answer.tokens == count_tokens(texts.ESSAY)


@pytest.mark.parametrize("hint_role", ["system", "user"])
@pytest.mark.parametrize("budget", [20, 60, 150])
def test_a_truncated_essay_is_continued_until_it_ends(
    server: Client, stream: bool, budget: int, hint_role: str
) -> None:
    answer = server.ask("sim-essay", stream=stream, max_tokens=budget, stream_options=USAGE)
    text, overlaps = answer.text or "", []
    while answer.reason == "length":
        assert answer.tokens == budget
        answer = server.ask_to_go_on(
            "sim-essay", text, hint_role, stream=stream, max_tokens=budget, stream_options=USAGE
        )
        merge = merge_continuation(text, answer.text or "")
        text = merge.text
        overlaps.append(merge.overlap)
    assert (text, answer.reason) == (texts.ESSAY, "stop")
    assert all(overlap >= 12 for overlap in overlaps[1:])


def test_an_empty_partial_answer_and_a_prefill_are_understood(server: Client) -> None:
    again = server.ask("sim-essay", [user("Tell me."), {"role": "system", "content": HINT}], max_tokens=30)
    assert texts.ESSAY.startswith(again.text or "-")
    prefill = server.ask("sim-essay", [user("Tell me."), assistant(texts.ESSAY[:200])])
    assert merge_continuation(texts.ESSAY[:200], prefill.text or "").text == texts.ESSAY


def test_a_new_question_is_answered_from_the_start(server: Client) -> None:
    talk = [user("Tell me."), assistant(texts.ESSAY[:200]), user("And now something else")]
    assert server.ask("sim-essay", talk).text == texts.ESSAY
    assert server.ask("sim-essay", [user(HINT)]).text == texts.ESSAY


def test_the_endless_model_never_finishes(server: Client, stream: bool) -> None:
    answer = server.ask("sim-endless", stream=stream, stream_options=USAGE)
    assert (answer.reason, answer.tokens) == ("length", 4096)
    more = server.ask_to_go_on("sim-endless", answer.text or "", stream=stream, max_tokens=200)
    assert merge_continuation(answer.text or "", more.text or "").overlap >= 12
    assert more.reason == "length"


def test_tools_are_called_in_parallel_and_their_results_quoted(server: Client, stream: bool) -> None:
    answer = server.ask("sim-tools", stream=stream, tools=[CALCULATOR])
    assert (answer.text, answer.reason) == (texts.TOOLS_INTRO, "tool_calls")
    assert {index: (name, json.loads(raw)) for index, (name, raw) in answer.calls.items()} == {
        0: ("calculator", {"expression": "6 * 7"}),
        1: ("calculator", {"expression": "2 ** 10"}),
    }
    calls = [
        {"id": f"c{i}", "type": "function", "function": {"name": n, "arguments": a}}
        for i, (n, a) in answer.calls.items()
    ]
    talk = [
        user("Go"),
        {"role": "assistant", "content": answer.text, "tool_calls": calls},
        {"role": "tool", "tool_call_id": "c0", "content": "42"},
        {"role": "tool", "tool_call_id": "c1", "content": "1024"},
    ]
    after = server.ask("sim-tools", talk, stream=stream, tools=[CALCULATOR])
    assert (after.text, after.reason, after.calls) == ("Both numbers are in. The tools returned: 42; 1024.", "stop", {})
    rest = server.ask("sim-tools", [*talk, assistant("Both numbers are in. The"), {"role": "system", "content": HINT}])
    assert merge_continuation("Both numbers are in. The", rest.text or "").text == after.text


def test_a_truncated_introduction_continues_with_its_rest_and_the_calls(server: Client, stream: bool) -> None:
    cut = server.ask("sim-tools", stream=stream, tools=[CALCULATOR], max_tokens=4)
    assert (cut.reason, cut.calls) == ("length", {})
    rest = server.ask_to_go_on("sim-tools", cut.text or "", stream=stream, tools=[CALCULATOR])
    assert merge_continuation(cut.text or "", rest.text or "").text == texts.TOOLS_INTRO
    assert (len(rest.calls), rest.reason) == (2, "tool_calls")


def test_without_a_calculator_the_first_tool_is_called_and_without_tools_none(server: Client) -> None:
    other = {"type": "function", "function": {"name": "lookup"}}
    assert server.ask("sim-tools", tools=[other]).calls == {0: ["lookup", "{}"]}
    assert server.ask("sim-tools").text == texts.NO_TOOLS
    assert server.ask("sim-tools", tools=[other], tool_choice="none").text == texts.NO_TOOLS
    assert server.ask("sim-cut-tool").text == texts.NO_TOOLS


@together
@pytest.mark.parametrize("budget", range(1, 80, 6))
def test_a_tool_call_is_truncated_below_80_tokens(server: Client, stream: bool, budget: int) -> None:
    answer = server.ask("sim-cut-tool", stream=stream, tools=[CALCULATOR], max_tokens=budget, stream_options=USAGE)
    assert (answer.reason, answer.tokens) == ("length", budget)
    name, raw = answer.calls[0]
    assert name == "calculator"
    assert json.dumps({"expression": texts.LONG_EXPRESSION}).startswith(raw)
    with pytest.raises(ValueError, match="line 1"):
        json.loads(raw)


def test_the_same_call_is_complete_from_80_tokens_and_answered_after_its_result(server: Client, stream: bool) -> None:
    answer = server.ask("sim-cut-tool", stream=stream, tools=[CALCULATOR], max_tokens=80, stream_options=USAGE)
    assert (answer.reason, answer.tokens) == ("tool_calls", 80)
    assert json.loads(answer.calls[0][1]) == {"expression": texts.LONG_EXPRESSION}
    talk = [user("Go"), {"role": "assistant", "content": None, "tool_calls": []}, {"role": "tool", "content": "1814.0"}]
    assert server.ask("sim-cut-tool", talk, stream=stream, tools=[CALCULATOR]).text == "The sum comes to 1814.0."


def test_a_refusal_shows_a_part_when_streamed_and_nothing_otherwise(server: Client) -> None:
    streamed = server.ask("sim-refuse", stream=True)
    assert (streamed.text, streamed.reason) == (texts.REFUSED, "content_filter")
    whole = server.ask("sim-refuse")
    assert (whole.text, whole.reason) == (None, "content_filter")
    cut = server.ask("sim-refuse", max_tokens=5)
    assert (cut.reason, texts.REFUSED.startswith(cut.text or "-")) == ("length", True)


@pytest.mark.parametrize("header", [("x-whystop-attempt", 1), ("x-stainless-retry-count", 0)])
def test_a_rate_limit_is_followed_by_the_answer(server: Client, stream: bool, header: tuple[str, int]) -> None:
    name, first = header
    answer = server.ask("sim-flaky", stream=stream, headers={name: str(first)})
    assert (answer.status, answer.headers["retry-after"]) == (429, "1")
    assert answer.error["code"] == "rate_limit_exceeded"
    answer = server.ask("sim-flaky", stream=stream, headers={name: str(first + 1)})
    assert (answer.text, answer.reason) == (texts.FLAKY, "stop")


def test_a_caller_that_does_not_count_attempts_is_served_by_the_clock(server: Client) -> None:
    seen: set[int] = set()
    deadline = time.monotonic() + 60
    while len(seen) < 2 and time.monotonic() < deadline:
        seen.add(server.ask("sim-flaky").status)
        time.sleep(0.1)
    assert seen == {200, 429}


def test_a_stream_dropped_halfway_can_be_continued(server: Client) -> None:
    answer = server.ask("sim-hangup", stream=True, stream_options=USAGE)
    assert (answer.ended, answer.reason, answer.usage) == (False, None, None)
    assert 0.4 * len(texts.ESSAY) < len(answer.text or "") < 0.6 * len(texts.ESSAY)
    rest = server.ask_to_go_on("sim-hangup", answer.text or "", stream=True)
    assert (rest.ended, rest.reason) == (True, "stop")
    assert merge_continuation(answer.text or "", rest.text or "").text == texts.ESSAY


def test_a_non_streamed_answer_is_also_dropped_halfway(server: Client) -> None:
    answer = server.ask("sim-hangup")
    assert not answer.ended
    assert len(answer.body) == int(answer.headers["content-length"]) // 2


@pytest.mark.parametrize(
    ("model", "text", "reason"),
    [
        ("sim-odd", texts.ODD, "solar_flare"),
        ("sim-empty", "", "stop"),
        ("sim-script", texts.SCRIPT, "stop"),
        ("sim-json", texts.NO_JSON, "stop"),
    ],
)
def test_the_plain_models_return_their_text(server: Client, stream: bool, model: str, text: str, reason: str) -> None:
    answer = server.ask(model, stream=stream, stream_options=USAGE)
    assert (answer.text, answer.reason, answer.tokens) == (text, reason, count_tokens(text))


def test_json_is_returned_on_request(server: Client, stream: bool) -> None:
    by_format = server.ask("sim-json", stream=stream, response_format={"type": "json_schema", "json_schema": {}})
    by_words = server.ask("sim-json", [{"role": "system", "content": "Answer in JSON."}, user("Go")], stream=stream)
    assert by_format.text == by_words.text
    assert {"title", "points"} <= json.loads(by_format.text or "").keys()
    cut = server.ask("sim-json", stream=stream, response_format={"type": "json_object"}, max_tokens=60)
    assert cut.reason == "length"


def test_an_html_page_is_returned_instead_of_an_answer(server: Client, stream: bool) -> None:
    answer = server.ask("sim-html", stream=stream)
    assert (answer.status, answer.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert answer.body.startswith(b"<!doctype html>")


def test_the_slow_model_streams_the_essay_at_its_own_pace(server: Client) -> None:
    begun = time.monotonic()
    assert server.ask("sim-slow", stream=True, max_tokens=10).reason == "length"
    assert time.monotonic() - begun > 0.3
    assert server.ask("sim-slow", headers={"x-sim-delay-ms": "0"}).text == texts.ESSAY


@together
@pytest.mark.parametrize("model", sorted(MODELS.keys() - SILENT.keys()))
def test_every_model_has_an_answer(server: Client, model: str) -> None:
    answer = server.ask(model, headers={"x-whystop-attempt": "2", "x-sim-delay-ms": "0"}, tools=[CALCULATOR])
    assert answer.status == 200


@pytest.mark.parametrize(("model", "status"), [(name, status) for name, status in SILENT.items() if status])
def test_some_models_only_refuse_callers(server: Client, stream: bool, model: str, status: int) -> None:
    answer = server.ask(model, stream=stream)
    assert (answer.status, "retry-after" in answer.headers) == (status, False)
    assert answer.error["message"]
