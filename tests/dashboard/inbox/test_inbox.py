"""The inbox: what a person has to decide, and what happened while nobody looked."""

import re
from datetime import timedelta

import pytest
from channels.db import database_sync_to_async
from django.template.loader import render_to_string
from django.test import Client
from django.utils import timezone

from dashboard.accounts.models import User
from dashboard.accounts.services import one_time_code_create
from dashboard.agents.selectors import project_default
from dashboard.inbox.models import Notice
from dashboard.inbox.selectors import Inbox, entry_of_notice, inbox_of
from dashboard.live.services import approvals_expire, turn_control, turn_start
from dashboard.timeline.services import turns_erase
from dashboard.turns.models import Turn
from tests.dashboard.driving import AgentOf, drive, driven
from tests.dashboard.live_sockets import dialled, everything
from tests.dashboard.pages import compact, page, text_of

pytestmark = pytest.mark.django_db(transaction=True)


def waiting(agent_of: AgentOf, **approvals: object) -> Turn:
    """A turn whose calls of the calculator wait for approval."""
    agent = agent_of("sim-tools", tools=["calculator"], approvals={"tools": ["calculator"], **approvals})
    return drive(turn_start(agent=agent, input_text="Count."))


def held(agent_of: AgentOf) -> Turn:
    agent = agent_of("sim-essay", breakpoints=[{"state": "evaluate_stop"}])
    return drive(turn_start(agent=agent, input_text="Hold this."))


def expired(agent_of: AgentOf, **approvals: object) -> Turn:
    """A turn whose approval's time is over, driven on from there."""
    turn = waiting(agent_of, seconds=600, **approvals)
    Turn.objects.filter(id=turn.id).update(started_at=timezone.now() - timedelta(hours=1))
    approvals_expire()
    return drive(turn)


@pytest.fixture
def operator(db: None) -> None:
    one_time_code_create()


def inbox() -> Inbox:
    return inbox_of(project_default())


def test_pending_approvals_and_held_turns_are_listed_by_expiry(agent_of: AgentOf):
    stopped, asking = held(agent_of), waiting(agent_of, seconds=600)
    found = inbox()
    assert [(entry.heading, entry.turn.id) for entry in found.entries] == [
        ("Approval needed", asking.id),
        ("Turn held", stopped.id),
    ]
    approval = found.entries[0].approval
    assert approval is not None
    assert approval.until is not None
    assert [call.name for call in approval.calls] == ["calculator", "calculator"]
    assert found.entries[1].told == "Held by a breakpoint before Whystop decides what the answer means."
    assert found.count == 2


def test_a_change_by_an_operator_keeps_the_time_and_reason_of_a_hold(agent_of: AgentOf):
    turn = held(agent_of)
    (before,) = inbox().entries
    turn_control(turn=turn, by="ada", action="change", limits={"max_continuations": 9})
    drive(turn)
    (after,) = inbox().entries
    assert after.turn.last_seq > before.turn.last_seq
    assert (after.key, after.since, after.told) == (before.key, before.since, before.told)


def test_a_second_hold_is_a_new_inbox_entry_and_notifies_again(agent_of: AgentOf):
    agent = agent_of("sim-essay", max_tokens=60, breakpoints=[{"state": "continue_pending"}])
    turn = drive(turn_start(agent=agent, input_text="Hold this twice."))
    (before,) = inbox().entries
    turn_control(turn=turn, by="ada", action="release")
    drive(turn)
    (after,) = inbox().entries
    assert (after.turn.id, after.kind) == (before.turn.id, before.kind)
    assert after.key != before.key


def test_the_second_decision_is_refused_with_the_turn_and_the_first_decision(agent_of: AgentOf, browser: Client):
    turn = waiting(agent_of)
    seen = {"expected_seq": turn.last_seq}
    turn_control(turn=turn, by="ada", action="release", **seen)
    from_inbox = {"HX-Request": "true", "HX-Target": "inbox-told"}
    answer = browser.post(f"/turns/{turn.id}/control", {"action": "refuse", **seen}, headers=from_inbox)
    undone = r"Your action on “Count\.” was not carried out\. ada approved these calls at \S+ UTC\. The turn is"
    assert re.search(undone, compact(text_of(answer.content.decode())))
    drive(turn)
    browser.post(f"/turns/{turn.id}/control", {"action": "refuse", **seen}, headers=from_inbox)
    told = text_of(page(browser, "/inbox/"))
    assert (
        "Your action on “Count.” was not carried out. This turn has ended already: it is completed. "
        "ada was first and approved these calls" in compact(told)
    )


