"""What is left out is left out everywhere: a word that was said is in no form on the page."""

import json
import re
from dataclasses import fields, replace
from html import unescape
from typing import Any

import pytest
from django.test import Client

from agentcore.errors import ErrorType, ProviderError
from agentcore.events import ModelFailed, ModelResponded, Setup, Started, ToolResult, ToolsReturned
from agentcore.messages import ChatResponse, Message, Role, ToolCall, ToolSpec
from agentcore.policy import REVISION, Policy
from agentcore.reasons import NormalizedStopReason
from agentcore.schema import jsonschema_rs_validator
from dashboard.accounts.models import User
from dashboard.agents import policies
from dashboard.exports.share_links.redaction import CONTEXTS, KEPT, SENTENCES, Redaction
from dashboard.exports.share_links.services import link_create
from dashboard.live.services import turn_start
from dashboard.replay.rerun_service import turn_rerun
from dashboard.turns.comments.services import comment_add
from dashboard.turns.history import recording_of
from dashboard.turns.models import Turn
from dashboard.turns.selectors import attempts_of
from dashboard.turns.step_view import step_view, steps_json
from dashboard.turns.turn_view import TurnView, recording_view, turn_view
from tests.dashboard.driving import AgentOf, drive
from tests.dashboard.pages import compact, text_of
from tests.dashboard.turns.histories import TOOL, recorded, started, with_a_tool

pytestmark = pytest.mark.django_db(transaction=True)

WORD = "zanzibar"
ENDINGS = [
    "sim-essay", "sim-tools", "sim-cut-tool", "sim-schema", "sim-malformed", "sim-500", "sim-html", "sim-odd",
    "sim-refusal", "sim-script",
]  # fmt: skip


def html_of(turn: Turn, *, redacted: bool = True) -> str:
    user, _ = User.objects.get_or_create(username="ada")
    _, token = link_create(turn=turn, lifetime="1h", redacted=redacted, by=user)
    response = Client().get(f"/share/{token}")
    assert response.status_code == 200
    return compact(response.content.decode())


def phrases(text: str) -> set[tuple[str, ...]]:
    """Every three words running: words of ours may be words of an answer, phrases are not."""
    words = re.findall(r"\w+", unescape(re.sub(r"<[^>]*>", " ", text)).lower())
    return {run for run in zip(words, words[1:], words[2:], strict=False) if len("".join(run)) > 10}


@pytest.mark.parametrize("model", ENDINGS)
def test_no_text_of_prompt_or_answer_is_on_the_page(agent_of: AgentOf, model: str):
    tools = {"tools": ["calculator", "search_documents"]} if "tool" in model or model == "sim-malformed" else {}
    schema = {"envelope_schema": {"type": "object", "required": ["title"]}} if model == "sim-schema" else {}
    agent = agent_of(
        model, name="agent", system_prompt=f"You are in {WORD} under a system.", max_tokens=60, **tools, **schema
    )
    documents = [{"name": f"{WORD}.md", "text": WORD}] if tools else []
    turn = drive(turn_start(agent=agent, input_text=f"What of {WORD}?", documents=documents))
    comment_add(turn=turn, transition=1, text=f"{WORD} again", author=User.objects.create(username="bob"))
    html = html_of(turn)
    assert WORD not in html.lower()
    said = phrases(turn.output_text) | phrases(" ".join(attempt.text for attempt in attempts_of(turn.id)))
    assert not said & phrases(html)
    shown = html_of(turn, redacted=False)
    assert WORD in shown
    assert not turn.output_text or said & phrases(shown)


def test_text_quoted_by_an_error_is_removed_from_reasons_verdict_and_notice():
    error = ProviderError(ErrorType.MODEL, "invalid_request", f"bad request: “{WORD}” is not allowed here.", status=400)
    recording = recorded(started(), ModelFailed(1.0, error))
    redaction = Redaction.of(recording, Turn(max_tokens=1))
    shown = redaction.value(recording_view(recording))
    assert any("invalid_request" in moment.reason for moment in shown.moments)
    assert WORD not in str(shown)
    end = recording.final.end  # type: ignore[union-attr]
    assert WORD not in redaction.sentence(end.error_message)  # type: ignore[union-attr]
    assert WORD not in redaction.sentence(f"Failed: Bad request: “{WORD}” is not allowed here")


SCHEMA = {
    "type": "object",
    "required": [f"{WORD}Status", "title"],
    "properties": {"title": {"enum": [f"the {WORD} report"]}, f"{WORD}Age": {"pattern": f"^{WORD}"}},
    "additionalProperties": False,
}


