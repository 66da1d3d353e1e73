"""What the stored calls of a model bear out: repeats at the seam and reasoning, read from stored attempts."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from agentcore.replay import Experience
from dashboard.agents.selectors import project_default
from dashboard.platform.ids import new_id
from dashboard.replay import experience
from dashboard.replay.experience import experience_of, experience_read
from dashboard.replay.services import turn_what_if
from dashboard.turns.models import Attempt, Turn
from tests.dashboard.driving import Play

pytestmark = pytest.mark.django_db(transaction=True)

BEFORE = "The lower gate closes behind the boat, and then"


@pytest.fixture(autouse=True)
def _nothing_kept():
    experience.kept.forget()


def a_turn(*said: tuple[str, dict[str, int] | None], extra: dict[str, object] | None = None, **columns: object) -> Turn:
    """A stored turn whose first call said `BEFORE`, and whose continuations said these texts."""
    asked = {"setup": {"setup": {"extra": extra or {}, "envelope_schema": None}}}
    told = {"agent_name": "a", "provider": "openai", "model": "m", "max_tokens": 60, "status": "completed"}
    counts = {"attempts": len(said) + 1, "continuations": len(said)}
    turn = Turn.objects.create(project=project_default(), **{**told, **counts, **asked, **columns})
    calls = ((BEFORE, {"output_tokens": 60}), *said)
    kinds = ["initial"] + ["continuation"] * len(said)
    for index, ((text, usage), kind) in enumerate(zip(calls, kinds, strict=True), start=1):
        Attempt.objects.create(
            turn_id=turn.pk,
            index=index,
            kind=kind,
            iteration=1,
            provider="openai",
            model="m",
            max_tokens=60,
            request="{}",
            request_sha256=str(new_id()),
            request_url="http://host",
            started_at=turn.created_at,
            text=text,
            usage=usage,
        )
    return turn


def read() -> Experience:
    return experience_read(project=project_default(), provider="openai", model="m")


def test_tokens_repeated_at_the_seam_are_the_dropped_share_of_the_answers_tokens():
    for _ in range(20):
        a_turn((BEFORE[-20:] + "x" * 20, {"output_tokens": 50, "reasoning_tokens": 10}))
    found = read()
    assert found.repeats is not None
    assert (found.repeats.p95, found.repeats.calls) == (20.0, 20)
    assert found.reasoning is not None
    assert (found.reasoning.p95, found.reasoning.calls) == (10, 20)


def test_the_95th_percentile_of_the_figures_is_used():
    for reasoning in range(1, 41):
        a_turn((" more", {"output_tokens": 50, "reasoning_tokens": reasoning}))
    found = read()
    assert found.reasoning is not None
    assert found.reasoning.p95 == 38


def test_fewer_than_twenty_calls_are_no_evidence():
    for _ in range(19):
        a_turn((" more", {"output_tokens": 50}))
    assert read() == Experience()


@pytest.mark.parametrize(
    ("usage", "reason", "counts"),
    [
        ({"output_tokens": 60, "reasoning_tokens": 40}, "max_tokens", True),
        ({"output_tokens": 100, "reasoning_tokens": 40}, "max_tokens", False),
        ({"output_tokens": 90, "reasoning_tokens": 40}, "end_turn", False),
        ({"output_tokens": 60, "reasoning_tokens": 40}, "end_turn", None),
        ({"output_tokens": 60}, "max_tokens", None),
        (None, "max_tokens", None),
    ],
)
def test_a_truncated_or_overlong_answer_shows_whether_reasoning_counts(usage, reason, counts):
    turn = a_turn((" more", usage))
    Attempt.objects.filter(turn_id=turn.pk, index=2).update(stop_reason=reason)
    assert read().counts_reasoning is counts


@pytest.mark.parametrize(("outputs", "told"), [([60] * 20, True), ([60] * 19, None), ([60] * 19 + [40], False)])
def test_twenty_truncated_calls_show_whether_all_tokens_are_reported(outputs: list[int], told: bool | None):
    for output in outputs:
        turn = a_turn((" more", {"output_tokens": output}))
        Attempt.objects.filter(turn_id=turn.pk, index=2).update(stop_reason="max_tokens")
    assert read().reports_all is told


def test_twenty_truncated_calls_bound_the_counted_but_unreported_tokens():
    for output in (59, 60, *[20] * 18):
        turn = a_turn((" more", {"output_tokens": output}))
        Attempt.objects.filter(turn_id=turn.pk, index=2).update(stop_reason="max_tokens")
    found = read()
    assert found.unreported is not None
    assert (found.unreported.p95, found.unreported.calls) == (40, 20)


def test_a_reported_truncation_is_evidence_for_reporting_and_three_ends_at_the_cap_against_it():
    for told in (None, None, False):
        a_turn(lint=["output_at_cap"])
        assert read().tells_cuts is told
    a_turn(model_stop_reason="max_tokens")
    assert read().tells_cuts is True


def test_contradictory_calls_show_nothing():
    for output in (60, 100):
        turn = a_turn((" more", {"output_tokens": output, "reasoning_tokens": 40}))
        Attempt.objects.filter(turn_id=turn.pk, index=2).update(stop_reason="max_tokens")
    assert read().counts_reasoning is None


@pytest.mark.parametrize(
    "columns",
    [
        {"model": "another"},
        {"base_snapshot": {}},
        {"setup": {"setup": {"extra": {}, "envelope_schema": {"type": "object"}}}},
    ],
    ids=["another model's", "a fork's", "a structured answer's"],
)
def test_calls_without_evidence_about_this_model_do_not_count(columns: dict[str, object]):
    for _ in range(20):
        a_turn((BEFORE[-20:] + "x" * 20, {"output_tokens": 50}), **columns)
    assert read() == Experience()


def test_repeats_after_a_prefill_and_unreported_usage_do_not_count():
    for _ in range(20):
        a_turn((" more", {"output_tokens": 50}), (" and more", None), extra={"prefill": True})
    found = read()
    assert found.repeats is None
    assert found.reasoning is not None
    assert found.reasoning.calls == 20


def test_it_is_read_once_a_minute_per_model_and_not_per_turn(monkeypatch: pytest.MonkeyPatch):
    project = project_default()
    with CaptureQueriesContext(
        connection,
    ) as asked:
        experience_of(project=project, provider="openai", model="m")
    with CaptureQueriesContext(connection) as again:
        experience_of(project=project, provider="openai", model="m")
    assert len(asked) > len(again) == 0
    monkeypatch.setattr(experience, "KEPT_SECONDS", -1.0)
    with CaptureQueriesContext(connection) as later:
        experience_of(project=project, provider="openai", model="m")
    assert len(later) == len(asked)


def test_the_assumptions_of_a_what_if_are_bounded_by_it(play: Play):
    play(
        "sim-essay",
        name="long",
        max_tokens=15,
        overrides={"limits": {"max_continuations": 40, "max_total_completion_tokens": 5000}},
    )
    turn = play("sim-essay", max_tokens=150)
    imagined = turn_what_if(turn=turn, overrides={"max_tokens": 100})
    repeats = next(each for each in imagined.recording.assumes if each.name == "repeats")
    assert repeats.source.startswith("95th percentile of ")


def test_streamed_answers_show_how_long_a_call_takes(play: Play):
    whole = play("sim-essay", max_tokens=150)
    pace = experience_read(project=project_default(), provider=whole.provider, model=whole.model).pace
    assert pace is not None
    timed = Attempt.objects.filter(turn_id=whole.id).order_by("first_token_ms").values_list("first_token_ms", flat=True)
    assert pace.first == timed[1] / 1000, "the median of its three calls"
    assert pace.token >= 0


def test_answers_without_a_time_of_their_first_token_show_no_pace():
    a_turn((" more", {"output_tokens": 20}))
    assert experience_read(project=project_default(), provider="openai", model="m").pace is None