def test_an_unreadable_turn_does_not_hide_others(agent_of: AgentOf):
    broken, other = held(agent_of), waiting(agent_of)
    Turn.objects.filter(id=broken.id).update(policy="no policy")
    told = {entry.turn.id: entry.told for entry in inbox().entries}
    assert told.keys() == {broken.id, other.id}
    assert told[broken.id] == "The reason for the hold cannot be read."


def test_a_decided_entry_is_no_longer_pending(agent_of: AgentOf):
    turn = waiting(agent_of)
    turn_control(turn=turn, by="ada", action="refuse")
    drive(turn)
    assert inbox().entries == ()


def test_the_decider_is_shown_in_place_of_the_entry(agent_of: AgentOf, browser: Client):
    turn_control(turn=waiting(agent_of), by="ada", action="refuse")
    told = text_of(page(browser, "/inbox/"))
    assert "Calls of calculator refused. By ada, " in told
    turn_control(turn=held(agent_of), by="bob", action="release")
    assert "By bob" not in page(browser, "/inbox/"), "nothing was decided"


@pytest.mark.parametrize(
    ("otherwise", "happened"),
    [
        ("refuse", "They were refused."),
        ("run", "They ran without approval."),
        ("cancel", "The turn was cancelled."),
    ],
)
def test_an_expired_approval_shows_its_result_until_acknowledged(
    agent_of: AgentOf, browser: Client, otherwise: str, happened: str
):
    turn = expired(agent_of, otherwise=otherwise)
    (entry,) = inbox().entries
    assert (entry.heading, entry.turn.id) == ("Approval expired", turn.id)
    assert entry.told == f"The approval time limit of the calls of calculator has expired. {happened}"
    page = browser.get("/inbox").content.decode()
    assert entry.told in page
    assert inbox().count == 1  # a page that was only listed is not one that somebody has seen
    answer = browser.post(f"/inbox/{entry.key}/seen", {"open": "1"})
    assert answer.headers["Location"] == f"/turns/{turn.id}"
    assert inbox().count == 0
    assert "Seen by operator" in browser.get("/inbox").content.decode()


def test_a_pushed_entry_opens_its_turn_without_a_form_of_the_page(agent_of: AgentOf, browser: Client):
    turn = expired(agent_of)
    notice = Notice.objects.get()
    answer = browser.post(f"/inbox/{notice.id}/seen", {"open": "1"}, headers={"HX-Request": "true"})
    assert answer.headers["HX-Redirect"] == f"/turns/{turn.id}"
    # What a socket pushes knows no session, so its forms go with the token of the page they come to.
    pushed = render_to_string("inbox/_entry.html", {"entry": entry_of_notice(notice)})
    assert pushed.count("hx-post=") == pushed.count("<form")


def test_the_first_user_to_acknowledge_a_notice_stays_named(agent_of: AgentOf, browser: Client):
    expired(agent_of)
    Notice.objects.update(seen_at=timezone.now(), seen_by="ada")
    browser.post(f"/inbox/{Notice.objects.get().id}/seen")
    assert Notice.objects.get().seen_by == "ada"


def test_a_missing_notice_is_404(browser: Client):
    assert browser.post("/inbox/00000000-0000-7000-8000-000000000000/seen").status_code == 404


def test_a_notice_is_deleted_with_its_turn(agent_of: AgentOf, browser: Client):
    turn = expired(agent_of)
    turns_erase(project=turn.project, chosen=[turn.id], by=User.objects.get(username="operator"))
    assert not Notice.objects.exists()


def test_a_held_turn_is_released_from_the_inbox(agent_of: AgentOf, browser: Client):
    turn = waiting(agent_of)
    page = browser.get("/inbox").content.decode()
    assert f'action="/turns/{turn.id}/control"' in page
    browser.post(f"/turns/{turn.id}/control", {"action": "release", "expected_seq": turn.last_seq})
    assert drive(turn).status == "completed"


async def test_the_badge_and_the_list_update_live(agent_of: AgentOf, operator: None):
    agent = await database_sync_to_async(agent_of)("sim-essay", breakpoints=[{"state": "evaluate_stop"}])
    async with dialled("/ws/inbox/?list") as socket:
        assert "Nothing is waiting" in (await everything(socket, until="Nothing is waiting"))[-1]
        turn = await database_sync_to_async(turn_start)(agent=agent, input_text="Hold this.")
        await driven(turn)
        pushed = (await everything(socket, until="Hold this."))[-1]
        assert 'data-count="1"' in pushed
        assert 'id="inbox"' in pushed
        await database_sync_to_async(turn_control)(turn=turn, by="ada", action="release")
        await driven(turn)
        assert 'data-count="0"' in (await everything(socket, until="Nothing is waiting"))[-1]
