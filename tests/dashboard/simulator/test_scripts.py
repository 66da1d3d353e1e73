"""Scripted models: every kind of answer, as each dialect's codec reads it over real HTTP, streamed and whole."""

import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from agentcore.errors import ProviderError
from agentcore.messages import ChatResponse, Message, Role
from agentcore.providers import PROVIDERS
from agentcore.reasons import NormalizedStopReason as Reason
from dashboard.simulator.dialects import BASES
from dashboard.simulator.errors import RequestError
from dashboard.simulator.model_table import MODELS
from dashboard.simulator.request_values import Speaker
from dashboard.simulator.script_player import Call, Ending
from dashboard.simulator.scripts import (
    CALLS_KEPT,
    ENDINGS,
    LONGEST_KEPT,
    LONGEST_PROMPT_KEPT,
    MESSAGES_KEPT,
    MOST_SCRIPTS,
    SCRIPTS,
    Answer,
    ScriptProgress,
)
from dashboard.simulator.texts import count_tokens
from tests.together import together

from .client import Client
from .codecs import CALCULATOR, QUESTION, Talk

TEXT = "One sentence is enough to be cut in the middle of it."
MODEL = "script-test"


@pytest.fixture(autouse=True)
def no_scripts() -> Iterator[None]:
    yield
    for standing in SCRIPTS.all():
        SCRIPTS.delete(standing.name)


def play(talk: Talk, answer: Answer, **fields: Any) -> ChatResponse | ProviderError:
    """What the codec reads of one scripted answer."""
    SCRIPTS.put("test", [answer])
    return talk.ask(MODEL, tools=(CALCULATOR,), **fields)


def standing(name: str = "test") -> ScriptProgress:
    found = SCRIPTS.get(name)
    assert found is not None
    return found


def test_each_call_gets_its_own_answer_and_later_calls_the_last_one(talk: Talk) -> None:
    SCRIPTS.put("test", [Answer("first"), Answer("second")])
    texts = [answer.text for answer in (talk.ask(MODEL) for _ in range(3)) if isinstance(answer, ChatResponse)]
    assert texts == ["first", "second", "second"]
    assert [call.number for call in standing().calls] == [1, 2, 3]
    assert {(call.dialect, call.stream) for call in standing().calls} == {(talk.dialect, talk.stream)}


def test_the_settings_of_each_call_can_be_read(talk: Talk) -> None:
    SCRIPTS.put("test", [Answer(TEXT)])
    before = time.time()
    talk.ask(MODEL, system_prompt="Be brief.", max_tokens=77)
    talk.ask(MODEL, messages=(QUESTION, Message(Role.ASSISTANT, "Why not?"), Message(Role.USER, "So?")), max_tokens=154)
    first, second = standing().calls
    assert (first.max_tokens, first.system_prompt.strip(), first.messages[0].text) == (77, "Be brief.", QUESTION.text)
    assert (second.max_tokens, second.system_prompt.strip()) == (154, "")
    assert [(line.speaker, line.text) for line in second.messages[1:]] == [
        (Speaker.ASSISTANT, "Why not?"),
        (Speaker.USER, "So?"),
    ]
    assert before <= first.at <= second.at <= time.time()


def test_a_budget_truncates_a_scripted_answer_like_any_other(talk: Talk) -> None:
    answer = play(talk, Answer(TEXT * 3), max_tokens=20)
    assert isinstance(answer, ChatResponse)
    assert answer.usage is not None
    assert (answer.stop_reason, answer.usage.output_tokens) == (Reason.MAX_TOKENS, 20)
    assert (TEXT * 3).startswith(answer.text)


