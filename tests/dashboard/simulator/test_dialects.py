"""Every behaviour in every dialect, streamed and whole, as the dialect's own codec reads it over real HTTP."""

import json
import socket
from dataclasses import dataclass, replace

import pytest

from agentcore.errors import ProviderError
from agentcore.machine.judges.repair_pending import MALFORMED_HINT
from agentcore.messages import CallIssue, ChatResponse, Continuation, Message, Role
from agentcore.providers import PROVIDERS
from agentcore.reasons import NormalizedStopReason as Reason
from dashboard.simulator import texts
from dashboard.simulator.cut_calls import CUT_FORMS
from dashboard.simulator.dialects.bedrock import _BLOCKED as GUARDRAIL
from dashboard.simulator.model_table import MODELS
from dashboard.simulator.texts import count_tokens
from tests.together import together

from .client import Client
from .codecs import CALCULATOR, QUESTION, Talk

SUM = {"expression": texts.LONG_EXPRESSION}
TWO_CALLS = ({"expression": "6 * 7"}, {"expression": "2 ** 10"})


@dataclass(frozen=True, slots=True)
class Answer:
    """What the codec is to read. `raw` "*" is any word; `withheld`: the text comes only in a stream."""

    reason: Reason
    text: str = ""
    calls: tuple[dict[str, str], ...] = ()
    issue: CallIssue | None = None
    raw: str | None = "*"
    diagnostics: tuple[str, ...] = ()
    withheld: bool = False
    refusal: str | None = None


@dataclass(frozen=True, slots=True)
class Error:
    status: int
    kind: str
    retry_after: float | None = None


END = Reason.END_TURN
NO_WORD = Answer(Reason.UNKNOWN, texts.ODD, raw=None)
CALLS = Answer(Reason.TOOL_CALL, texts.TOOLS_INTRO, TWO_CALLS)
WHOLE_CALL = Answer(Reason.TOOL_CALL, calls=(SUM,))
BLOCKED = Answer(Reason.SAFETY_BLOCKED)
#: Where a refusal has no place of its own, it stands where the answer would.
REFUSED_IN_TEXT = Answer(Reason.SAFETY_BLOCKED, texts.REFUSAL)
BROKEN = Answer(Reason.TOOL_CALL, issue=CallIssue.MALFORMED)
CONTEXT = Answer(Reason.CONTEXT_WINDOW_EXCEEDED, texts.OUT_OF_CONTEXT)

#: Models whose answers lack something, not in every dialect: see test_servers.
BROKEN_SERVERS = {"sim-silent", "sim-no-usage", "sim-no-choices", "sim-reasons"}
#: What each model comes to, in every dialect that `OWN` does not name. `sim-timeout` and `sim-hangup` are below.
EXPECTED: dict[str, Answer | Error] = {
    "sim-essay": Answer(END, texts.ESSAY),
    "sim-slow": Answer(END, texts.ESSAY),
    "sim-tools": CALLS,
    "sim-cut-tool": WHOLE_CALL,
    # How they are cut is in test_cut_calls.
    **{name: Error(404, "not_found") if form.needed else WHOLE_CALL for name, form in CUT_FORMS.items()},
    "sim-refuse": Answer(Reason.SAFETY_BLOCKED, texts.REFUSED, withheld=True),
    "sim-refusal": Answer(Reason.SAFETY_BLOCKED, refusal=texts.REFUSAL),
    "sim-flaky": Error(429, "rate_limit", 1.0),
    "sim-odd": Answer(Reason.UNKNOWN, texts.ODD, raw="solar_flare"),
    "sim-empty": Answer(END, diagnostics=("empty_output",)),
    "sim-script": Answer(END, texts.SCRIPT),
    "sim-json": Answer(END, texts.NO_JSON),
    "sim-prose-json": Answer(END, texts.PROSE_AND_JSON),
    "sim-schema": Answer(END, texts.VIOLATION),
    "sim-malformed": BROKEN,
    "sim-context": Error(400, "context_length"),
    "sim-blocked": BLOCKED,
    "sim-pause": Error(404, "not_found"),
    "sim-no-reason": NO_WORD,
    "sim-429": Error(429, "rate_limit"),
    "sim-500": Error(500, "server"),
    "sim-overloaded": Error(503, "overloaded"),
    "sim-html": Error(200, "not_dialect"),
    "sim-prefill": Answer(END, texts.ESSAY),
    "sim-prefill-echo": Answer(END, texts.ESSAY),
    "sim-prefill-ignored": Answer(END, texts.ESSAY),
    "sim-prefill-refused": Answer(END, texts.ESSAY),
    "sim-closing": Answer(END, texts.ESSAY),
    "sim-json-anew": Answer(END, texts.NO_JSON),
    "sim-hint-differs": Answer(END, texts.ESSAY),
    "sim-array": Answer(END, texts.ARRAY),
}
_BY_ERROR: dict[str, Answer | Error] = {"sim-blocked": Error(400, "content_policy")}
OWN: dict[str, dict[str, Answer | Error]] = {
    "openai": {**_BY_ERROR, "sim-cut-native": WHOLE_CALL},
    "openai_responses": {**_BY_ERROR, "sim-no-reason": replace(NO_WORD, raw="incomplete")},
    "llama": {**_BY_ERROR, "sim-tools": replace(CALLS, calls=TWO_CALLS[:1])},
    "anthropic": {
        "sim-context": CONTEXT,
        "sim-pause": Answer(Reason.PAUSED, texts.PAUSED, raw="pause_turn"),
        "sim-overloaded": Error(529, "overloaded"),
    },
    "bedrock": {
        "sim-context": CONTEXT,
        "sim-blocked": Answer(Reason.SAFETY_BLOCKED, GUARDRAIL, raw="guardrail_intervened"),
        "sim-refusal": REFUSED_IN_TEXT,
    },
    "gemini": {
        "sim-malformed": replace(BROKEN, raw="MALFORMED_FUNCTION_CALL"),
        "sim-cut-open": WHOLE_CALL,
    },
    "cohere": {"sim-refusal": REFUSED_IN_TEXT},
    # What its parser cannot read as a call, it hands on as text.
    "ollama": {
        "sim-malformed": Answer(END, '{"name": "calculator", "parameters": ' + texts.MALFORMED_ARGUMENTS + "}"),
        "sim-refusal": REFUSED_IN_TEXT,
    },
}


