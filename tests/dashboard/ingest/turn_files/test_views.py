"""Importing by page, and what the pages say about it."""

import json

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from dashboard.live.services import turn_start
from dashboard.turns.models import Turn
from tests.dashboard.driving import AgentOf, Play, drive
from tests.dashboard.ingest.logs import test_aider
from tests.dashboard.ingest.turn_files.test_services import brought, changed, erase, exported
from tests.dashboard.pages import page

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("imports_here")]

SCRIPT = "<script>alert(1)</script>"


@pytest.fixture
def cut(play: Play) -> Turn:
    return play("sim-essay", max_tokens=60)


def sent(browser: Client, content: bytes, **more: str):
    return browser.post("/import", {"file": SimpleUploadedFile("turn.json", content), **more}, follow=True)


def test_an_uploaded_file_becomes_a_turn_whose_page_opens(browser: Client, cut: Turn):
    text = browser.get(f"/api/v1/turns/{cut.id}/export")
    assert text["Content-Disposition"] == f'attachment; filename="turn-{cut.id}.json"'
    erase(cut)
    response = sent(browser, text.content)
    html = response.content.decode()
    assert response.redirect_chain == [(f"/turns/{cut.id}", 302)]
    assert "Imported; replay verified." in html
    assert "Replay verified" in html
    assert "already exists here" in sent(browser, text.content).content.decode()


def test_a_fault_of_a_file_is_shown_on_the_page_and_escaped(browser: Client, cut: Turn):
    file = changed(exported(cut), "turn", "records", 1, "event", to={"type": SCRIPT})
    response = sent(browser, json.dumps(file).encode())
    assert response.status_code == 422
    html = response.content.decode()
    assert "Nothing was imported." in html
    assert "turn.records.1.event" in html
    assert SCRIPT not in html


def test_a_form_without_a_file_is_reported(browser: Client, db: None):
    assert "Choose a file first." in browser.post("/import").content.decode()


def test_every_text_of_a_foreign_turn_is_rendered_as_text(browser: Client, agent_of: AgentOf):
    turn = drive(turn_start(agent=agent_of("sim-script"), input_text=SCRIPT))
    file = changed(exported(turn), "turn", "agent", to=SCRIPT)
    said = {"transition": 1, "author": SCRIPT, "text": SCRIPT, "created_at": file["exported_at"], "edited_at": None}
    file["notes"]["comments"] = [said]
    for attempt in file["turn"]["attempts"]:
        attempt |= {"model": SCRIPT, "content_type": SCRIPT, "request_url": SCRIPT, "raw_stop_reason": SCRIPT}
        attempt |= {"stop_reason": SCRIPT, "error": {"kind": SCRIPT, "message": SCRIPT}}
    file = changed(file, "turn", "records", 0, "observed", to=[{"type": SCRIPT}])
    made = sent(browser, json.dumps(file).encode(), unverified="on")
    address = made.redirect_chain[0][0]
    other = Turn.objects.exclude(pk=turn.id).get()
    for place in ("", "/replay", "/share", "/attempts/1/raw"):
        assert SCRIPT not in page(browser, f"{address}{place}")
    assert SCRIPT not in page(browser, f"/compare?left={turn.id}&right={other.id}")
    assert SCRIPT not in page(browser, f"/compare?left={other.id}")


def test_the_page_names_each_supported_coding_agent_and_accepts_aiders_files(browser: Client):
    told = page(browser, "/import")
    assert all(name in told for name in ("Aider", "Cursor", ".claude", ".codex", ".gemini", ".pi", "opencode"))
    assert ".md," in told, "so that the browser offers the file"
    file = SimpleUploadedFile(".aider.chat.history.md", test_aider.HISTORY.encode())
    assert browser.post("/import", {"file": file}, follow=True).status_code == 200
    assert Turn.objects.count() == 2


def test_the_pages_respect_the_content_security_policy(browser: Client, cut: Turn):
    assert "data-drop" in page(browser, "/import")
    assert "data-drop" in page(browser, "/")
    assert f'href="/api/v1/turns/{cut.id}/export"' in page(browser, f"/turns/{cut.id}")


def test_a_page_shows_surrogate_halves_as_invalid_characters(browser: Client, cut: Turn):
    place = ("turn", "records", 1, "event", "response", "text")
    turn = brought(changed(exported(cut), *place, to="half \ud800 of one"), unverified=True).turn
    for address in ("", "/replay", "/transcript"):
        answer = browser.get(f"/turns/{turn.id}{address}")
        assert answer.status_code == 200
        assert "half \ufffd of one" in answer.content.decode()