@together
@pytest.mark.parametrize("cut_after", [0, 7, 9999])
def test_an_answer_is_truncated_where_the_script_says_under_any_budget(talk: Talk, cut_after: int) -> None:
    answer = play(talk, Answer(TEXT, cut_after=cut_after), max_tokens=1000)
    assert isinstance(answer, ChatResponse)
    assert answer.usage is not None
    expected = min(cut_after, count_tokens(TEXT) - 1) or count_tokens(TEXT) // 2
    assert (answer.stop_reason, answer.usage.output_tokens) == (Reason.MAX_TOKENS, expected)
    assert TEXT.startswith(answer.text)


#: What the codec is to make of an ending that the dialect has, with a text.
REASONS = {
    Ending.END: Reason.END_TURN,
    Ending.LENGTH: Reason.MAX_TOKENS,
    Ending.CALLS: Reason.END_TURN,  # for there are none
    Ending.MALFORMED: None,  # with nothing malformed each says what it can
    Ending.FILTERED: Reason.SAFETY_BLOCKED,
    Ending.BLOCKED: Reason.SAFETY_BLOCKED,
    Ending.CONTEXT: Reason.CONTEXT_WINDOW_EXCEEDED,
    Ending.PAUSED: Reason.PAUSED,
    Ending.ODD: Reason.UNKNOWN,
    Ending.MISSING: Reason.UNKNOWN,
}


@together
@pytest.mark.parametrize("ending", ENDINGS.values())
def test_every_ending_can_be_scripted_for_every_dialect(talk: Talk, ending: Ending) -> None:
    answer = play(talk, Answer(TEXT, ending=ending))
    if isinstance(answer, ProviderError):  # where there is no word for it
        refused = (Ending.CONTEXT, Ending.BLOCKED, Ending.PAUSED)
        assert (answer.status in (400, 404), ending in refused) == (True, True)
        return
    assert REASONS[ending] in (None, answer.stop_reason)


def test_any_string_can_be_scripted_as_the_stop_reason(talk: Talk) -> None:
    answer = play(talk, Answer(TEXT, raw="glacier_melted"))
    assert isinstance(answer, ChatResponse)
    assert (answer.stop_reason, answer.raw_stop_reason, answer.text) == (Reason.UNKNOWN, "glacier_melted", TEXT)


def test_calls_are_sent_as_scripted(talk: Talk) -> None:
    answer = play(talk, Answer("", calls=(Call("calculator", '{"expression": "1 + 1"}'),)))
    assert isinstance(answer, ChatResponse)
    assert [(call.name, dict(call.arguments)) for call in answer.tool_calls] == [
        ("calculator", {"expression": "1 + 1"})
    ]
    assert answer.stop_reason is Reason.TOOL_CALL


def test_a_malformed_call_is_never_complete(talk: Talk) -> None:
    answer = play(talk, Answer("", calls=(Call("calculator", '{"expression": 1 +}'),), ending=Ending.MALFORMED))
    assert isinstance(answer, ChatResponse)
    assert answer.tool_calls == ()


def test_a_refusal_is_sent_with_its_text_where_the_dialect_has_a_field_for_it(talk: Talk) -> None:
    answer = play(talk, Answer(refusal="Never."))
    assert isinstance(answer, ChatResponse)
    assert answer.stop_reason is Reason.SAFETY_BLOCKED
    assert "Never." in (answer.refusal, answer.text)


@together
@pytest.mark.parametrize("wait", [None, 3])
def test_an_error_is_answered_in_the_format_of_the_dialect(talk: Talk, wait: int | None) -> None:
    headers = () if wait is None else (("retry-after", str(wait)),)
    found = play(talk, Answer(error=RequestError(429, "Slow down.", headers=headers)))
    assert isinstance(found, ProviderError)
    assert (found.status, found.message, found.retry_after) == (429, "Slow down.", wait)


def test_an_error_counts_as_a_call_and_the_next_one_continues(talk: Talk) -> None:
    SCRIPTS.put("test", [Answer(error=RequestError(500, "Broken.")), Answer(TEXT)])
    first, second = talk.ask(MODEL), talk.ask(MODEL)
    assert isinstance(first, ProviderError)
    assert isinstance(second, ChatResponse)
    assert second.text == TEXT


