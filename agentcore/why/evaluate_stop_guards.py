"""How the guards of `evaluate_stop` stood: what the answer was, and what it was not."""

from collections.abc import Callable

from agentcore.machine.answer_classification import response_error, word_of
from agentcore.messages import ChatResponse
from agentcore.reasons import CALL_WORDS, NormalizedStopReason
from agentcore.states import Trigger
from agentcore.truncation_cause import SHOWN
from agentcore.why.limit_usage import missing, nearest
from agentcore.why.transition_case import Case, Stand

Reason = NormalizedStopReason
Look = Callable[[Case], Stand]
_UNKNOWN = Stand(None, "")


def _answered(look: Callable[[Case, ChatResponse], Stand]) -> Look:
    """A look at the answer; without one nothing is known."""

    def looked(case: Case) -> Stand:
        return _UNKNOWN if case.response is None else look(case, case.response)

    return looked


def _was(response: ChatResponse) -> str:
    return f"the model's reason was {response.stop_reason}"


def reason_is(wanted: str) -> Look:
    """A guard on the normalized reason."""

    def look(case: Case, response: ChatResponse) -> Stand:
        if response.stop_reason == wanted == Reason.PAUSED and _warmed_up(case, response):
            return Stand(False, f"with {SHOWN.name} 0 a cut or a pause is no truncation")
        return Stand(response.stop_reason == wanted, _was(response))

    return _answered(look)


def _has_calls(response: ChatResponse) -> bool:
    return bool(response.tool_calls or response.broken_tool_calls)


def _warmed_up(case: Case, response: ChatResponse) -> bool:
    """`max_tokens: 0` fills a cache."""
    call = case.snapshot.call if case.snapshot else None
    return call is not None and call.max_tokens == 0 and not _has_calls(response)


def _error(_case: Case, response: ChatResponse) -> Stand:
    found = response_error(response)
    return Stand(found is not None, found.message if found else "the answer carries no error, and its stream is whole")


def _envelope(case: Case, response: ChatResponse) -> Stand:
    setup = case.snapshot.setup if case.snapshot else None
    if setup is None:
        return Stand(case.trigger is Trigger.ENVELOPE or None, "")
    if setup.envelope_schema is None:
        return Stand(False, "no envelope was requested")
    if response.stop_reason is Reason.PAUSED:
        return Stand(False, "the provider paused it")
    if _has_calls(response):
        return Stand(False, "the answer calls tools")
    return Stand(not _warmed_up(case, response), "an envelope was requested")


def _broken(case: Case, response: ChatResponse) -> Stand:
    if response.broken_tool_calls or case.trigger is Trigger.BROKEN_TOOL_CALL:
        return Stand(True, "a tool call in the answer is incomplete")
    if response.tool_calls and response.stop_reason is Reason.MAX_TOKENS and case.trigger is not Trigger.TOOL_CALL:
        return _UNKNOWN  # whether a cut answer's call is whole was not asked, or not kept
    return Stand(
        False, "every tool call in the answer is complete" if response.tool_calls else "no tool call in the answer"
    )


def _unknown(_case: Case, response: ChatResponse) -> Stand:
    word = word_of(response)
    if response.stop_reason is not Reason.UNKNOWN or not word:
        return Stand(False, _was(response) if word else "the provider gave no stop reason")
    fatal = word in CALL_WORDS or not response.text
    return Stand(
        fatal, "the answer contains nothing usable" if fatal else "the stop reason is unknown, but there is text"
    )


def _cut(case: Case, response: ChatResponse) -> Stand:
    if response.stop_reason is not Reason.MAX_TOKENS:
        return Stand(False, _was(response))
    if _warmed_up(case, response):
        return Stand(False, f"with {SHOWN.name} 0 a cut or a pause is no truncation")
    if response.tool_calls:
        return Stand(False, "it was cut, but calls a tool")
    return Stand(True, _was(response))


def _calls(_case: Case, response: ChatResponse) -> Stand:
    if not response.tool_calls:
        return Stand(
            False,
            "no tool call in the answer"
            if not response.broken_tool_calls
            else "no tool call in the answer is complete",
        )
    if response.broken_tool_calls:
        return Stand(False, "not every tool call in the answer is complete")
    return Stand(True, "")


def forbidden(case: Case) -> Stand:
    """Whether what the answer asks for was forbidden: tools that are to run, or a text that was cut."""
    if case.trigger is Trigger.FORBIDDEN:
        return Stand(True, missing(case).words, counted=True)
    if case.outcome is None:
        return _UNKNOWN
    if case.trigger is not Trigger.TOOL_CALL:
        return Stand(False, "nothing in the answer was forbidden")
    near = nearest(case)
    return Stand(False, near.words if near else "no criterion forbade", counted=near is not None)


def _ended_by_itself(case: Case) -> bool:
    return case.trigger in (Trigger.END_TURN, Trigger.CONTINUE_REQUESTED) or _out_of_steps(case)


def _out_of_steps(case: Case) -> bool:
    """Whether more was asked for after a natural end, with no iteration left for it."""
    steps = case.said("StepsLimit")
    forbade = steps is not None and steps["decision"] == "forbid"
    return forbade and case.trigger is Trigger.FORBIDDEN and case.response is not None and not _has_calls(case.response)


def requested(case: Case) -> Stand:
    """Whether a criterion requested another iteration after a natural end, and had an iteration left for it."""
    if case.trigger is Trigger.CONTINUE_REQUESTED:
        return Stand(True, "a criterion requested another iteration")
    if case.outcome is None:
        return _UNKNOWN
    if not _ended_by_itself(case):
        return Stand(False, "the model did not end by itself")
    if not case.outcome["shouldContinue"] and not _out_of_steps(case):
        return Stand(False, "no criterion requested another iteration")
    steps = case.context("StepsLimit")
    used, limit = steps.get("used"), steps.get("limit")
    if used is None or limit is None or used < limit:
        return _UNKNOWN
    return Stand(False, f"a criterion requested another step at {used} of {limit} steps", counted=True)


def ended(case: Case) -> Stand:
    """Whether the model ended by itself, with no call and no cut."""
    if _ended_by_itself(case):
        return Stand(case.trigger is not Trigger.CONTINUE_REQUESTED, "a criterion requested another iteration")
    if case.response is None or case.outcome is None:
        return _UNKNOWN
    if case.trigger is Trigger.FORBIDDEN and not _has_calls(case.response):
        return Stand(True, "the model ended by itself, but its text was cut")
    why = "the answer calls tools" if _has_calls(case.response) else _was(case.response)
    return Stand(False, why)


error, envelope, broken = _answered(_error), _answered(_envelope), _answered(_broken)
unknown, cut, calls = _answered(_unknown), _answered(_cut), _answered(_calls)
