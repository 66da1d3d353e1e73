"""Tool calls that a model writes into its text."""

import pytest

from agentcore.reasons import AttemptKind
from agentcore.tool_call_markup import (
    FORMS,
    LATER_FORMS,
    is_cut_bare_call,
    left_open,
    may_be_bare_call,
    name_in,
    settled,
)
from tests.agentcore.playbook import Playbook, call, call_model, called, ended, started, tools_returned, truncated
from tests.together import together

CUT = 'Let me see. <tool_call>{"name": "calculator", "arguments": {"expr'


@together
@pytest.mark.parametrize(("opener", "closer"), FORMS + LATER_FORMS)
def test_unclosed_markup_is_found_where_it_starts_in_every_format(opener, closer):
    assert left_open(f"One {opener}two") == 4
    if closer is not None:
        assert left_open(f"One {opener}two{closer} three") is None
        assert left_open(f"One {opener}two{closer} {opener}") == len(f"One {opener}two{closer} ")


@together
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
def test_the_tool_is_named_where_its_name_is_complete(markup, name):
    assert name_in(markup) == name


def test_text_without_markup_is_final_and_possible_markup_is_not():
    assert settled("1 < 2") == 5
    assert settled("Now <tool") == 4
    assert settled("Now <tool_call>{") == 4
    assert settled("a [") == 2


def test_the_markup_of_a_truncated_call_is_not_an_answer_and_is_requested_again():
    story = Playbook() >> started() >> truncated(CUT, tokens=60)
    story = story << call_model(AttemptKind.TOOL_REPAIR, continues="Let me see. ")
    [broken] = story.snapshot.response.broken_tool_calls
    assert (broken.name, broken.issue, broken.raw) == ("calculator", "truncated", CUT[12:])
    story = story >> called(call()) >> tools_returned() >> ended("2.")
    assert story.end.output_text == "2."
    assert all("<tool_call>" not in message.text for message in story.snapshot.messages)


@together
@pytest.mark.parametrize("cut", ["<tool_", "<|tool_ca", "<functi", "```tool_", "[TOOL_CALLS"])
def test_a_truncated_opening_tag_is_recognized_by_its_start(cut):
    assert left_open(f"Let me see. {cut}") == 12
    assert settled(f"Let me see. {cut}") == 12
    assert left_open(f"Let me see. {cut}", later=False) is None


@together
@pytest.mark.parametrize("text", ["1 <", "<to", "<tools>", "<|channel|>", "```to", "[TOOL]", "<tool_x>"])
def test_ambiguous_text_is_read_as_text(text):
    assert left_open(text) is None


@pytest.mark.parametrize(("revision", "kind"), [(2, AttemptKind.CONTINUATION), (3, AttemptKind.TOOL_REPAIR)])
def test_formats_added_later_are_recognized_from_revision_3(revision, kind):
    cut = 'One moment. <function_calls>\n<invoke name="calculator">\n<parameter name="expr'
    story = Playbook(revision=revision) >> started() >> truncated(cut, tokens=60)
    story << call_model(kind, continues="One moment. " if revision == 3 else cut)


def test_without_tools_and_under_earlier_rules_markup_is_plain_text():
    for book in (Playbook(tools=()), Playbook(revision=None)):
        story = book >> started() >> truncated(CUT, tokens=60)
        story << call_model(AttemptKind.CONTINUATION, continues=CUT)


BARE = (
    '{"name": "calculator", "parameters": {"expr',
    ' {"name":"calculator","arguments":"{',
    '\n{\n  "type": "function",\n  "name": "calculator",\n  "parameters": {',
    '{"type": "function", "function": {"name": "calculator", "parameters": {"expression": "1 + 1"}',
    '{"name": "calculator"',
    '{"name": "calculator", "para',
    '{"name": "calcul',
)


@together
@pytest.mark.parametrize("cut", BARE)
def test_a_truncated_call_in_bare_json_is_requested_again_from_revision_4(cut):
    story = Playbook() >> started() >> truncated(cut, tokens=60)
    story = story << call_model(AttemptKind.TOOL_REPAIR, continues="")
    [broken] = story.snapshot.response.broken_tool_calls
    assert (broken.name, broken.raw) == ("calculator" if '"calculator"' in cut else "", cut)
    assert (story >> called(call()) >> tools_returned() >> ended("2.")).end.output_text == "2."
    story = Playbook(revision=3) >> started() >> truncated(cut, tokens=60)
    story << call_model(AttemptKind.CONTINUATION, continues=cut)


@together
@pytest.mark.parametrize("cut", BARE)
def test_a_call_in_bare_json_is_recognized_while_streaming(cut):
    assert all(may_be_bare_call(cut[:length], ["calculator"]) for length in range(len(cut) + 1))
    assert not any(is_cut_bare_call(cut, other) for other in ((), ["weather"]))


@together
@pytest.mark.parametrize(
    "text",
    [
        '{"name": "calculator", "description": "Comp',  # tells of the tool
        '{"name": "calculators", "parameters": {',
        '{"name": "Ada", "arguments": {',
        '{"name": "',
        '{"',
        'See {"name": "calculator", "parameters": {',
        '[{"name": "calculator", "parameters": {',
        '{"name": "calculator", "parameters": {}}',  # whole
        '{"name": "calculator", "parameters": {}} does',
        '{"parameters": {}, "name": "calculator"',
    ],
)
def test_other_json_is_an_answer(text):
    assert not is_cut_bare_call(text, ["calculator"])
    (Playbook() >> started() >> truncated(text, tokens=60)) << call_model(AttemptKind.CONTINUATION, continues=text)


def test_bare_json_after_text_or_where_json_was_asked_for_is_the_answer():
    story = Playbook() >> started() >> truncated("The call would be: ", tokens=60) >> truncated(BARE[0], tokens=60)
    story << call_model(AttemptKind.CONTINUATION, continues="The call would be: " + BARE[0])
    asked = Playbook(envelope_schema={"type": "object"}, max_tokens=60) >> started() >> truncated(BARE[0], tokens=60)
    asked << call_model(AttemptKind.ENVELOPE_RETRY, max_tokens=120)
