from agentcore.messages import CallIssue, Message, Role, ToolCall
from agentcore.providers.wire.history import History

LOOK, WAIT = ToolCall("c1", "look"), ToolCall("c2", "wait")
BROKEN = ToolCall("c3", "cut", issue=CallIssue.TRUNCATED)


def test_a_call_without_a_result_is_never_sent():
    asked = Message(Role.ASSISTANT, tool_calls=(LOOK, WAIT, BROKEN))
    result = Message(Role.TOOL, "seen", tool_call_id="c1")
    history = History((asked, result, Message(Role.TOOL, "?", tool_call_id="c3")))
    assert history.calls_of(asked) == (LOOK,)
    assert not history.may_echo(asked)
    assert history.may_echo(Message(Role.ASSISTANT, tool_calls=(LOOK,)))


def test_a_result_knows_the_name_of_its_call():
    history = History((Message(Role.ASSISTANT, tool_calls=(LOOK,)),))
    result, stray = Message(Role.TOOL, "", tool_call_id="c1"), Message(Role.TOOL, "", tool_call_id="x")
    assert (history.name_of(result), history.has_call(result)) == ("look", True)
    assert (history.name_of(stray), history.has_call(stray)) == ("", False)
