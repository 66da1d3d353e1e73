"""A link opens one turn to whoever has it, as long as it works, and nothing else to anyone."""

import re
from dataclasses import replace
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from agentcore.replay import Certainty
from dashboard.accounts.credentials import digest_of
from dashboard.exports.share_links import views
from dashboard.exports.share_links.models import ShareLink
from dashboard.exports.share_links.views import WRONG_TOKENS
from dashboard.live.services import approvals_expire, turn_start
from dashboard.policies.suggestions import limit_usage
from dashboard.policies.suggestions.selectors import LEAST, suggestion_for
from dashboard.policies.suggestions.suggestion import Basis
from dashboard.policies.suggestions.suggestion_text import sentence
from dashboard.replay.rerun_service import turn_rerun
from dashboard.turns.models import Turn
from tests.dashboard.driving import AgentOf, Play, drive
from tests.dashboard.pages import compact, page, read, text_of
from tests.dashboard.policies.suggestions.test_selectors import lengths

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def reset_failure_counts() -> None:
    WRONG_TOKENS.forget("127.0.0.1")


@pytest.fixture
def cut(play: Play) -> Turn:
    return play("sim-essay", max_tokens=60)


def made(browser: Client, turn: Turn, **form: str) -> str:
    """The path of a new link, as the page shows it once."""
    html = browser.post(f"/turns/{turn.id}/share", {"lifetime": "1d", **form}).content.decode()
    found = re.search(r'value="http://testserver(/share/[\w-]{43})"', html)
    assert found, html
    return found[1]


def test_a_link_opens_the_turn_without_sign_in(browser: Client, cut: Turn):
    path = made(browser, cut)
    response = Client().get(path)
    html = response.content.decode()
    assert response.status_code == 200
    assert "Cut off 4 times by Max tokens per call" in html or "Cut off" in html
    assert "Why do agents stop?" in html
    assert (response["Referrer-Policy"], response["Cache-Control"]) == ("no-referrer", "no-store, private")
    assert "noindex" in response["X-Robots-Tag"]
    found = read(html)
    assert found.inline == []
    assert len(found.ids) == len(set(found.ids))


@pytest.mark.parametrize("form", [{}, {"redacted": "on"}])
def test_the_limit_is_that_of_the_turns_own_page(browser: Client, cut: Turn, form: dict[str, str]):
    drive(turn_rerun(turn=cut, overrides={"max_tokens": 2_000}))
    said = suggestion_for(cut)
    assert said is not None
    assert said.basis is Basis.RERUN
    shown = text_of(Client().get(made(browser, cut, **form)).content.decode())
    assert sentence(said) in shown
    assert "Re-run live" not in shown, "readers cannot"


@pytest.mark.parametrize("form", [{}, {"redacted": "on"}])
def test_a_limit_that_is_only_likely_is_called_so(
    browser: Client, cut: Turn, form: dict[str, str], monkeypatch: pytest.MonkeyPatch
):
    drive(turn_rerun(turn=cut, overrides={"max_tokens": 2_000}))
    proven = suggestion_for(cut)
    assert proven is not None
    likely = replace(proven, basis=Basis.RECORDING, certainty=Certainty.ESTIMATED)
    monkeypatch.setattr(views, "suggestion_lately", lambda *_, **__: likely)
    shown = text_of(Client().get(made(browser, cut, **form)).content.decode())
    assert "the turn would likely have finished." in shown


@pytest.mark.parametrize("form", [{}, {"redacted": "on"}])
def test_the_limit_is_shown_once(browser: Client, cut: Turn, form: dict[str, str]):
    drive(turn_rerun(turn=cut, overrides={"max_tokens": 2_000}))
    html = Client().get(made(browser, cut, **form)).content.decode()
    (verdict,) = re.findall(r'<p class="verdict">(.*?)</p>', html, re.DOTALL)
    assert "the turn finished." in text_of(verdict)
    assert "it would have continued" not in text_of(verdict), "the answer without a number, before one was known"


