"""What is shown of an answer that a turn is held on before it is judged."""

import pytest
from django.test import Client

from dashboard.live.services import turn_control, turn_start
from dashboard.turns.draft_answer import draft_shown
from dashboard.turns.history import position_of
from dashboard.turns.models import Turn
from dashboard.turns.turn_view import turn_view
from dashboard.turns.views import turn_context
from tests.dashboard.driving import AgentOf, drive
from tests.dashboard.pages import page

pytestmark = pytest.mark.django_db(transaction=True)

STOPS = [{"state": "evaluate_stop"}]


@pytest.fixture
def held(agent_of: AgentOf) -> Turn:
    """On its first answer, which was cut."""
    return drive(turn_start(agent=agent_of("sim-essay", max_tokens=60), input_text="hi", breakpoints=STOPS))


def test_an_answer_not_yet_judged_is_shown_where_it_streamed(browser: Client, held: Turn):
    said = position_of(held).snapshot.response.text
    draft = draft_shown(held, position_of(held).snapshot)
    assert (draft.text, draft.dropped, draft.held) == (said, "", True)
    html = page(browser, f"/turns/{held.id}")
    assert "Agents stop for reasons" in html
    assert html.count('id="draft"') == html.count("not evaluated yet") == 1
    assert 'class="caret"' not in html


def test_an_answer_that_continues_is_shown_after_its_predecessor(browser: Client, held: Turn):
    turn_control(turn=held, by="ada", action="release")
    drive(held)
    shown = turn_view(held)
    assert (held.status, shown.continues, shown.draft.attempt, shown.draft.held) == ("held", 1, 2, True)
    assert shown.draft.dropped
    html = page(browser, f"/turns/{held.id}")
    assert html.count('id="draft"') == 1
    assert html.index("not evaluated yet") > html.index('<del class="drop">') > html.index("Agents stop for reasons")


def test_a_page_read_during_a_running_turn_shows_one_consistent_state(held: Turn):
    """Once it was held and running at the same time, and its buttons sent a record before the one it showed."""
    earlier = Turn.objects.get(id=held.id)
    earlier.status, earlier.last_seq = "running", held.last_seq - 1
    now, then = turn_context(held), turn_context(earlier)
    assert (now["operating"].held_at, then["operating"].held_at) == ("evaluate_stop", "")
    assert (now["page"].shown.count, then["page"].shown.count) == (3, 1)


def test_the_legend_names_each_call_once_also_where_its_text_may_repeat_what_stands_before_it(agent_of: AgentOf):
    turn = drive(turn_start(agent=agent_of("sim-array", max_tokens=20), input_text="hi"))
    shown = turn_view(turn).shown
    assert any(piece.doubtful for passage in shown.transcript.passages for piece in passage.pieces)
    assert [words for _tint, words in shown.tinted] == ["1: initial", *(f"{n}: continuation" for n in (2, 3, 4))]
    assert shown.more_tinted == 0


@pytest.mark.parametrize("stop", ["continue_pending", "abort_partial"])
def test_a_judged_answer_is_the_answers_own_text(held: Turn, stop: str):
    turn_control(turn=held, by="ada", action="release", run_to=stop, breakpoints=[], limits={"max_continuations": 0})
    drive(held)
    assert (held.status, draft_shown(held, position_of(held).snapshot)) == ("held", None)


def test_a_blocked_answer_stays_withheld(agent_of: AgentOf, browser: Client):
    turn = drive(turn_start(agent=agent_of("sim-refuse"), input_text="hi", breakpoints=STOPS))
    assert turn.status == "held"
    assert draft_shown(turn, position_of(turn).snapshot) is None
    assert "not evaluated yet" not in page(browser, f"/turns/{turn.id}")


def test_an_approver_sees_the_complete_arguments_of_a_call(agent_of: AgentOf, browser: Client):
    agent = agent_of("sim-tools", tools=["calculator"], approvals={"tools": ["calculator"]})
    turn = drive(turn_start(agent=agent, input_text="Count.", breakpoints=[{"state": "evaluate_stop"}]))
    for long in ("1+" * 900 + "1", "1+" * 3000 + "1"):
        call = position_of(turn).snapshot.response.tool_calls[0].id
        turn_control(
            turn=turn, by="ada", action="change", tool_call={"call_id": call, "arguments": {"expression": long}}
        )
        drive(turn)
        html = page(browser, f"/turns/{turn.id}")
        assert (f"{long}&quot;" in html) == (len(long) < 4000)
        assert ("characters; all of them under" in html) == (len(long) > 4000)


def test_the_page_never_shows_the_specifications_sentence_about_errors(agent_of: AgentOf, browser: Client):
    agent = agent_of("sim-tools", tools=["calculator"], approvals={"tools": ["calculator"]})
    turn = drive(turn_start(agent=agent, input_text="Count."))
    assert "waiting for approval of calculator." in page(browser, f"/turns/{turn.id}")
    turn_control(turn=turn, by="ada", action="refuse")
    assert "ada refused the calls of calculator." in drive(turn).notice
    html = page(browser, f"/turns/{turn.id}")
    assert "consecutive failures (max" not in html
    assert "ada refused the calls of calculator, and tool errors stop the turn." in html


def test_an_error_with_too_long_a_retry_wait_is_shown_in_plain_words(
    agent_of: AgentOf, browser: Client, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("dashboard.simulator.model_table._RETRY_AFTER", 3_600)
    turn = drive(turn_start(agent=agent_of("sim-flaky"), input_text="hi"))
    assert "consecutive failures (max: 0)" in turn.error_message, "what is stored stays as it is"
    answer = page(browser, f"/turns/{turn.id}").split('id="answer"')[1].split("</section>")[0]
    assert "Not retried: the provider asks to wait 3,600 s, longer than a retry may wait." in answer.replace(
        "\u00a0", " "
    )
    assert "consecutive failures" not in answer
