"""The drawer's form: what differs from what there is, and nothing else, is what changes."""

import re

import pytest
from django.core.exceptions import ValidationError
from django.test import Client

from agentcore.machine.pending_tool_calls import pending_calls
from agentcore.messages import DEMANDED, NO_CAP
from agentcore.values import replace
from dashboard.agents.limit_fields import LIMIT_FIELDS
from dashboard.live.models import Signal
from dashboard.live.operator_forms import OperateForm
from dashboard.live.services import turn_cancel, turn_control, turn_start
from dashboard.replay.services import turn_verify
from dashboard.turns.history import position_of, snapshot_at
from dashboard.turns.models import Attempt, Turn
from dashboard.turns.sent_caps import cap_demanded
from tests.dashboard.driving import AgentOf, drive
from tests.dashboard.pages import HTMX, page
from tests.together import together

pytestmark = pytest.mark.django_db(transaction=True)

NOTHING = {
    "limits": {},
    "max_tokens": None,
    "no_max_tokens": False,
    "error_policy": None,
    "request": {},
    "rewritten": {},
    "answer": None,
    "tool_calls": [],
    "tool_results": [],
}


@pytest.fixture
def held(agent_of: AgentOf) -> Turn:
    """Held on two calls; what was asked has lines, which browsers end otherwise."""
    agent = agent_of("sim-tools", tools=["calculator"], system_prompt="Be brief.\nBe kind.")
    return drive(turn_start(agent=agent, input_text="Count.\nTwice.", breakpoints=[{"tool": "calculator"}]))


def filled(turn: Turn, **typed: str) -> OperateForm:
    """The form as a browser sends it back, with these fields typed into."""
    snapshot = position_of(turn).snapshot
    there = {name: "" if value is None else str(value) for name, value in OperateForm(turn, snapshot).initial.items()}
    sent = {name: text.replace("\n", "\r\n") for name, text in {**there, **typed}.items()}
    return OperateForm(turn, snapshot, sent)


def changes(turn: Turn, **typed: str) -> dict:
    form = filled(turn, **typed)
    assert form.is_valid(), form.errors
    return {name: value for name, value in form.changes().items() if name != "expected_seq"}


def test_each_limit_shows_its_key_its_unit_and_the_meaning_of_an_empty_field(held: Turn):
    form = OperateForm(held, position_of(held).snapshot)
    told = {name: str(form[f"limit_{name}"].help_text) for name in LIMIT_FIELDS}
    assert told["max_seconds"] == '<span class="mono">max_<wbr>seconds</span>, in seconds'
    assert all(LIMIT_FIELDS[name].unit in hint and name.replace("_", "_<wbr>") in hint for name, hint in told.items())
    otherwise = {name: form.fields[f"limit_{name}"].widget.attrs["placeholder"] for name in LIMIT_FIELDS}
    assert otherwise["max_total_completion_tokens"] == f"default: {4 * held.max_tokens:,} tokens"
    assert otherwise["max_seconds"] == "default: no limit"
    assert otherwise["max_steps"] == ""


def test_unchanged_values_change_nothing(held: Turn):
    assert changes(held) == NOTHING


def test_only_different_values_are_changed(held: Turn):
    first, second = pending_calls(position_of(held).snapshot)
    said = changes(
        held,
        limit_max_continuations="5",
        limit_max_seconds="1,200.5",
        preset="retry_all",
        max_tokens="70",
        model="other",
        system_prompt="Be\nlong.",
        message_1="Count.\nOnce.",
        arguments_0='{"expression": "1"}',
        result_1="two",
        answer_text="Mine.",
        answer_calls='[{"name": "calculator", "arguments": {}}]',
        answer_reason="max_tokens",
    )
    assert said == {
        "limits": {"max_continuations": 5, "max_seconds": 1200.5},
        "max_tokens": 70,
        "no_max_tokens": False,
        "error_policy": {"preset": "retry_all"},
        "request": {"system_prompt": "Be\nlong.", "model": "other"},
        "rewritten": {1: "Count.\nOnce."},
        "answer": {
            "text": "Mine.",
            "tool_calls": [{"name": "calculator", "arguments": {}}],
            "stop_reason": "max_tokens",
        },
        "tool_calls": [{"call_id": first.id, "arguments": {"expression": "1"}}],
        "tool_results": [{"call_id": second.id, "name": "calculator", "result": "two"}],
    }


