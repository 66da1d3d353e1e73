"""The page of a conversation, without a socket."""

import re

import pytest
from django.test import Client

from dashboard.live.conversations.page_context import SHOWN
from dashboard.live.conversations.services import budget_set
from dashboard.turns.conversations.models import Conversation
from dashboard.turns.models import Turn
from tests.dashboard.driving import AgentOf, Play, drive
from tests.dashboard.live.conversations.conftest import Say
from tests.dashboard.pages import HTMX, compact, page, text_of

pytestmark = pytest.mark.django_db(transaction=True)
NOWHERE = "01890000-0000-7000-8000-000000000000"


def test_without_agents_the_page_says_how_to_create_one(browser: Client):
    assert "No agents yet" in page(browser, "/live/")


def test_the_agents_can_be_selected(browser: Client, agent_of: AgentOf):
    agent_of("sim-essay", max_tokens=1500)
    html = page(browser, "/live")
    assert 'href="/agents/sim-essay/live"' in html
    assert "1,500 tokens per call" in text_of(html)


def test_a_missing_agent_is_404(browser: Client):
    assert browser.get("/agents/nobody/live").status_code == 404


def test_the_first_prompt_starts_a_conversation_and_shows_its_turn_live(browser: Client, agent_of: AgentOf):
    agent_of("sim-essay")
    given = {"input": "Tell me.", "max_tokens": "60", "token_budget": "900"}
    response = browser.post("/agents/sim-essay/live", given, headers=HTMX)
    turn, conversation = Turn.objects.get(), Conversation.objects.get()
    assert (turn.input_text, turn.max_tokens, turn.conversation) == ("Tell me.", 60, conversation)
    assert (conversation.title, conversation.token_budget) == ("Tell me.", 900)
    assert response["HX-Push-Url"] == f"/agents/sim-essay/live?conversation={conversation.id}"
    html = response.content.decode()
    assert f'ws-connect="/ws/turns/{turn.id}/' in html
    assert f'name="conversation" value="{conversation.id}"' in html


def test_without_scripts_sending_leads_to_the_conversation(browser: Client, say: Say, conversation: Conversation):
    drive(say("One?"))
    address = f"/agents/sim-essay/live?conversation={conversation.id}"
    given = {"input": "Two?", "conversation": str(conversation.id)}
    response = browser.post("/agents/sim-essay/live", given, follow=True)
    assert response.redirect_chain == [(address, 302)]
    assert Turn.objects.get(position=2).conversation == conversation
    assert "<h1>One?</h1>" in compact(response.content.decode())


def test_the_page_shows_earlier_turns_in_short_and_the_newest_in_full(
    browser: Client, say: Say, conversation: Conversation
):
    first, second = drive(say("One?")), drive(say("Two?"))
    html = page(browser, f"/agents/sim-essay/live?conversation={conversation.id}")
    transcript, newest = html.split('id="newest"')
    assert 'id="asked-1"' in transcript
    assert f'href="/turns/{first.id}"' in transcript
    assert 'id="machine"' in newest
    assert f'data-address="/turns/{second.id}"' in newest
    assert f'<b data-count="used">{first.tokens + second.tokens:,}</b> tokens used, no budget' in html
    counted = f'data-used="{first.tokens + second.tokens}" data-others="{first.tokens}"'
    assert f'data-newest="{second.id}" {counted}' in compact(html)


def test_a_queued_prompt_shows_its_position_and_can_be_withdrawn(browser: Client, say: Say, conversation: Conversation):
    say("One?")
    second, _ = say("Two?"), say("Three?")
    html = page(browser, f"/agents/sim-essay/live?conversation={conversation.id}")
    assert "Next, after “One?” has ended." in html
    assert "Number 2 in the queue." in html
    assert browser.post(f"/turns/{second.id}/cancel", headers=HTMX).status_code == 204
    assert Turn.objects.get(pk=second.pk).status == "cancelled"
    html = page(browser, f"/agents/sim-essay/live?conversation={conversation.id}")
    assert "It was waiting in the queue" in html
    assert "Number 2 in the queue." not in html


def test_a_long_conversation_shows_its_last_turns_and_links_to_earlier_ones(
    browser: Client, say: Say, conversation: Conversation
):
    for _ in range(SHOWN + 3):
        turn = say("Again?", overrides={"max_tokens": 5})
        Turn.objects.filter(pk=turn.pk).update(status="completed", last_seq=3, stop_reason="completed")
    address = f"/agents/sim-essay/live?conversation={conversation.id}"
    html = page(browser, address)
    assert 'id="asked-2"' not in html
    assert 'id="asked-3"' in html
    assert "<b>2</b>\u00a0turns before these" in html
    html = page(browser, f"{address}&from=1")
    assert 'id="asked-1"' in html
    assert "before these" not in html


