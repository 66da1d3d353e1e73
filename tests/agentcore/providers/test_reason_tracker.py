import pytest

from agentcore.providers.wire.reason_tracker import ReasonTracker
from agentcore.reasons import NormalizedStopReason as Reason
from tests.together import together


def told(*words: tuple[str, Reason], native: tuple[str, Reason] | None = None) -> ReasonTracker:
    tracker = ReasonTracker()
    for raw, reason in words:
        tracker.label("finish_reason", raw, reason)
    if native:
        tracker.native("native", *native)
    return tracker


STOP, LENGTH, CALLS = ("stop", Reason.END_TURN), ("length", Reason.MAX_TOKENS), ("tool_calls", Reason.TOOL_CALL)
FILTER, ODD, BLANK = ("content_filter", Reason.SAFETY_BLOCKED), ("odd", Reason.UNKNOWN), ("", Reason.UNKNOWN)
ERROR = ("error", Reason.UNKNOWN)


@together
@pytest.mark.parametrize(
    ("words", "native", "raw", "reason"),
    [
        ([STOP, LENGTH], None, "length", Reason.MAX_TOKENS),
        ([LENGTH, STOP], None, "length", Reason.MAX_TOKENS),
        ([LENGTH, FILTER, CALLS], None, "content_filter", Reason.SAFETY_BLOCKED),
        ([STOP, STOP], None, "stop", Reason.END_TURN),
        ([STOP, ("eos", Reason.END_TURN)], None, "eos", Reason.END_TURN),
        ([BLANK, STOP, BLANK], None, "stop", Reason.END_TURN),
        ([BLANK], None, "", Reason.UNKNOWN),
        ([ODD], None, "odd", Reason.UNKNOWN),
        ([STOP, ODD], None, "odd", Reason.UNKNOWN),
        ([STOP, ERROR], None, "error", Reason.UNKNOWN),
        ([ERROR, STOP], None, "error", Reason.UNKNOWN),
        ([STOP], ("End of USER:", Reason.UNKNOWN), "stop", Reason.END_TURN),
        ([STOP], ("MAX_TOKENS", Reason.MAX_TOKENS), "MAX_TOKENS", Reason.MAX_TOKENS),
        ([STOP], ("UNEXPECTED_TOOL_CALL", Reason.UNKNOWN), "UNEXPECTED_TOOL_CALL", Reason.UNKNOWN),
        (
            [LENGTH],
            ("model_context_window_exceeded", Reason.CONTEXT_WINDOW_EXCEEDED),
            "model_context_window_exceeded",
            Reason.CONTEXT_WINDOW_EXCEEDED,
        ),
    ],
)
def test_the_most_severe_stop_reason_wins_and_the_last_of_equals(words, native, raw, reason):
    settled = told(*words, native=native).settle(has_calls=False)
    assert (settled.raw, settled.stop_reason) == (raw, reason)


@together
@pytest.mark.parametrize("reason", list(Reason))
def test_only_a_natural_end_is_promoted_by_calls(reason):
    settled = told(("word", reason)).settle(has_calls=True)
    promoted = reason is Reason.END_TURN
    assert settled.stop_reason is (Reason.TOOL_CALL if promoted else reason)
    assert settled.relabelled is promoted
    assert settled.raw == "word"


def test_a_tool_call_reason_without_calls_is_a_natural_end():
    settled = told(CALLS).settle(has_calls=False)
    assert (settled.stop_reason, settled.raw, settled.relabelled) == (Reason.END_TURN, "tool_calls", True)


def test_evidence_without_a_raw_reason_keeps_the_providers_reason():
    tracker = told(STOP)
    tracker.sign("refusal", Reason.SAFETY_BLOCKED)
    settled = tracker.settle(has_calls=False)
    assert (settled.stop_reason, settled.raw, settled.relabelled) == (Reason.SAFETY_BLOCKED, "stop", True)


def test_an_error_overrides_every_stop_reason():
    tracker = told(LENGTH, FILTER)
    tracker.error("error", "error", Reason.UNKNOWN)
    tracker.label("finish_reason", *LENGTH)
    assert tracker.settle(has_calls=True).stop_reason is Reason.UNKNOWN
    assert tracker.settle(has_calls=True).raw == "error"


def test_the_trail_keeps_every_stop_reason_once_with_the_latest_last():
    tracker = told(STOP, BLANK, LENGTH, STOP, native=("STOP", Reason.END_TURN))
    assert [(seen.source, seen.raw) for seen in tracker.trail] == [
        ("finish_reason", ""),
        ("finish_reason", "length"),
        ("finish_reason", "stop"),
        ("native", "STOP"),
    ]


def test_without_any_stop_reason_the_result_is_unknown_without_a_raw_value():
    settled = ReasonTracker().settle(has_calls=True)
    assert (settled.stop_reason, settled.raw, settled.relabelled) == (Reason.UNKNOWN, None, False)


@together
@pytest.mark.parametrize(
    ("word", "cut"), [(STOP, False), (CALLS, False), (ODD, False), (LENGTH, True), (FILTER, True), (ERROR, True)]
)
def test_reasons_that_leave_a_call_incomplete_are_known(word, cut):
    assert told(word).saw_cut is cut