@pytest.mark.parametrize("rounds", [0, 2])
def test_names_and_values_of_a_schema_are_removed_from_reasons_and_verdict(agent_of: AgentOf, rounds: int):
    """The fields of a structured answer say what it is about, and a reason says which of them are missing."""
    agent = agent_of("sim-schema", envelope_schema=SCHEMA)
    turn = drive(turn_start(agent=agent, input_text="?", overrides={"limits": {"schema_rounds": rounds}}))
    assert WORD in turn.verdict
    assert WORD in html_of(turn, redacted=False)
    html = html_of(turn)
    assert WORD not in html
    assert "[redacted]" in html
    assert "Failed without a valid envelope after" in text_of(html)


@pytest.mark.parametrize("arguments", [{f"{WORD}Key": 1}, {"expression": [WORD, 7]}, {"expression": {f"{WORD}Key": 5}}])
def test_faults_in_the_arguments_of_a_call_are_removed(arguments: dict[str, Any]):
    """The model made the names up, and a validator quotes them."""
    tool = ToolSpec(
        "calculator",
        "",
        {"type": "object", "properties": {"expression": {"type": "string"}}, "additionalProperties": False},
    )
    begun = Started(0.0, Setup("turn", "openai", "model", 60, tools=(tool,)), (Message(Role.USER, "Say it."),))
    call = ToolCall("a", "calculator", arguments, json.dumps(arguments))
    asked = ModelResponded(1.0, ChatResponse(tool_calls=(call,), stop_reason=NormalizedStopReason.TOOL_CALL))
    recording = recorded(begun, asked, ToolsReturned(2.0, ()), policy=Policy(validate=jsonschema_rs_validator()))
    shown = str(Redaction.of(recording, Turn(max_tokens=1)).value(recording_view(recording)))
    assert WORD in str(recording_view(recording).moments)
    assert WORD not in shown


def test_a_stream_without_its_end_is_still_described_where_the_call_was_retried():
    begun = Started(0.0, Setup("turn", "openai", "model", 60), (Message(Role.USER, "Say it."),))
    cut = ChatResponse(stop_reason=NormalizedStopReason.UNKNOWN, incomplete_stream=True)
    recording = recorded(begun, ModelResponded(1.0, cut))
    (reason,) = [
        moved["reason"]
        for record in recording.records
        for moved in record.transitions
        if moved["trigger"] == "response_error"
    ]
    assert "The stream ended before" in reason
    assert Redaction.of(recording, Turn(max_tokens=1)).sentence(reason) == reason


@pytest.mark.parametrize("revision", [9, REVISION])
def test_names_of_a_schema_are_removed_from_a_turn_that_cannot_be_judged_again(
    agent_of: AgentOf, monkeypatch: pytest.MonkeyPatch, revision: int
):
    monkeypatch.setattr(policies, "REVISION", revision)
    agent = agent_of("sim-schema", envelope_schema=SCHEMA)
    turn = drive(turn_start(agent=agent, input_text="?", overrides={"limits": {"schema_rounds": 1}}))
    recording = recording_of(turn)
    unjudged = replace(recording, policy=replace(recording.policy, validate=None))
    (again, *_) = [
        transition
        for record in recording.records
        for transition in record.transitions
        if transition["trigger"] == "schema_violation"
    ]
    assert WORD in again["reason"]
    assert recording.policy.revision == revision
    assert WORD not in Redaction.of(unjudged, turn).sentence(again["reason"])


def test_a_fork_hides_its_parents_text_and_keeps_the_reasons(agent_of: AgentOf):
    agent = agent_of("sim-essay", name="agent", system_prompt=f"In {WORD}.", max_tokens=60)
    parent = drive(turn_start(agent=agent, input_text=f"What of {WORD}?"))
    html = html_of(drive(turn_rerun(turn=parent, overrides={"max_tokens": 70}, from_record=2)))
    assert WORD not in html
    assert not phrases(parent.output_text) & phrases(html)
    assert "the provider said “length”: max_tokens" in unescape(html)


def test_a_sentence_is_searched_only_for_text_short_enough_to_be_in_it():
    redaction = Redaction(("a very long text that was said", "said so", "so?"))
    assert redaction.sentence("he said so") == "he [redacted]"
    assert redaction.sentence("so?") == "[redacted]"
    assert redaction.sentence("said") == "said"