def test_a_connection_can_be_dropped_and_the_usage_be_anything(talk: Talk) -> None:
    half = play(talk, Answer(TEXT * 9, hangs_up=True))
    assert isinstance(half, ChatResponse)
    assert half.incomplete_stream
    told = play(talk, Answer(TEXT, spent=4321))
    assert isinstance(told, ChatResponse)
    assert told.usage is not None
    assert told.usage.output_tokens == 4321


@together
@pytest.mark.parametrize("model", sorted(MODELS.keys() - {"sim-timeout", "sim-silent", "sim-flaky", "sim-endless"}))
def test_a_script_can_use_the_answer_of_any_model(server: Client, model: str) -> None:
    SCRIPTS.put("test", [Answer(like=model)])
    talk = Talk(server.port, "anthropic", stream=True)
    scripted, own = talk.ask(MODEL), talk.ask(model)
    assert type(scripted) is type(own)
    if isinstance(scripted, ChatResponse) and isinstance(own, ChatResponse):
        assert (scripted.text, scripted.stop_reason) == (own.text, own.stop_reason)


def test_an_answer_can_be_delayed(server: Client, stream: bool) -> None:
    SCRIPTS.put("test", [Answer(TEXT, delay=0.3), Answer(TEXT, delay=600), Answer(TEXT)])
    began = time.monotonic()
    assert server.ask(MODEL, stream=stream).text == TEXT
    assert time.monotonic() - began > 0.3
    with pytest.raises(TimeoutError):
        replace(server, patience=0.3).ask(MODEL, stream=stream)
    assert server.ask(MODEL, stream=stream).text == TEXT  # after one that nobody waited for, and itself at once


def test_a_missing_script_is_an_unknown_model(server: Client) -> None:
    assert server.ask("script-nothing").error["code"] == "model_not_found"
    SCRIPTS.put("test", [Answer(TEXT)])
    assert server.ask("test").error["code"] == "model_not_found"


def test_the_simulator_gives_its_url_and_a_base_url_for_every_dialect(server: Client) -> None:
    server.send("GET", "/")
    assert SCRIPTS.served_at == f"http://127.0.0.1:{server.port}"
    assert BASES.keys() == PROVIDERS.keys()


def test_the_stored_data_is_bounded(server: Client) -> None:
    SCRIPTS.put("test", [Answer("x")])
    long = [{"role": "system", "content": "s" * 99_999}, *([{"role": "user", "content": "u" * 9_999}] * 40)]
    for _ in range(CALLS_KEPT + 5):
        server.ask(MODEL, long)
    kept = standing()
    assert (kept.number, len(kept.calls), kept.calls[-1].number) == (CALLS_KEPT + 5, CALLS_KEPT, CALLS_KEPT + 5)
    assert len(kept.calls[0].system_prompt) == LONGEST_PROMPT_KEPT
    assert [len(line.text) for line in kept.calls[0].messages] == [LONGEST_KEPT] * MESSAGES_KEPT


def test_the_least_recently_used_of_too_many_scripts_is_deleted(server: Client) -> None:
    for number in range(MOST_SCRIPTS):
        SCRIPTS.put(str(number), [Answer("x")])
    assert server.ask("script-0").text == "x"
    SCRIPTS.put("more", [Answer()])
    left = {standing.name for standing in SCRIPTS.all()}
    assert left == {"more", *map(str, range(MOST_SCRIPTS))} - {"1"}
    assert (SCRIPTS.delete("2"), SCRIPTS.delete("2")) == (True, False)


def test_overwriting_a_script_deletes_its_calls(server: Client) -> None:
    SCRIPTS.put("test", [Answer("a")])
    server.ask(MODEL)
    SCRIPTS.put("test", [Answer("b")])
    assert (standing().number, server.ask(MODEL).text) == (0, "b")