def test_the_table_has_every_model_and_every_dialect() -> None:
    assert EXPECTED.keys() == MODELS.keys() - {"sim-endless", "sim-hangup", "sim-timeout"} - BROKEN_SERVERS
    assert OWN.keys() == PROVIDERS.keys()


@together
@pytest.mark.parametrize("model", EXPECTED)
def test_each_model_is_read_by_the_dialects_codec(talk: Talk, model: str) -> None:
    expected = OWN[talk.dialect].get(model, EXPECTED[model])
    found = talk.ask(model, tools=(CALCULATOR,))
    if isinstance(expected, Error):
        assert isinstance(found, ProviderError), found
        assert (found.status, found.kind, found.retry_after) == (expected.status, expected.kind, expected.retry_after)
        return
    assert isinstance(found, ChatResponse), found
    assert found.stop_reason is expected.reason
    assert expected.raw == "*" or (found.raw_stop_reason or "").lower() == (expected.raw or "").lower()
    assert found.text == ("" if expected.withheld and not talk.stream else expected.text)
    assert tuple(dict(call.arguments) for call in found.tool_calls) == expected.calls
    assert [call.issue for call in found.broken_tool_calls] == ([expected.issue] if expected.issue else [])
    assert expected.refusal is None or found.refusal == expected.refusal
    assert "empty_output" in found.diagnostics or "empty_output" not in expected.diagnostics
    # Gemini's events have no end mark, so that without a reason nothing shows that they were all.
    assert found.incomplete_stream is (expected is NO_WORD and talk.dialect == "gemini" and talk.stream)
    assert found.usage is not None


def test_usage_equals_the_output_and_never_exceeds_the_cap(talk: Talk) -> None:
    whole, cut = talk.ask("sim-essay"), talk.ask("sim-essay", max_tokens=60)
    assert isinstance(whole, ChatResponse)
    assert isinstance(cut, ChatResponse)
    assert whole.usage is not None
    assert cut.usage is not None
    assert (whole.usage.output_tokens, cut.usage.output_tokens) == (count_tokens(texts.ESSAY), 60)
    assert (cut.stop_reason, cut.usage.input_tokens > 0) == (Reason.MAX_TOKENS, True)
    assert texts.ESSAY.startswith(cut.text)


@together
@pytest.mark.parametrize("prefill", [False, True], ids=["asked", "prefilled"])
@pytest.mark.parametrize("max_tokens", [20, 60, 150])
def test_a_truncated_essay_is_continued_until_its_parts_are_whole(talk: Talk, max_tokens: int, prefill: bool) -> None:
    text, answers = talk.chain("sim-essay", max_tokens, system_prompt="Be brief.", extra={"prefill": prefill})
    assert text == texts.ESSAY
    assert answers[-1].stop_reason is END
    assert len(answers) > 2