@together
@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("limit_max_continuations", "many", "Max continuations must be a whole number"),
        ("limit_max_steps", "", "Max steps must be a whole number"),
        ("limit_max_seconds", "-1", "Time limit must be a number of seconds"),
        ("max_tokens", "0", "from 1 to 10,000,000"),
        ("arguments_0", "[", "must be valid JSON: "),
        ("arguments_0", "[]", "must be an object"),
        ("arguments_0", '{"expression": NaN}', "must be valid JSON: "),
        ("arguments_0", '{"expression": -Infinity}', "must be valid JSON: "),
        ("arguments_0", '{"expression": 1e999}', "must be valid JSON: "),
        ("arguments_0", '{"expression": "\\ud800"}', "must be valid JSON: "),
        ("arguments_0", "[" * 5_000, "must be valid JSON: "),
        ("answer_calls", '[{"name": "calculator", "arguments": {"expression": NaN}}]', "must be valid JSON: "),
        ("answer_calls", '{"name": "x"}', "a list of objects"),
        ("preset", "wild", "Error policy must be one of the choices offered, not “wild”."),
    ],
)
def test_a_fault_is_reported_at_its_field(held: Turn, name: str, text: str, words: str):
    form = filled(held, **{name: text})
    assert not form.is_valid()
    assert words in " ".join(form.errors[name])


def test_an_optional_limit_can_be_removed(held: Turn):
    turn_control(turn=held, by="ada", action="change", limits={"max_seconds": 60})
    drive(held)
    assert changes(held, limit_max_seconds="")["limits"] == {"max_seconds": None}


def test_a_cap_can_be_removed_where_the_dialect_does_not_require_one(held: Turn):
    assert changes(held, max_tokens="")["no_max_tokens"] is True
    turn_control(turn=held, by="ada", action="change", no_max_tokens=True)
    drive(held)
    held.refresh_from_db()
    asked = position_of(held).snapshot.asked
    assert (held.max_tokens, asked.extra["uncapped"]) == (None, NO_CAP)
    turn_control(turn=held, by="ada", action="release")
    ended = drive(held)
    assert "max_tokens" not in Attempt.objects.filter(turn_id=ended.id).last().request
    assert turn_verify(turn=ended).verified


def test_an_operator_who_enters_the_number_the_dialect_required_has_set_it(held: Turn):
    held.setup["setup"]["extra"] = {"uncapped": DEMANDED}
    held.save(update_fields=["setup"])
    assert cap_demanded(held)
    turn_control(turn=held, by="ada", action="change", max_tokens=held.max_tokens)
    drive(held)
    held.refresh_from_db()
    assert (held.max_tokens, cap_demanded(held)) == (400, False)


def test_a_required_cap_cannot_be_removed_and_the_form_says_why(held: Turn):
    Turn.objects.filter(id=held.id).update(provider="anthropic")
    held.refresh_from_db()
    form = filled(held, max_tokens="")
    words = "The limit cannot be removed: anthropic requires Max tokens per call (max_tokens) in every request."
    assert not form.is_valid()
    assert form.errors["max_tokens"] == [f"{words} The current value is 400."]
    with pytest.raises(ValidationError, match="anthropic requires Max tokens per call"):
        turn_control(turn=held, by="ada", action="change", no_max_tokens=True)


def test_a_turn_without_a_cap_shows_none_and_an_empty_field_keeps_none(held: Turn):
    snapshot = position_of(held).snapshot
    unset = replace(snapshot, setup=replace(snapshot.asked, max_tokens=16_384, extra={"uncapped": NO_CAP}))
    form = OperateForm(held, unset)
    assert form.initial["max_tokens"] is None
    assert 'placeholder="no limit set"' in str(form["max_tokens"])
    typed = {"expected_seq": str(held.last_seq), "model": "sim-essay"}
    for cap, changed in ({}, None), ({"max_tokens": ""}, None), ({"max_tokens": "90"}, 90):
        form = OperateForm(held, unset, {**typed, **cap})
        assert form.is_valid(), form.errors
        assert form.changes()["max_tokens"] == changed


def test_another_operators_change_is_not_undone_unseen(held: Turn):
    form = filled(held, model="mine")
    turn_control(turn=held, by="ben", action="change", limits={"max_continuations": 7})
    drive(held)
    again = form.carried_over(held, position_of(held).snapshot)
    assert again.is_valid()
    assert again.changes() == {**NOTHING, "expected_seq": held.last_seq, "request": {"model": "mine"}}


def test_the_page_compares_the_input_with_the_record_it_showed(browser: Client, held: Turn):
    seen = held.last_seq
    turn_control(turn=held, by="ben", action="change", limits={"max_continuations": 7})
    drive(held)
    assert snapshot_at(held, seen).limits.max_continuations == 3
    sent = {**filled(held).data, "limit_max_continuations": "3", "model": "mine", "expected_seq": str(seen)}
    address = f"/turns/{held.id}/control"
    html = browser.post(address, {**sent, "panel": "1", "action": "release"}, headers=HTMX).content.decode()
    assert "ben was first and requested “change” at" in html
    assert 'value="mine"' in html
    assert 'name="limit_max_continuations" value="7"' in html
    assert not Signal.objects.filter(turn_id=held.id, action="release").exists()


