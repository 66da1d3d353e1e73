"""Every way in which calls that were only observed can end: no sentence tells a limit that their program did not
state."""

import re
from functools import partial

import pytest

from agentcore.error_policy import ErrorHandlingDecision, ErrorPolicy
from agentcore.error_text import notice_text
from agentcore.messages import NO_CAP
from agentcore.policy import LIMIT_NAMES
from agentcore.reasons import NormalizedStopReason
from agentcore.replay.record_spans import fold
from agentcore.resource import resource_of
from agentcore.values import replace
from agentcore.verdict import verdict
from agentcore.why import derive, roads_taken_past
from tests.agentcore.playbook import (
    blocked,
    call,
    called,
    cancelled,
    cut_call,
    ended,
    error,
    malformed_call,
    paused,
    stopped,
    tool_failed,
    tools_returned,
    truncated,
    unknown,
    woke_up,
    worded,
)
from tests.agentcore.playbook import (
    play as played,
)
from tests.together import together

ENDLESS = 10**9
ONE = {"max_continuations": 0, "max_tool_repair_attempts": 0, "schema_rounds": 0, "max_total_output_chars": ENDLESS}
IGNORES = replace(ErrorPolicy.retry_all(max_retries=3), on_tool_error=ErrorHandlingDecision.IGNORE)
#: The limits that calls imply which their program continued once.
TWO = {**ONE, "max_continuations": 1, "max_total_completion_tokens": ENDLESS}
SCHEMA = {"required": ["a"]}
NOT_CONTINUED = "the program that made the call did not continue it."
SEND_BACK = "To continue, the program sends the answer back unchanged in another call."
HOW_MANY = "The recording does not show how many more tokens it needed."
NOT_TOLD = (
    "Max tokens per call (max_tokens) of the request was not recorded, so which limit cut the answer is not known."
)
UNRECORDED = {"extra": {"uncapped": "unknown"}}


play = partial(played, watched=True)


def cut(letter: str = "a", tokens: int = 60):
    return truncated(worded(letter, tokens), tokens=tokens)