def test_the_endless_model_never_finishes(talk: Talk) -> None:
    first = talk.ask("sim-endless", max_tokens=100)
    assert isinstance(first, ChatResponse)
    more = talk.ask("sim-endless", max_tokens=100, continuation=Continuation(first.text, "Go on."))
    assert isinstance(more, ChatResponse)
    assert {first.stop_reason, more.stop_reason} == {Reason.MAX_TOKENS}
    assert "11. " in more.text


def test_tools_are_called_and_their_results_quoted(talk: Talk) -> None:
    messages = [QUESTION]
    for _ in range(3):
        answer = talk.ask("sim-tools", messages=tuple(messages), tools=(CALCULATOR,))
        assert isinstance(answer, ChatResponse)
        if not answer.tool_calls:
            break
        calls = tuple(replace(call, id=f"{call.id}_{len(messages)}") for call in answer.tool_calls)
        messages.append(Message(Role.ASSISTANT, answer.text, calls, echo=answer.echo))
        messages += [
            Message(Role.TOOL, str(eval(str(call.arguments["expression"]))), tool_call_id=call.id) for call in calls
        ]
    assert isinstance(answer, ChatResponse)
    assert (answer.stop_reason, answer.text) == (END, "Both numbers are in. The tools returned: 42; 1024.")


def test_without_tools_none_is_called(talk: Talk) -> None:
    answer = talk.ask("sim-tools")
    assert isinstance(answer, ChatResponse)
    assert (answer.text, answer.stop_reason) == (texts.NO_TOOLS, END)


@together
@pytest.mark.parametrize("max_tokens", [16, 40, 79])
def test_a_truncated_call_is_never_complete(talk: Talk, max_tokens: int) -> None:
    answer = talk.ask("sim-cut-tool", tools=(CALCULATOR,), max_tokens=max_tokens)
    assert isinstance(answer, ChatResponse)
    assert answer.tool_calls == ()
    if talk.dialect == "gemini":  # throws the attempt away, and says so
        assert (answer.raw_stop_reason, answer.stop_reason) == ("MALFORMED_FUNCTION_CALL", Reason.TOOL_CALL)
        assert [call.issue for call in answer.broken_tool_calls] == [CallIssue.MALFORMED]
        return
    assert answer.stop_reason is Reason.MAX_TOKENS
    # Ollama's parser drops what it has not read to its end.
    broken = [] if talk.dialect == "ollama" else [CallIssue.TRUNCATED]
    assert [call.issue for call in answer.broken_tool_calls] == broken
    assert answer.text == ""


def test_a_malformed_call_is_corrected_once_the_model_is_told(talk: Talk) -> None:
    answer = talk.ask("sim-malformed", tools=(CALCULATOR,), continuation=Continuation("", MALFORMED_HINT))
    assert isinstance(answer, ChatResponse)
    assert [dict(call.arguments) for call in answer.tool_calls] == [SUM]


def test_a_violation_is_corrected_once_the_system_prompt_names_it(talk: Talk) -> None:
    corrective = "Your previous emission did not validate against the required envelope schema."
    answer = talk.ask("sim-schema", system_prompt=corrective)
    assert isinstance(answer, ChatResponse)
    assert answer.text == texts.REPORT


def test_json_is_returned_on_request(talk: Talk) -> None:
    answer = talk.ask("sim-json", envelope_schema={"type": "object"})
    assert isinstance(answer, ChatResponse)
    assert json.loads(answer.text) == json.loads(texts.REPORT)


def test_a_dropped_connection_leaves_half_of_the_answer_and_the_rest_can_be_requested(talk: Talk) -> None:
    half = talk.ask("sim-hangup")
    assert isinstance(half, ChatResponse)
    assert (half.incomplete_stream, half.stop_reason) == (True, Reason.UNKNOWN)
    assert half.error is not None
    if talk.stream:
        assert 0.4 * len(texts.ESSAY) < len(half.text) < 0.6 * len(texts.ESSAY)
    rest = talk.ask("sim-hangup", continuation=Continuation(half.text, "Continue exactly from where you left off."))
    assert isinstance(rest, ChatResponse)
    assert texts.ESSAY.endswith(rest.text[-200:])