@pytest.mark.parametrize("name", ["conversation", "turn", "from"])
@pytest.mark.parametrize("wanted", ["nonsense", NOWHERE, "-1", "", "9" * 400])
def test_a_url_without_a_conversation_shows_a_new_one(browser: Client, agent_of: AgentOf, name: str, wanted: str):
    agent_of("sim-essay")
    html = page(browser, f"/agents/sim-essay/live?{name}={wanted}")
    assert "No messages yet" in html
    assert re.search(r"<h1>\s*<span class=.acts.>Talk to</span>\s*sim-essay\s*</h1>", html)


def test_the_conversation_of_another_agent_is_not_shown_here(
    browser: Client, say: Say, agent_of: AgentOf, conversation: Conversation
):
    say("One?")
    agent_of("sim-refuse")
    assert "No messages yet" in page(browser, f"/agents/sim-refuse/live?conversation={conversation.id}")
    given = {"input": "Two?", "conversation": str(conversation.id)}
    refused = browser.post("/agents/sim-refuse/live", given)
    assert refused.status_code == 422
    assert "This conversation no longer exists" in refused.content.decode()


def test_a_turn_outside_a_conversation_is_shown_alone_and_otherwise_within_it(
    browser: Client, play: Play, agent_of: AgentOf
):
    alone = play("sim-essay", max_tokens=60)
    html = page(browser, f"/agents/sim-essay/live?turn={alone.id}")
    assert f'data-address="/turns/{alone.id}"' in html
    assert 'name="conversation"' not in html
    browser.post("/agents/sim-essay/live", {"input": "Together."})
    within = Turn.objects.exclude(pk=alone.pk).get()
    assert 'name="conversation"' in page(browser, f"/agents/sim-essay/live?turn={within.id}")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"input": "  \n"}, "Prompt is required."),
        ({"input": ""}, "Prompt is required."),
        ({"input": "Kept.", "max_tokens": "0"}, "Max tokens per call must be a whole number from 1 to 10,000,000."),
        ({"input": "Kept.", "max_tokens": "99999999999"}, "must be a whole number from 1 to 10,000,000."),
        ({"input": "Kept.", "max_tokens": "many"}, "must be a whole number"),
        ({"input": "Kept.", "token_budget": "0"}, "from 1 to 10,000,000,000"),
        ({"input": "Kept.", "token_budget": "much"}, "must be a whole number"),
    ],
)
def test_an_unsendable_prompt_is_reported_beside_its_field_and_kept(browser: Client, agent_of: AgentOf, given, words):
    agent_of("sim-essay")
    by_htmx = browser.post("/agents/sim-essay/live", given, headers=HTMX)
    assert by_htmx["HX-Retarget"] == "#composer"
    plain = browser.post("/agents/sim-essay/live", given)
    assert plain.status_code == 422
    for html in (by_htmx.content.decode(), plain.content.decode()):
        assert words in html
        assert given["input"].strip() in html
    assert not Turn.objects.exists()
    assert not Conversation.objects.exists()


def test_an_exhausted_budget_is_reported_beside_the_prompt_and_can_be_raised_on_the_page(
    browser: Client, say: Say, conversation: Conversation
):
    first = drive(say("One?"))
    budget_set(conversation=conversation, token_budget=first.tokens)
    given = {"input": "Two?", "conversation": str(conversation.id)}
    refused = browser.post("/agents/sim-essay/live", given).content.decode()
    assert "tokens is used up. Raise it above" in refused
    assert "used up</span>" in refused
    address = f"/conversations/{conversation.id}/budget"
    assert browser.post(address, {"token_budget": "90000"}).status_code == 302
    assert browser.post("/agents/sim-essay/live", given).status_code == 302


@pytest.mark.parametrize(
    ("given", "words"), [("1", "are already used"), ("x", "must be a whole number"), ("-4", "from 1 to")]
)
def test_an_invalid_budget_is_refused_with_an_explanation(
    browser: Client, say: Say, conversation: Conversation, given: str, words: str
):
    drive(say("One?"))
    response = browser.post(f"/conversations/{conversation.id}/budget", {"token_budget": given}, follow=True)
    assert words in response.content.decode()


def test_the_budget_of_a_missing_conversation_is_404(browser: Client):
    assert browser.post(f"/conversations/{NOWHERE}/budget").status_code == 404
