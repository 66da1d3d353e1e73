"""Any two turns, side by side."""

from uuid import uuid4

import pytest
from django.test import Client

from dashboard.live.services import turn_start
from dashboard.replay.comparison.selectors import named_turn
from dashboard.replay.rerun_service import turn_rerun
from dashboard.turns.models import Turn
from tests.dashboard.driving import AgentOf, Play, drive
from tests.dashboard.pages import page
from tests.together import together

pytestmark = pytest.mark.django_db(transaction=True)

SCRIPT = "<script>alert(1)</script>"


@pytest.fixture
def cut(play: Play) -> Turn:
    return play("sim-essay", max_tokens=60)


@pytest.fixture
def whole(cut: Turn) -> Turn:
    return drive(turn_rerun(turn=cut, overrides={"max_tokens": 400}))


def section(html: str, name: str) -> str:
    return html[html.index(f'id="{name}-title"') :].split("</section>", maxsplit=1)[0]


def test_policy_path_answer_and_numbers_are_shown_side_by_side(browser: Client, cut: Turn, whole: Turn):
    html = page(browser, f"/compare?left={cut.id}&right={whole.id}")
    asked = section(html, "asked")
    assert asked.index(">max_tokens<") < asked.index("fields</b>" if "fields</b>" in asked else "the same")
    assert '<span class="value">60</span>' in asked
    assert '<span class="value">400</span>' in asked
    assert "First divergence" in section(html, "path")
    assert "<ins>" in section(html, "answers")
    assert "<del>" not in section(html, "answers").split("</h2>")[1]
    assert "−3" in section(html, "figures")


def test_a_turn_compared_with_itself_has_no_difference(browser: Client, cut: Turn):
    html = page(browser, f"/compare?left={cut.id}&right={cut.id}")
    assert "The same answer, word for word." in html
    assert "Both turns took the same transitions" in html
    assert "Both turns had the same request" in html


def test_the_offered_turns_are_the_family_and_those_with_the_same_prompt(browser: Client, cut: Turn, whole: Turn):
    again = drive(turn_start(agent=cut.agent, input_text=cut.input_text))
    unrelated = drive(turn_start(agent=cut.agent, input_text="Something else."))
    html = page(browser, f"/compare?left={cut.id}")
    assert (
        html.index("Its re-runs") < html.index(str(whole.id)) < html.index("Same request") < html.index(str(again.id))
    )
    assert str(unrelated.id) not in html
    assert "The original turn" in page(browser, f"/compare?left={whole.id}")
    assert f"left={cut.id}&amp;right={again.id}" in page(browser, f"/compare?right={cut.id}")


def test_each_offered_turn_is_listed_once_and_a_fork_counts_its_own_calls(browser: Client, cut: Turn, whole: Turn):
    fork = drive(turn_rerun(turn=cut, overrides={"max_tokens": 400}, from_record=2))
    html = page(browser, f"/compare?left={whole.id}")
    for other in (cut, fork):
        assert html.count(f"right={other.id}") + html.count(f"left={other.id}") == 1
    assert fork.attempts == 1
    assert html.count("</b>\u00a0call of its own") == 1


def test_a_turn_is_given_by_its_id_or_any_of_its_urls(browser: Client, cut: Turn, whole: Turn):
    for text in (
        str(whole.id),
        whole.id.hex,
        f" http://elsewhere/turns/{whole.id}/replay?x=1#t3 ",
        str(whole.id).upper(),
    ):
        assert named_turn(text) == whole.id
        response = browser.get("/compare", {"left": str(cut.id), "right": text})
        assert "Two turns compared" in response.content.decode()


@together
@pytest.mark.parametrize("text", [SCRIPT, "0", "x" * 10_000, "\x00", "-" * 36])
def test_an_input_that_is_not_a_turn_is_reported_beside_the_field(browser: Client, cut: Turn, text: str):
    response = browser.get("/compare", {"left": str(cut.id), "right": text})
    assert response.status_code == 404
    html = response.content.decode()
    assert "is not a turn" in html
    assert SCRIPT not in html


def test_a_deleted_turn_is_reported(browser: Client, cut: Turn):
    response = browser.get("/compare", {"left": str(cut.id), "right": str(uuid4())})
    assert response.status_code == 404
    assert "There is no turn" in response.content.decode()


def test_without_turns_the_page_asks_for_two(browser: Client, db: None):
    html = page(browser, "/compare")
    assert 'name="left"' in html
    assert 'name="right"' in html


def test_markup_and_unusual_characters_are_rendered_as_text(browser: Client, agent_of: AgentOf):
    agent = agent_of("sim-script")
    one, other = (drive(turn_start(agent=agent, input_text=f"{SCRIPT} שלום 👩‍👩‍👧 {n} " * 20)) for n in range(2))
    html = page(browser, f"/compare?left={one.id}&right={other.id}")
    assert SCRIPT not in html
    assert 'dir="auto"' in html
    assert "👩‍👩‍👧" in html


def test_the_longest_answers_are_compared_word_by_word(browser: Client, cut: Turn, whole: Turn):
    text = " ".join(f"word{n % 700}" for n in range(16_000))[:120_000]
    Turn.objects.filter(pk=cut.id).update(output_text=text)
    Turn.objects.filter(pk=whole.id).update(output_text=text.replace("word69 ", "other "))
    answers = section(page(browser, f"/compare?left={cut.id}&right={whole.id}"), "answers")
    assert answers.count("<ins") == 1 + text.count("word69 ")  # the legend has one


def test_a_fork_is_compared_with_its_parent_from_its_fork_point(browser: Client, cut: Turn):
    fork = drive(turn_rerun(turn=cut, overrides={"limits": {"max_continuations": 9}}, from_record=2))
    path = section(page(browser, f"/compare?left={cut.id}&right={fork.id}"), "path")
    assert "before the fork; B starts after it" in path
    path = section(page(browser, f"/compare?left={fork.id}&right={cut.id}"), "path")
    assert "before the fork; A starts after it" in path


def test_held_time_is_not_part_of_the_duration(browser: Client, cut: Turn, whole: Turn):
    Turn.objects.filter(id=cut.id).update(duration_ms=65_000, held_ms=60_000)
    assert "5.00\u202fs" in page(browser, f"/compare?left={cut.id}&right={whole.id}").split("took")[-1][:200]