def test_a_pause_ends_when_its_content_is_sent_back(server: Client, stream: bool) -> None:
    talk = Talk(server.port, "anthropic", stream)
    paused = talk.ask("sim-pause")
    assert isinstance(paused, ChatResponse)
    assert isinstance(paused.echo, list)
    assert [block["type"] for block in paused.echo] == ["text", "server_tool_use"]
    back = Message(Role.ASSISTANT, paused.text, echo=paused.echo)
    rest = talk.ask("sim-pause", messages=(QUESTION, back))
    assert isinstance(rest, ChatResponse)
    assert (rest.stop_reason, rest.text) == (END, texts.RESUMED)
    cut = talk.ask("sim-pause", continuation=Continuation(texts.PAUSED + texts.RESUMED[:30], "Go on."))
    assert isinstance(cut, ChatResponse)
    assert (cut.stop_reason, texts.RESUMED.endswith(cut.text[-30:])) == (END, True)
    lost = talk.ask("sim-pause", messages=(QUESTION, replace(back, echo=None)))
    assert isinstance(lost, ChatResponse)
    assert lost.stop_reason is Reason.PAUSED


def test_gemini_streams_one_array_where_events_are_not_requested(server: Client) -> None:
    talk = Talk(server.port, "gemini", stream=True, flat=True)
    assert talk.chain("sim-essay", 60)[0] == texts.ESSAY
    blocked, half = talk.ask("sim-blocked"), talk.ask("sim-hangup")
    assert isinstance(blocked, ChatResponse)
    assert isinstance(half, ChatResponse)
    assert blocked.raw_stop_reason == "PROHIBITED_CONTENT"
    assert half.incomplete_stream


def test_a_blocked_prompt_has_no_candidate_in_gemini(server: Client, stream: bool) -> None:
    answer = Talk(server.port, "gemini", stream).ask("sim-blocked")
    assert isinstance(answer, ChatResponse)
    assert (answer.raw_stop_reason, answer.text) == ("PROHIBITED_CONTENT", "")
    assert answer.refusal == "The prompt was blocked by the simulator."


def test_a_silent_model_outlasts_any_timeout(talk: Talk) -> None:
    with pytest.raises(TimeoutError):
        replace(talk, patience=0.2).ask("sim-timeout")


def test_a_silent_model_sends_nothing_until_the_caller_disconnects(server: Client) -> None:
    with socket.create_connection(("127.0.0.1", server.port)) as caller:
        body = b'{"model": "sim-timeout", "messages": [{"role": "user", "content": "Hi"}], "stream": true}'
        caller.sendall(b"POST /v2/chat HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
        caller.settimeout(0.3)
        with pytest.raises(TimeoutError):
            caller.recv(100)
    assert server.ask("sim-odd").text == texts.ODD


@pytest.mark.parametrize(
    ("dialect", "model", "max_tokens", "wording"),
    [
        ("openai_responses", "sim-essay", 15, "integer below minimum value. Expected a value >= 16"),
        ("anthropic", "sim-essay", 0, "max_tokens"),
        ("gemini", "sim-essay", 1_000_000, "maxOutputTokens is too large"),
        ("bedrock", "sim-essay", 0, "maxTokens"),
        ("ollama", "sim-essay", 0, "num_predict"),
        ("cohere", "nothing", 10, "`nothing` does not exist"),
        ("bedrock", "a/b:0", 10, "`a/b:0` does not exist"),
    ],
)
def test_requests_a_provider_would_refuse_are_refused_in_its_format(
    server: Client, stream: bool, dialect: str, model: str, max_tokens: int, wording: str
) -> None:
    refused = Talk(server.port, dialect, stream).ask(model, max_tokens=max_tokens)
    assert isinstance(refused, ProviderError)
    assert wording in refused.message
    assert refused.kind in ("invalid_request", "not_found")
    assert not refused.retryable


def test_a_prefill_with_trailing_whitespace_is_refused_as_by_anthropic(server: Client) -> None:
    body = {"model": "sim-essay", "max_tokens": 9, "messages": [{"role": "assistant", "content": "Agents "}]}
    answer = server.send("POST", "/v1/messages", json.dumps(body).encode())
    assert (answer.status, answer.error["type"]) == (400, "invalid_request_error")


@together
@pytest.mark.parametrize("body", [b"", b"[]", b"{}", b'{"model": "sim-odd", "messages": [3], "contents": [3]}'])
@pytest.mark.parametrize(
    "path",
    [
        "/v1/messages",
        "/v1/responses",
        "/v1beta/models/sim-odd:generateContent",
        "/model/sim-odd/converse",
        "/api/chat",
        "/v2/chat",
        "/llama/v1/chat/completions",
    ],
)
def test_an_invalid_body_is_a_400_in_every_dialect(server: Client, path: str, body: bytes) -> None:
    assert server.send("POST", path, body).status == 400
    assert server.send("GET", path).status == 405
