"""The verdict: one sentence for every way a turn can end, claiming no more than the recording shows."""

import pytest

from agentcore.commands import Finish
from agentcore.events import Setup
from agentcore.messages import ChatResponse, TokenUsage
from agentcore.policy import Limits
from agentcore.reasons import AttemptKind, StopReason, TurnStatus
from agentcore.snapshot import Snapshot
from agentcore.snapshot_parts import Answer, Segment, Spent
from agentcore.values import replace
from agentcore.verdict import verdict
from tests.agentcore.playbook import Playbook, started
from tests.agentcore.playbook import ended as said
from tests.together import together

MAY = "so the answer may be cut off."
SETUP = Setup("turn", "openai", "m", 60, output_floor=2)
SAID = Answer("said", (Segment(1, AttemptKind.INITIAL, 0, 4),))


def ended(terminal_reason: str, *, spent: Spent | None = None, **more: object) -> Snapshot:
    end = Finish(TurnStatus.PARTIAL, StopReason.ERROR, terminal_reason, **more.pop("end", {}))
    return Snapshot(**{"setup": SETUP, "spent": spent or Spent(attempts=1), "end": end, **more})


def test_a_running_turn_has_no_verdict():
    assert verdict(Snapshot(setup=SETUP)) == ""


@together
@pytest.mark.parametrize(
    ("snapshot", "sentence"),
    [
        (ended("completed"), "Completed in 1 call."),
        (
            ended("completed", spent=Spent(attempts=3, continuations=2, output_tokens=150)),
            "Completed after 2 continuations.",
        ),
        (
            ended(
                "completed",
                setup=replace(SETUP, extra={"prefill": True}),
                model_stop_reason="end_turn",
                response=ChatResponse("said", usage=TokenUsage(9, 30)),
                spent=Spent(attempts=3, continuations=2, output_tokens=150),
            ),
            (
                "Completed after 2 continuations. With Max tokens per call (max_tokens) ≥ 155, one call would have "
                "been enough."
            ),
        ),
        (
            ended("completed", model_stop_reason="unknown"),
            f"Completed in 1 call. No stop reason is recorded, {MAY}",
        ),
        (
            ended("completed", model_stop_reason="unknown", raw_stop_reason="solar_flare"),
            f"Completed in 1 call. The provider said “solar_flare”, which is not a known stop reason, {MAY}",
        ),
        (
            ended("completed", spent=Spent(attempts=2, total_failures=1)),
            "Completed in 2 calls, after 1 error.",
        ),
        (
            ended("completed", spent=Spent(attempts=2, envelope_retries=1)),
            "Completed with a valid envelope after 2 calls.",
        ),
        (
            ended("retry_limit", spent=Spent(attempts=4, continuations=3, output_tokens=200)),
            "Cut off 4 times by Max tokens per call (max_tokens), then stopped at Max continuations "
            "(max_continuations: 3 of 3). 200 of 240 completion tokens used. With 4 continuations it would have "
            "continued. The recording does not show how it would have ended.",
        ),
        (
            ended("budget_exhausted", spent=Spent(output_tokens=240, estimated=True)),
            "Cut off by Max tokens per call (max_tokens), then stopped at Max completion tokens per turn "
            "(max_total_completion_tokens): about 240 of 240 completion tokens used. With a higher Max completion "
            "tokens per turn (max_total_completion_tokens) it would have continued. The recording does not show how it "
            "would have ended.",
        ),
        (
            ended("budget_exhausted", limits=Limits(max_total_tokens=9), spent=Spent(output_tokens=10, estimated=True)),
            "Cut off by Max tokens per call (max_tokens), then stopped at Max tokens per turn (max_total_tokens): "
            "about 10 of"
            " 9 input and output tokens used. With a higher Max tokens per turn (max_total_tokens) it would have"
            " continued. The recording does not show how it would have ended.",
        ),
        (
            ended("output_cap", limits=Limits(max_total_output_chars=9)),
            "Cut off at 9 characters: Max output characters (max_total_output_chars) was reached.",
        ),
        (
            ended("provider_error", answer=SAID, end={"error_message": "overloaded", "output_text": "said"}),
            "Failed: overloaded. The partial answer is kept.",
        ),
        (
            ended("safety_blocked", raw_stop_reason="content_filter"),
            "Blocked by the provider. The provider said “content_filter”. Higher limits would not have helped.",
        ),
        (
            ended("cancelled", cancelled_by="me", spent=Spent(output_tokens=9)),
            "Cancelled by me. 9 of 240 completion tokens used.",
        ),
    ],
)
def test_each_ending_has_its_sentence(snapshot: Snapshot, sentence: str):
    assert verdict(snapshot) == sentence


def test_no_cap_is_named_where_none_would_have_sufficed():
    spent = Spent(attempts=3, continuations=2, output_tokens=150)
    last = ChatResponse("said", usage=TokenUsage(9, 30))
    exact = {"setup": replace(SETUP, extra={"prefill": True}), "model_stop_reason": "end_turn", "spent": spent}
    exact["response"] = last
    resumed = Answer("said", (Segment(2, AttemptKind.RESUME, 0, 4),))
    assert "Max tokens per call (max_tokens) ≥ 155" in verdict(ended("completed", **exact))
    assert verdict(ended("completed", **exact, answer=resumed)) == "Completed after 2 continuations."
    assert verdict(ended("completed", **exact, iteration=2)) == "Completed after 2 continuations."
    paused = ended("retry_limit", spent=spent, model_stop_reason="paused")
    assert verdict(paused).startswith("Stopped after the answer was paused by the provider 3 times")


def test_an_envelope_forbidden_by_a_limit_says_which_and_why():
    told = Playbook(envelope_schema={"required": ["a"]}, max_total_tokens=1) >> started() >> said("{}")
    assert verdict(told.snapshot) == (
        "Failed without a valid envelope, stopped at Max tokens per turn (max_total_tokens): required property 'a' "
        "is missing "
        "(schema /required) (15 of 1 tokens). With a higher Max tokens per turn (max_total_tokens) it would have"
        " continued. The recording does not show how it would have ended."
    )


def test_where_both_limits_bind_both_are_named():
    both = ended("retry_limit", spent=Spent(continuations=3, output_tokens=240))
    assert (
        "With 4 continuations and a higher Max completion tokens per turn (max_total_completion_tokens) it would "
        "have continued"
    ) in verdict(both)


@together
@pytest.mark.parametrize(
    "terminal_reason",
    ["empty_output", "repetition", "tool_repair_failed", "forbidden", "context_window_exceeded", "unknown_fatal", "x"],
)
def test_no_ending_is_without_a_sentence(terminal_reason: str):
    assert verdict(ended(terminal_reason, end={"notice": "3 of 3 steps."})).endswith(".")