@pytest.mark.parametrize("form", [{}, {"redacted": "on"}])
def test_a_limit_that_is_not_known_is_named_as_on_the_turns_own_page(browser: Client, play: Play, form: dict[str, str]):
    """Only the continuations would have gone on: the number of interest is that of the tokens."""
    turn = play("sim-essay", max_tokens=60, overrides={"limits": {"max_continuations": 0}})
    told = "How large Max tokens per call (max_tokens) must be for this turn is not known yet."
    assert told in text_of(page(browser, f"/turns/{turn.id}"))
    shown = text_of(Client().get(made(browser, turn, **form)).content.decode())
    assert f"{told} {views.ALONE}" in shown
    assert "With 1 continuation" not in shown, "another answer than the turn's own page has"


@pytest.mark.parametrize("form", [{}, {"redacted": "on"}])
def test_what_an_approval_waited_is_shown_as_on_the_turns_own_page(
    browser: Client, agent_of: AgentOf, form: dict[str, str]
):
    agent = agent_of("sim-tools", tools=["calculator"], approvals={"tools": ["calculator"], "seconds": 600})
    turn = drive(turn_start(agent=agent, input_text="Count."))
    Turn.objects.filter(id=turn.id).update(started_at=timezone.now() - timedelta(hours=1))
    approvals_expire()
    drive(turn)
    shown = text_of(Client().get(made(browser, turn, **form)).content.decode())
    assert "With a higher approval time limit (approvals.seconds), the turn would have waited longer." in shown
    assert views.ALONE not in shown


@pytest.mark.parametrize("form", [{}, {"redacted": "on"}])
def test_other_turns_are_neither_shown_nor_searched(
    browser: Client, cut: Turn, form: dict[str, str], monkeypatch: pytest.MonkeyPatch
):
    lengths(cut, [320] * 2 * LEAST)
    path = made(browser, cut, **form)
    searched, as_ever = [], limit_usage.lengths_of
    monkeypatch.setattr(limit_usage, "lengths_of", lambda **asked: searched.append(asked) or as_ever(**asked))
    shown = text_of(Client().get(path).content.decode())
    assert "With Max tokens per call at 320" not in shown
    assert "answers longer than" not in shown
    assert not searched


def test_a_redacted_link_omits_what_a_re_run_used(browser: Client, cut: Turn):
    drive(turn_rerun(turn=cut, overrides={"max_tokens": 2_000}))
    assert "A live re-run" in text_of(Client().get(made(browser, cut)).content.decode())
    assert "A live re-run" not in text_of(Client().get(made(browser, cut, redacted="on")).content.decode())


@pytest.mark.parametrize("form", [{}, {"redacted": "on"}])
def test_the_page_has_no_links_and_makes_no_requests(browser: Client, cut: Turn, form: dict[str, str]):
    html = compact(Client().get(made(browser, cut, **form)).content.decode())
    links = set(re.findall(r'(?:href|src|action)="([^"]*)"', html))
    assert all(link.startswith(("/static/", "#t", "#shape-", "?step=")) for link in links), links
    assert not re.search(r"hx-|ws-connect|csrf|/turns/|<input type=\"(?!range|checkbox\" id=\"keys-on\")", html)
    assert {re.sub(' (class|aria-label)="[^"]*"', "", form) for form in re.findall("<form[^>]*>", html)} == {
        '<form method="get">',
        '<form method="dialog">',
    }


def test_without_scripts_stepping_works_by_url(browser: Client, cut: Turn):
    path = made(browser, cut, redacted="on")
    html = Client().get(f"{path}?step=2").content.decode()
    assert 'data-now="2"' in html
    assert '<a class="mono faint" href="#t2"' in html
    assert Client().get(f"{path}?step=<b>").status_code == 200


def test_a_link_shows_the_cost_of_the_turn_and_not_its_tags(browser: Client, cut: Turn):
    Turn.objects.filter(pk=cut.pk).update(tags=["zanzibar"])
    for form in ({}, {"redacted": "on"}):
        html = Client().get(made(browser, cut, **form)).content.decode()
        assert 'class="price' in html
        assert "zanzibar" not in html


def test_a_redacted_link_shows_no_prompt_and_no_answer(browser: Client, cut: Turn):
    html = Client().get(made(browser, cut, redacted="on")).content.decode()
    assert "Why do agents stop?" not in html
    assert "[19 characters redacted]" in html
    assert cut.output_text[:30] not in html
    assert "continuation 1 of 3, 60 tokens" in html