#: What happened, the limit that is known to have ended it, and the sentence.
ENDS = [
    (play(ended("done"), **ONE), None, "Completed in 1 call."),
    (play(cut(), ended("b"), **TWO), None, "Completed after 1 continuation."),
    (play(ended(""), **ONE), None, "Stopped: the model ended its turn with an empty answer."),
    (
        play(cut(), **ONE),
        "max_tokens",
        "Cut off by Max tokens per call (max_tokens), with 60 of 60 tokens used; this call was only observed. "
        f"{HOW_MANY}",
    ),
    (
        play(cut(), cut("b"), **TWO),
        "max_tokens",
        f"Cut off twice by Max tokens per call (max_tokens); {NOT_CONTINUED} 120 completion tokens used. {HOW_MANY}",
    ),
    (
        play(paused("a"), **ONE),
        None,
        f"Stopped after the answer was paused by the provider; {NOT_CONTINUED} 5 completion tokens used. {SEND_BACK}",
    ),
    (
        play(paused("a"), paused("b"), **TWO),
        None,
        f"Stopped after the answer was paused by the provider twice; {NOT_CONTINUED} 10 completion tokens used. "
        f"{SEND_BACK}",
    ),
    (
        play(cut(), **ONE, **UNRECORDED),
        None,
        "Cut off by a token limit that is not recorded, with 60 tokens reported; this call was only observed. "
        f"{NOT_TOLD}",
    ),
    (
        play(cut(tokens=30), **ONE, **UNRECORDED),
        None,
        "Cut off by a token limit that is not recorded, with 30 tokens reported; this call was only observed. "
        f"{NOT_TOLD}",
    ),
    (
        play(truncated("a", tokens=None), **ONE, **UNRECORDED),
        None,
        f"Cut off by a token limit that is not recorded; this call was only observed. {NOT_TOLD}",
    ),
    (
        play(truncated("", tokens=60), **ONE, **UNRECORDED),
        None,
        "Cut off by a token limit that is not recorded, with 60 tokens reported; this call was only observed. "
        f"{NOT_TOLD}",
    ),
    (
        play(cut(), cut("b"), **TWO, **UNRECORDED),
        None,
        f"Cut off twice by a token limit that is not recorded; {NOT_CONTINUED} 120 completion tokens used. {NOT_TOLD}",
    ),
    (
        play(cut(tokens=30), **ONE, extra={"uncapped": NO_CAP}),
        None,
        "Cut off at 30 tokens, with Max tokens per call (max_tokens) not set. The context window was full, "
        "or the server "
        "has a limit of its own. Setting Max tokens per call may help: without it, many servers apply a low default "
        "limit.",
    ),
    (
        play(cut_call("Let me. ", tokens=60), **ONE),
        "max_tokens",
        "Cut off by Max tokens per call (max_tokens) in a tool call, which did not run; this call was only observed. "
        f"{HOW_MANY}",
    ),
    (
        play(cut_call("Let me. ", tokens=60), **ONE, **UNRECORDED),
        None,
        "Cut off by a token limit that is not recorded in a tool call, which did not run; this call was only observed. "
        f"{NOT_TOLD}",
    ),
    (
        play(malformed_call(), **ONE),
        None,
        "Stopped: a tool call was malformed and did not run; this call was only observed.",
    ),
    (
        play(cut(), malformed_call(), **TWO),
        None,
        "Stopped: a tool call was malformed and did not run; the program that made the call did not request it again.",
    ),
    (
        play(cut_call(tokens=60), cut_call(tokens=120), **{**ONE, "max_tool_repair_attempts": 1}),
        "max_tokens",
        "Cut off by Max tokens per call (max_tokens) in a tool call, which did not run; 1 repair failed.",
    ),
    (
        play(ended("{}"), envelope_schema=SCHEMA, **ONE),
        None,
        "Failed without a valid envelope after 1 call: required property 'a' is missing (schema /required) "
        "(an observed "
        "call is not requested again).",
    ),
    (play(error(), **ONE), None, "Failed on the first call: It broke."),
    (
        play(error(), woke_up(), error(), woke_up(), error(), error_policy=IGNORES, **ONE),
        None,
        "Failed after 3 failed calls: It broke.",
    ),
    (
        play(called(call()), tools_returned(tool_failed()), ended("ok"), error_policy=IGNORES, **ONE),
        None,
        "Completed in 2 calls, after 1 error.",
    ),
    (
        play(cancelled("abc"), **ONE),
        None,
        "Cancelled by ada. 4 completion tokens used.",
    ),
    (
        play(stopped(NormalizedStopReason.CANCELLED, "cancelled", "a"), **ONE),
        None,
        "Aborted: the provider cancelled the answer. 5 completion tokens used.",
    ),
    (
        play(blocked("no"), **ONE),
        None,
        "Blocked by the provider. The provider said “content_filter”. Higher limits would not have helped.",
    ),
    (
        play(stopped(NormalizedStopReason.CONTEXT_WINDOW_EXCEEDED, "model_context_window_exceeded", "a"), **ONE),
        None,
        "Aborted: the conversation no longer fits the model's context window. A higher Max tokens per call "
        "(max_tokens) would not have helped.",
    ),
    (
        play(unknown("SOLAR_FLARE", ""), **ONE),
        None,
        "Aborted: the provider ended the answer with “SOLAR_FLARE”, which is not a known stop reason; there "
        "is no usable "
        "text.",
    ),
]
#: Limits of a program's own, which no recording of its calls states.
OF_PROGRAM = [key for key in LIMIT_NAMES if key not in ("max_tokens", "max_steps")]


@together
@pytest.mark.parametrize(("book", "resource", "sentence"), ENDS, ids=[sentence[:60] for _, _, sentence in ENDS])
def test_each_end_of_observed_calls_is_told_without_a_limit_of_their_program(book, resource, sentence):
    assert verdict(book.snapshot) == sentence
    assert resource_of(book.snapshot) == resource


@together
@pytest.mark.parametrize(("book", "resource", "sentence"), ENDS, ids=[sentence[:60] for _, _, sentence in ENDS])
def test_the_derivation_of_observed_calls_names_no_limit_that_nobody_stated(book, resource, sentence):
    found = derive(book.recording)
    assert found is not None
    others = [
        road.miss for _, roads in roads_taken_past(fold(book.recording)) for road in roads if "no max" not in road.miss
    ]
    told = " / ".join([notice_text(book.snapshot), *(node.words for node in found.tree.walk()), *others])
    invented = [key for key in OF_PROGRAM if re.search(rf"\b{LIMIT_NAMES[key]}\b|\b{key}\b", told)]
    counted = re.findall(r"\d[\d,]* of \d[\d,]* (?:continuation|completion|character|repair)\w*|1,?000,?000,?000", told)
    assert (invented, counted) == ([], []), told
    assert found.resource == resource
