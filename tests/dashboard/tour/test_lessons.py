"""Each lesson, run on the real simulator, is what its sentence says."""

import asyncio
from collections import Counter
from collections.abc import Iterable

from dashboard.agents.models import Project
from dashboard.tour import services
from dashboard.tour.lessons import LESSONS
from dashboard.tour.selectors import tour_of, turns_of_tour
from dashboard.turns.models import Turn
from tests.dashboard.driving import driven

#: How each lesson's turn ends: its status, why the model and the agent stopped, its calls, and the limit that ended it.
ENDS = {
    "continued": ("completed", "end_turn", "completed", 3, None),
    "gave-up": ("partial", "max_tokens", "retry_limit", 4, "max_continuations"),
    "one-call": ("completed", "end_turn", "completed", 1, None),
    "not-continued": ("partial", "max_tokens", "retry_limit", 1, "max_continuations"),
    "whole-calls": ("completed", "end_turn", "completed", 2, None),
    "cut-call": ("completed", "end_turn", "completed", 3, None),
    "cut-call-refused": ("partial", "max_tokens", "retry_limit", 1, "max_tool_repair_attempts"),
    "mislabelled-call": ("completed", "end_turn", "completed", 3, None),
    "malformed-call": ("completed", "end_turn", "completed", 3, None),
    "endless": ("partial", "max_tokens", "retry_limit", 4, "max_continuations"),
    "limit-tokens": ("partial", "max_tokens", "token_limit", 3, "max_total_completion_tokens"),
    "limit-characters": ("partial", "max_tokens", "guard", 3, "max_total_output_chars"),
    "limit-time": ("partial", "max_tokens", "time_limit", None, "max_seconds"),
    "limit-steps": ("partial", "tool_call", "steps_limit", 1, "max_steps"),
    "filtered": ("aborted", "safety_blocked", "finish_reason", 1, None),
    "refusal": ("aborted", "safety_blocked", "finish_reason", 1, None),
    "blocked": ("aborted", "safety_blocked", "finish_reason", 1, None),
    "rate-limit": ("failed", None, "error", 1, None),
    "rate-limit-retried": ("completed", "end_turn", "completed", 2, None),
    "rate-limit-for-good": ("failed", None, "retry_limit", 2, "max_retries"),
    "server-error": ("failed", None, "error", 1, None),
    "broken-off": ("partial", "unknown", "error", 1, None),
    "not-an-api": ("failed", None, "error", 1, None),
    "unknown-word": ("completed", "unknown", "completed", 1, None),
    "no-word": ("completed", "unknown", "completed", 1, None),
    "context-full": ("aborted", "context_window_exceeded", "finish_reason", 1, None),
    "json": ("completed", "end_turn", "completed", 1, None),
    "json-in-prose": ("completed", "end_turn", "completed", 1, None),
    "json-violated": ("completed", "end_turn", "completed", 2, None),
    "json-cut": ("completed", "end_turn", "completed", 3, None),
    "replayed": ("completed", "end_turn", "completed", 1, None),
    "forked": ("completed", "end_turn", "completed", 1, None),
}
MOST_WORDS = 18  #: of a lesson, which is read beside what it is about
REPAIRED = {"cut-call", "mislabelled-call", "malformed-call"}  #: tool calls that were asked for again
CHECKED = {"json-violated": 1, "json-cut": 2}  #: envelope retries


def ending(key: str, turn: Turn) -> tuple[object, ...]:
    calls = None if key == "limit-time" else turn.attempts  # as many as the machine makes in that time
    return turn.status, turn.model_stop_reason, turn.stop_reason, calls, turn.resource


async def all_driven(turns: Iterable[Turn]) -> None:
    await asyncio.gather(*map(driven, turns))


def test_each_lesson_matches_its_sentence_and_its_re_run_starts_after_the_original(project: Project):
    services.tour_load(project=project)
    assert services.tour_go_on(project=project), "the re-runs wait"
    asyncio.run(all_driven(turns_of_tour(project).values()))
    assert not services.tour_go_on(project=project)
    asyncio.run(all_driven(turn for turn in turns_of_tour(project).values() if turn.parent_id))
    turns = turns_of_tour(project)
    assert {key: ending(key, turn) for key, turn in turns.items()} == ENDS
    assert {key for key, turn in turns.items() if turn.tool_repairs} == REPAIRED
    assert {key: turn.envelope_retries for key, turn in turns.items() if turn.envelope_retries} == CHECKED
    assert turns["replayed"].parent_id == turns["forked"].parent_id == turns["gave-up"].id
    assert turns["forked"].forked_at == 2
    assert turns["forked"].output_text.startswith(turns["gave-up"].output_text[:150]), "the first part is kept"
    tour = tour_of(project)
    assert (tour.loaded, tour.ended, tour.missing, tour.under_way) == (len(LESSONS), len(LESSONS), 0, False)


def test_lessons_have_unique_names_and_prompts():
    assert max(Counter(lesson.key for lesson in LESSONS).values()) == 1
    assert max(Counter(lesson.title for lesson in LESSONS).values()) == 1
    assert all(lesson.after in ENDS for lesson in LESSONS if lesson.after)


def test_a_lesson_calls_limits_by_their_names_and_not_by_their_keys():
    assert [lesson.says for lesson in LESSONS if "_" in lesson.says] == []


def test_a_lesson_is_short():
    assert {lesson.key: lesson.says for lesson in LESSONS if len(lesson.says.split()) > MOST_WORDS} == {}
