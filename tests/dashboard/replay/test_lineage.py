"""The family of a turn: ancestors and descendants, with what each says otherwise."""

import re

import pytest
from django.test import Client

from dashboard.replay.lineage import changes, lineage_of
from dashboard.replay.rerun_changes import RerunChanges
from dashboard.replay.rerun_service import turn_rerun
from dashboard.turns.models import Turn
from tests.dashboard.driving import Play, drive
from tests.dashboard.pages import page

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def cut(play: Play) -> Turn:
    return play("sim-essay", overrides={"max_tokens": 60})


def test_a_single_turn_has_no_family(cut: Turn):
    assert lineage_of(cut) is None


def test_the_family_is_the_same_seen_from_every_member(cut: Turn):
    child = turn_rerun(turn=cut, overrides={"max_tokens": 80})
    grandchild = turn_rerun(turn=child, overrides={"limits": {"max_continuations": 9}})
    other = turn_rerun(turn=cut, overrides={})
    for looked_at in (cut, child, grandchild, other):
        family = lineage_of(looked_at)
        assert family is not None
        assert (family.root.turn.id, family.count) == (cut.id, 4)
        assert [member.turn.id for member in family.root.children] == [child.id, other.id]
        assert [member.turn.id for member in family.root.children[0].children] == [grandchild.id]


def test_the_changes_of_each_member_are_described(cut: Turn):
    words = RerunChanges(messages={1: "And people?"}, breakpoints=[{"state": "continue_pending"}])
    overrides = {
        "max_tokens": 80,
        "limits": {"max_continuations": 9, "max_total_tokens": 5_000, "max_seconds": 90},
        "error_policy": {"on_model_error": "retry", "max_retries": 2},
        "tool_calls_on_truncation": "repair",
        "system_prompt": "Be brief.",
        "model": "sim-odd",
    }
    child = turn_rerun(turn=cut, overrides=overrides, words=words)
    assert list(changes(child, cut)) == [
        "Max tokens per call 60 → 80",
        "Max continuations 3 → 9",
        "Max tokens per turn none → 5,000",
        "Time limit none → 90 s",
        "Max failures in a row 0 → 2",
        "On model error stop → retry",
        "Tool calls of a truncated answer execute if complete → repair",
        "model sim-essay → sim-odd",
        "new system prompt",
        "message 1 rewritten",
        "1 breakpoint",
    ]


def test_fifty_descendants_are_shown_in_few_queries(browser: Client, cut: Turn, django_assert_max_num_queries):
    turn = cut
    for n in range(50):
        turn = turn_rerun(turn=cut if n % 3 == 0 else turn, overrides={"max_tokens": 61 + n})
    with django_assert_max_num_queries(4):
        family = lineage_of(turn)
    assert family is not None
    assert family.count == 51
    html = page(browser, f"/turns/{cut.id}/replay")
    assert html.count('class="member"') == 51


def test_the_fork_point_and_the_ending_are_shown_on_the_page(browser: Client, cut: Turn):
    child = drive(turn_rerun(turn=cut, overrides={"max_tokens": 400}, from_record=2))
    html = page(browser, f"/turns/{cut.id}/replay")
    assert "from record 2 of the original" in html
    assert "Max tokens per call 60 → 400" in html
    assert f"rerun={child.id}" in html
    assert 'aria-current="page"' in html


def test_a_rerun_of_a_rerun_names_the_one_it_started_from(browser: Client, cut: Turn):
    child = drive(turn_rerun(turn=cut, overrides={"max_tokens": 70}))
    turn_rerun(turn=child, overrides={"max_tokens": 400}, from_record=2)
    html = " ".join(re.sub("<[^>]+>", "", page(browser, f"/turns/{cut.id}/replay")).split())
    assert f"from record 2 of re-run {str(child.id)[:13]}…: Max tokens per call 70 → 400" in html
