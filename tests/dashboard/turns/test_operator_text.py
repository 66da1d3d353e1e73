from agentcore.events import Breakpoint, ChangedCall, OperatorActed, OperatorAction, ToolResult, WokeUp
from agentcore.messages import ChatResponse, Message, Role, ToolCall
from dashboard.turns.operator_text import QUOTED, changes_in_words, sentence_of


def acted(action: OperatorAction = OperatorAction.CHANGE, **changes: object) -> OperatorActed:
    return OperatorActed(1.0, "ada", action, **changes)


def test_every_operator_change_has_a_text():
    event = acted(
        limits={"max_seconds": None, "max_steps": 3},
        error_policy={"max_retries": 2},
        max_tokens=1200,
        model="m2",
        system_prompt="Be\nbrief.",
        messages=(Message(Role.USER, "x"),),
        tool_call=ChangedCall("a", {"n": 1}),
        tool_result=ToolResult("b", "clock", "noon"),
        breakpoints=(Breakpoint(state="evaluate_stop"),),
        answer=ChatResponse("Mine.", (ToolCall("", "clock", {"zone": "utc"}),)),
    )
    assert changes_in_words(event) == (
        "Time limit none, Max steps 3, Max failures in a row 2, Max tokens per call 1,200, model m2, "
        "system prompt “Be brief.”, another conversation, of 1 message, "
        'call a with “{"n": 1}”, result of call b: “noon”, 1 breakpoint, '
        'injected a response: “Mine. clock {"zone": "utc"}”'
    )


def test_a_field_added_to_the_event_has_a_text_too():
    said = {"at", "by", "action", "run_to"}
    measured = {"waited"}  # by the driver, of the call in flight
    numbers = {"limits", "error_policy", "max_tokens", "uncapped"}
    told = numbers | {"model", "system_prompt", "messages", "tool_call", "tool_result"}
    assert set(OperatorActed.__dataclass_fields__) == said | told | measured | {"breakpoints", "answer"}


def test_a_sentence_names_the_operator_and_the_change():
    assert sentence_of(acted(max_tokens=16_384, uncapped=True)) == "ada: change; Max tokens per call: no limit set"
    assert sentence_of(acted(OperatorAction.RELEASE, run_to="abort_partial")) == "ada: release, run to abort partial"
    assert sentence_of(acted(breakpoints=())) == "ada: change; no breakpoints"
    assert sentence_of(acted(answer=ChatResponse())) == "ada: change; injected a response: “nothing, unknown”"


def test_long_texts_are_shortened_and_other_events_have_none():
    assert len(changes_in_words(acted(system_prompt="x" * 999))) == len("system prompt “…”") + QUOTED
    assert changes_in_words(WokeUp(1.0)) == ""