def test_the_token_is_shown_once_and_stored_as_a_digest(browser: Client, cut: Turn):
    path = made(browser, cut)
    token = path.removeprefix("/share/")
    link = ShareLink.objects.get()
    assert link.digest == digest_of(token)
    html = page(browser, f"/turns/{cut.id}/share")
    assert token not in html
    assert link.prefix in html
    assert f"valid until {link.expires_at:%-d %b %Y, %H:%M} UTC" in html, "as the link's own page says it"


def test_wrong_expired_and_revoked_links_get_the_same_response(browser: Client, cut: Turn):
    expired, revoked = made(browser, cut), made(browser, cut)
    first, second = ShareLink.objects.order_by("id")
    ShareLink.objects.filter(pk=first.pk).update(expires_at=timezone.now() - timedelta(seconds=1))
    assert browser.post(f"/turns/{cut.id}/share/{second.pk}/revoke").status_code == 302
    answers = [
        Client().get(path) for path in (expired, revoked, "/share/" + "a" * 43, "/share/", "/share", "/share/a/b")
    ]
    assert {answer.status_code for answer in answers} == {404}
    assert len({answer.content for answer in answers}) == 1
    assert {answer["Cache-Control"] for answer in answers} == {"no-store, private"}


def test_a_link_is_deleted_with_its_turn(browser: Client, cut: Turn):
    from tests.dashboard.ingest.turn_files.test_services import erase

    path = made(browser, cut)
    erase(cut)
    assert Client().get(path).status_code == 404
    assert not ShareLink.objects.exists()


@pytest.mark.parametrize("method", ["post", "put", "patch", "delete", "options"])
def test_only_read_requests_are_answered(browser: Client, cut: Turn, method: str):
    path = made(browser, cut)
    assert getattr(Client(enforce_csrf_checks=True), method)(path).status_code == 404


def test_repeated_wrong_links_cause_a_wait_and_a_correct_one_still_opens(browser: Client, cut: Turn):
    path = made(browser, cut)
    stranger = Client()
    assert [stranger.get(f"/share/{n}").status_code for n in range(10)] == [404] * 10
    for wrong in (f"{path}x", path[:-1], f"{path[:-1]}{'A' if path[-1] != 'A' else 'B'}"):
        waiting = stranger.get(wrong)
        assert waiting.status_code == 429
        assert 0 < int(waiting["Retry-After"]) <= 60
    assert [stranger.get(path).status_code for _ in range(3)] == [200] * 3
    assert ShareLink.objects.get().uses == 3
    assert stranger.get("/share/x").status_code == 429  # a right one gives no wrong one back


def test_the_creator_and_the_use_of_a_link_are_recorded(browser: Client, cut: Turn):
    path = made(browser, cut)
    for _ in range(3):
        Client().get(path)
    link = ShareLink.objects.get()
    assert (link.created_by.username, link.uses) == ("operator", 3)  # type: ignore[union-attr]
    assert link.last_used_at is not None
    browser.post(f"/turns/{cut.id}/share/{link.pk}/revoke")
    html = page(browser, f"/turns/{cut.id}/share")
    assert "revoked" in html
    assert "opened <b>3</b>\u00a0times" in html


def test_a_lifetime_that_is_not_offered_creates_no_link(browser: Client, cut: Turn):
    response = browser.post(f"/turns/{cut.id}/share", {"lifetime": "forever"})
    assert response.status_code == 422
    assert not ShareLink.objects.exists()


def test_a_link_of_another_turn_cannot_be_revoked_from_here(browser: Client, cut: Turn, play: Play):
    made(browser, cut)
    other = play("sim-odd")
    assert browser.post(f"/turns/{other.id}/share/{ShareLink.objects.get().pk}/revoke").status_code == 404


def test_the_admin_lists_links_and_revokes_them(browser: Client, cut: Turn):
    path = made(browser, cut)
    link = ShareLink.objects.get()
    assert link.prefix in browser.get("/admin/sharing/sharelink/").content.decode()
    browser.post("/admin/sharing/sharelink/", {"action": "revoke", "_selected_action": [link.pk]})
    assert Client().get(path).status_code == 404
    assert browser.get(f"/admin/sharing/sharelink/{link.pk}/change/").status_code == 200