def test_numbers_reasons_and_transitions_are_kept():
    recording = with_a_tool()
    before, after = (
        recording_view(recording),
        Redaction.of(recording, Turn(max_tokens=1)).value(recording_view(recording)),
    )
    assert [(m.number, m.source, m.trigger, m.target, m.at) for m in before.moments] == [
        (m.number, m.source, m.trigger, m.target, m.at) for m in after.moments
    ]
    assert before.diagram == after.diagram
    assert before.rail == after.rail
    assert [m.reason for m in after.moments] == [m.reason for m in before.moments]
    assert steps_json([*map(step_view, before.moments)]) == steps_json([*map(step_view, after.moments)])
    assert "[7 characters redacted]" in str(after.transcript)
    assert "6 * 7" not in str(after)
    assert "42" not in str(after.transcript)


def test_the_dropped_overlap_is_counted_by_its_original_length_and_not_by_its_placeholder(agent_of: AgentOf):
    turn = drive(turn_start(agent=agent_of("sim-endless"), input_text="on and on", overrides={"max_tokens": 60}))
    recording = recording_of(turn)
    before = recording_view(recording)
    after = Redaction.of(recording, turn).value(before)
    assert before.dropped > 0
    assert after.dropped == before.dropped


def test_in_the_context_of_the_error_policy_our_own_words_and_numbers_are_kept_and_an_invented_tool_is_removed():
    context = {
        "errorType": "tool",
        "handling": "retry",
        "consecutiveFailures": 2,
        "maxRetries": 3,
        "totalFailures": 2,
        "toolName": WORD,
        "tomorrows": WORD,
    }
    (*_, moment) = recording_view(with_a_tool()).moments
    shown = Redaction((WORD,)).value(replace(moment, error=context))
    assert {fact.name: fact.value for fact in step_view(shown).facts} == {
        "type": "tool",
        "tool": "[redacted]",
        "consecutive failures": "2",
        "Max failures in a row (max_retries)": "3",
        "total failures": "2",
    }
    assert step_view(shown).handling == "retry"
    assert WORD not in str(shown)
    assert Redaction(()).value(moment).error is None


def test_a_document_quoted_by_a_reason_is_removed_from_it(agent_of: AgentOf):
    documents = [{"name": f"{WORD}.md", "text": "Rivers run."}]
    agent = agent_of("sim-essay", tools=["search_documents"])
    turn = turn_start(agent=agent, input_text="What is here?", documents=documents)
    redaction = Redaction.of(recorded(started()), turn)
    assert redaction.sentence(f"{WORD}.md says: rivers run.") == "[redacted] says: [redacted]"


def test_names_of_a_callers_own_tools_are_removed_and_those_of_this_installation_are_kept():
    """What the gateway's callers and imported files call their tools says what they do."""
    setup = Setup(
        "turn", "openai", "model", 60, tools=(ToolSpec("find_patient_zanzibar", "", {"type": "object"}), TOOL)
    )
    call = ToolCall("a", "find_patient_zanzibar", {}, "{}")
    ours = ToolCall("b", "calculator", {"expression": "1"}, '{"expression": "1"}')
    asked = ModelResponded(
        1.0, ChatResponse(text="x", tool_calls=(call, ours), stop_reason=NormalizedStopReason.TOOL_CALL)
    )
    back = ToolsReturned(
        2.0,
        (
            ToolResult("a", "find_patient_zanzibar", "gone", ErrorType.TOOL),
            ToolResult("b", "calculator", "1"),
        ),
    )
    recording = recorded(Started(0.0, setup, (Message(Role.USER, "Say it."),)), asked, back)
    shown = str(Redaction.of(recording, Turn(max_tokens=1)).value(recording_view(recording)))
    assert WORD in str(recording_view(recording))
    assert WORD not in shown
    assert "calculator" in shown


def test_every_allowed_class_is_named_explicitly(agent_of: AgentOf):
    """A class or field that is renamed falls out of the list, and is then left out rather than let through."""
    from dashboard.turns import diagram, meters, moments, time_breakdown, transcript, turn_view, waterfall

    known = {
        name: cls
        for module in (diagram, meters, turn_view, moments, time_breakdown, transcript, waterfall)
        for name, cls in vars(module).items()
    }
    for table in (KEPT, SENTENCES, CONTEXTS):
        for name, names in table.items():
            assert names <= {field.name for field in fields(known[name])}, name


def test_every_displayed_row_is_rebuilt(agent_of: AgentOf):
    turn = drive(turn_start(agent=agent_of("sim-essay"), input_text=WORD))
    page = turn_view(turn)
    redacted: TurnView = Redaction.of(recorded(started()), turn).value(page)
    assert redacted.turn is not turn
    hidden: list[Any] = [redacted.turn.setup, redacted.turn.policy, redacted.turn.overrides, redacted.turn.output_text]
    assert hidden == [{}, {}, {}, ""]