def test_a_change_on_the_page_is_sent_to_the_turn(browser: Client, held: Turn):
    sent = {**filled(held, result_0="1", result_1="2").data, "panel": "1", "action": "release"}
    assert browser.post(f"/turns/{held.id}/control", sent, headers=HTMX).status_code == 204
    drive(held)
    assert [m.text for m in position_of(held).snapshot.messages if m.tool_call_id] == ["1", "2"]


def test_an_empty_message_is_refused_at_its_field_and_an_empty_prompt_means_none(browser: Client, held: Turn):
    address = f"/turns/{held.id}/control"
    nameless = {"expected_seq": str(held.last_seq), "panel": "1", "action": "change", "model": ""}
    assert "The model must be a name of 1 to 200" in browser.post(address, nameless, headers=HTMX).content.decode()
    sent = {**filled(held, message_1="", system_prompt="").data, "panel": "1", "action": "change"}
    refused = browser.post(address, sent)
    assert (refused.status_code, refused.content.decode().count("A message cannot be empty")) == (422, 1)
    browser.post(address, {**sent, "message_1": filled(held).data["message_1"]}, headers=HTMX)
    drive(held)
    assert position_of(held).snapshot.asked.system_prompt == ""


def test_without_htmx_the_form_is_a_page_and_shown_again_after_a_fault(browser: Client, held: Turn):
    address = f"/turns/{held.id}/operate"
    assert "Change the turn" in page(browser, address)
    sent = {**filled(held, max_tokens="0").data, "panel": "1", "action": "release"}
    refused = browser.post(f"/turns/{held.id}/control", sent)
    assert (refused.status_code, "must be a whole number from 1 to 10,000,000" in refused.content.decode()) == (
        422,
        True,
    )


def test_a_turn_that_has_not_started_has_nothing_to_change(browser: Client, agent_of: AgentOf):
    queued = turn_start(agent=agent_of("sim-essay"), input_text="Go.")
    assert "has not started yet" in page(browser, f"/turns/{queued.id}/operate")


def test_an_unauthenticated_visitor_sees_no_form(held: Turn):
    answer = Client().get(f"/turns/{held.id}/operate")
    assert b"Change the turn" not in answer.content


def test_omitted_values_stay_unchanged(held: Turn):
    seen = {"expected_seq": str(held.last_seq)}
    assert OperateForm(held, position_of(held).snapshot, seen).is_valid()
    form = OperateForm(held, position_of(held).snapshot, {**seen, "message_1": "Once.", "limit_max_steps": "9"})
    assert form.is_valid(), form.errors
    expected = {**NOTHING, "expected_seq": held.last_seq, "limits": {"max_steps": 9}, "rewritten": {1: "Once."}}
    assert form.changes() == expected
    assert not OperateForm(held, position_of(held).snapshot, {"message_1": "Once."}).is_valid()


def test_input_typed_before_a_refusal_is_marked_so_that_it_is_submitted_again(browser: Client, held: Turn):
    sent = {"expected_seq": str(held.last_seq), "panel": "1", "action": "change", "model": "other", "max_tokens": "0"}
    html = browser.post(f"/turns/{held.id}/control", sent, headers=HTMX).content.decode()
    typed = re.findall(r'name="(\w+)"[^>]*data-typed', html)
    assert sorted({*typed} - {"expected_seq"}) == ["max_tokens", "model"]


def test_one_message_of_a_conversation_too_long_for_a_form_is_changed(browser: Client, held: Turn, settings):
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 2_000
    told = [{"role": "user", "text": "x" * 5_000}, {"role": "user", "text": "And?"}]
    turn_control(turn=held, by="ben", action="change", request={"messages": told})
    drive(held)
    sent = {"expected_seq": str(held.last_seq), "panel": "1", "action": "change", "message_2": "And then?"}
    assert browser.post(f"/turns/{held.id}/control", sent, headers=HTMX).status_code == 204
    drive(held)
    assert [m.text for m in position_of(held).snapshot.messages][:2] == ["x" * 5_000, "And then?"]


def test_the_drawer_of_an_ended_turn_does_not_ask_to_submit_again(browser: Client, held: Turn):
    sent = {"expected_seq": str(held.last_seq), "panel": "1", "action": "change", "model": "other"}
    turn_cancel(turn=held, by="ben")
    drive(held)
    html = browser.post(f"/turns/{held.id}/control", sent, headers=HTMX).content.decode()
    assert "This turn has ended already: it is cancelled. ben was first and requested “cancel” at" in html
    assert "send it again" not in html
