"""Tool calls that a model writes into its text."""

import pytest

from agentcore.markup import FORMS, LATER_FORMS, left_open, name_in, settled
from agentcore.reasons import AttemptKind
from tests.agentcore.playbook import Playbook, call, call_model, called, ended, started, tools_returned, truncated

CUT = 'Let me see. <tool_call>{"name": "calculator", "arguments": {"expr'


@pytest.mark.parametrize(("opener", "closer"), FORMS + LATER_FORMS)
def test_markup_that_does_not_end_is_found_where_it_begins_in_every_form(opener, closer):
    assert left_open(f"One {opener}two") == 4
    if closer is not None:
        assert left_open(f"One {opener}two{closer} three") is None
        assert left_open(f"One {opener}two{closer} {opener}") == len(f"One {opener}two{closer} ")


@pytest.mark.parametrize(
    ("markup", "name"),
    [
        (CUT[12:], "calculator"),
        ("<function=clock>{", "clock"),
        ('[TOOL_CALLS]calculator{"e', "calculator"),
        ("<tool_call>{", ""),
        ('<|python_tag|>{"function": "clock"', "clock"),
        ('<function_calls>\n<invoke name="clock">\n<parameter name="zo', "clock"),
        ('<|channel|>commentary to=functions.clock <|constrain|>json<|message|>{"zo', "clock"),
        ("<|channel|>commentary to=functions.clo", ""),
    ],
)
def test_the_tool_is_named_where_its_name_was_not_cut(markup, name):
    assert name_in(markup) == name


def test_text_without_markup_is_settled_and_what_may_become_markup_is_not():
    assert settled("1 < 2") == 5
    assert settled("Now <tool") == 4
    assert settled("Now <tool_call>{") == 4
    assert settled("a [") == 2


def test_the_markup_of_a_cut_call_is_no_answer_it_is_asked_for_again():
    story = Playbook() >> started() >> truncated(CUT, tokens=60)
    story = story << call_model(AttemptKind.TOOL_REPAIR, continues="Let me see. ")
    [broken] = story.snapshot.response.broken_tool_calls
    assert (broken.name, broken.issue, broken.raw) == ("calculator", "truncated", CUT[12:])
    story = story >> called(call()) >> tools_returned() >> ended("2.")
    assert story.end.output_text == "2."
    assert all("<tool_call>" not in message.text for message in story.snapshot.messages)


@pytest.mark.parametrize("cut", ["<tool_", "<|tool_ca", "<functi", "```tool_", "[TOOL_CALLS"])
def test_a_form_that_was_cut_itself_is_known_by_its_beginning(cut):
    assert left_open(f"Let me see. {cut}") == 12
    assert settled(f"Let me see. {cut}") == 12
    assert left_open(f"Let me see. {cut}", later=False) is None


@pytest.mark.parametrize("text", ["1 <", "<to", "<tools>", "<|channel|>", "```to", "[TOOL]", "<tool_x>"])
def test_what_may_be_something_else_is_text(text):
    assert left_open(text) is None


@pytest.mark.parametrize(("revision", "kind"), [(2, AttemptKind.CONTINUATION), (3, AttemptKind.TOOL_REPAIR)])
def test_forms_that_came_later_are_known_from_revision_3_on(revision, kind):
    cut = 'One moment. <function_calls>\n<invoke name="calculator">\n<parameter name="expr'
    story = Playbook(revision=revision) >> started() >> truncated(cut, tokens=60)
    story << call_model(kind, continues="One moment. " if revision == 3 else cut)


def test_without_tools_and_in_histories_from_before_it_is_text_as_any_other():
    for book in (Playbook(tools=()), Playbook(revision=None)):
        story = book >> started() >> truncated(CUT, tokens=60)
        story << call_model(AttemptKind.CONTINUATION, continues=CUT)
