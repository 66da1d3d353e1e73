"""What fires is told once, in the inbox, by e-mail and by webhook, and told again when it is resolved."""

import json
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from dashboard.agents.models import Project
from dashboard.agents.selectors import project_default
from dashboard.board.alerts.evaluation import alerts_judge
from dashboard.board.alerts.mails import mails_send
from dashboard.board.alerts.models import Firing, Mail
from dashboard.board.alerts.selectors import preview_of
from dashboard.board.alerts.services import alert_change, alert_delete
from dashboard.exports.webhooks.models import Delivery
from dashboard.exports.webhooks.services import webhook_create
from dashboard.inbox.models import Notice
from dashboard.inbox.selectors import inbox_of
from tests.dashboard.board.alerts.conftest import AlertOf, now, turns
from tests.dashboard.board.alerts.mail_server import MailServer
from tests.dashboard.pages import compact

pytestmark = pytest.mark.django_db


def entries() -> list[tuple[str, str]]:
    return [(entry.heading, entry.about) for entry in inbox_of(project_default()).entries]


def test_an_alert_fires_once_and_is_resolved_once(alert_of: AlertOf):
    at, alert = now(), alert_of()
    turns(at, cut=2, whole=1)
    assert [alerts_judge(at + timedelta(seconds=n)) for n in (0, 10, 60, 120)] == [1, 0, 0, 0]
    assert entries() == [("Alert firing", "Cut off")]
    told = inbox_of(project_default()).entries[0].told
    assert told.startswith("Truncation rate is above 50 % in 5 minutes (all turns): 66.7 % at ")
    later = [at + timedelta(minutes=n) for n in range(3, 15)]
    assert sum(map(alerts_judge, later)) == 1
    assert entries() == [("Alert resolved", "Cut off")]
    assert inbox_of(project_default()).entries[0].told.startswith("Resolved after 9 min. Truncation rate")
    firing = Firing.objects.get(alert=alert)
    assert firing.ended_at is not None


def test_the_preview_shows_when_it_would_fire(alert_of: AlertOf):
    at, alert = now() - timedelta(days=3), alert_of()
    turns(at, cut=2)
    (past,) = preview_of(alert).firings
    until = at
    while not alerts_judge(until):
        until += timedelta(minutes=1)
    assert Firing.objects.get().started_at == past.started_at
    while not alerts_judge(until):
        until += timedelta(minutes=1)
    assert Firing.objects.get().ended_at == past.ended_at


def test_an_alert_covers_only_the_turns_of_its_filter(alert_of: AlertOf):
    at = now()
    alert_of(name="mine", agent="mine")
    alert_of(name="theirs", agent="theirs", model="m")
    turns(at, cut=1, agent_name="theirs")
    alerts_judge(at)
    assert entries() == [("Alert firing", "theirs")]


def test_a_firing_alert_with_a_changed_threshold_or_name_keeps_firing(alert_of: AlertOf):
    at, alert = now(), alert_of()
    turns(at, cut=2, whole=1)
    assert alerts_judge(at) == 1
    alert_change(alert, by=alert.created_by, name="Cut", number=10, metric="truncation_rate")
    assert alerts_judge(at + timedelta(seconds=10)) == 0
    assert len(entries()) == 1
    alert_change(alert, by=alert.created_by, number=90)
    assert sum(alerts_judge(at + timedelta(minutes=n)) for n in range(10)) == 1
    assert entries() == [("Alert resolved", "Cut")]


def test_a_disabled_alert_notifies_nobody_and_a_changed_rule_is_evaluated_anew(alert_of: AlertOf):
    at, alert = now(), alert_of(enabled=False)
    turns(at, cut=1)
    assert alerts_judge(at) == 0
    alert_change(alert, by=alert.created_by, enabled=True)
    assert alerts_judge(at) == 1
    alert_change(alert, by=alert.created_by, metric="turns", number=0)
    assert alert.firings.get().ended_at is not None
    assert entries() == []
    assert alerts_judge(at) == 1
    alert_change(alert, by=alert.created_by, enabled=False)
    assert entries() == []


def test_an_alert_that_cannot_be_evaluated_does_not_block_others(alert_of: AlertOf):
    at, broken = now(), alert_of(name="broken")
    alert_of(name="sound")
    type(broken).objects.filter(id=broken.id).update(metric="no such metric")
    turns(at, cut=1)
    assert alerts_judge(at) == 1
    assert entries() == [("Alert firing", "sound")]


def test_deleting_an_alert_removes_its_notice(alert_of: AlertOf):
    at, alert = now(), alert_of()
    turns(at, cut=1)
    alerts_judge(at)
    alert_delete(alert, by=alert.created_by)
    assert not Notice.objects.exists()


def test_the_inbox_links_to_the_alert_and_is_cleared_by_acknowledging_it(alert_of: AlertOf, browser: Client):
    at, alert = now(), alert_of()
    turns(at, cut=1)
    alerts_judge(at)
    page = browser.get("/inbox").content.decode()
    assert "Alert firing" in page
    assert f'href="/metrics-board/alerts/{alert.id}"' in page
    answer = browser.post(f"/inbox/{Notice.objects.get().id}/seen", {"open": "1"})
    assert answer.headers["Location"] == f"/metrics-board/alerts/{alert.id}"
    assert entries() == []
    assert "Seen by operator" in browser.get("/inbox").content.decode()


def test_webhooks_subscribed_to_alerts_are_notified(alert_of: AlertOf):
    at, alert = now(), alert_of()
    for name, events in (("all", ["alert.fired", "alert.resolved"]), ("turns", ["turn.ended"])):
        webhook_create(
            project=project_default(), by=alert.created_by, name=name, url="https://hooks.example/", events=events
        )
    turns(at, cut=1)
    for minute in range(12):
        alerts_judge(at + timedelta(minutes=minute))
    fired, resolved = Delivery.objects.order_by("id")
    assert {fired.webhook.name, resolved.webhook.name} == {"all"}
    assert (fired.kind, resolved.kind) == ("alert.fired", "alert.resolved")
    told = json.loads(fired.body)["data"]
    assert (told["alert"]["name"], told["alert"]["value"], told["alert"]["resolved_at"]) == ("Cut off", 1.0, None)
    assert told["path"] == f"/metrics-board/alerts/{alert.id}"


def test_e_mail_is_sent_by_the_configured_server(alert_of: AlertOf, smtp: MailServer):
    at = now()
    alert = alert_of(emails=["ada@example.com"])
    turns(at, cut=1)
    alerts_judge(at)
    assert mails_send() == 1
    (message,) = smtp.messages
    assert "Subject: [Whystop] Cut off: firing" in message
    assert "To: ada@example.com" in message
    assert f"https://whystop.example/metrics-board/alerts/{alert.id}" in message.replace("=\n", "")
    assert mails_send() == 0


@pytest.mark.parametrize(
    ("address", "told"),
    [
        ("", "In Whystop: /metrics-board/alerts/{id}\nTo get a link here, set WHYSTOP_ADDRESS"),
        ("http://127.0.0.1:8321", "On the machine that runs Whystop: http://127.0.0.1:8321/metrics-board/alerts/{id}"),
        ("http://localhost:1", "On the machine that runs Whystop: http://localhost:1/metrics-board/alerts/{id}"),
        ("http://[::1]:1", "On the machine that runs Whystop: http://[::1]:1/metrics-board/alerts/{id}"),
        ("http://192.0.2.1:8321", "\n\nhttp://192.0.2.1:8321/metrics-board/alerts/{id}\n"),
    ],
)
def test_an_e_mail_names_the_target_of_its_link(alert_of: AlertOf, smtp: MailServer, settings, address: str, told: str):
    settings.ADDRESS = address
    at = now()
    alert = alert_of(emails=["ada@example.com"])
    turns(at, cut=1)
    alerts_judge(at)
    assert told.format(id=alert.id) in Mail.objects.get().body


@pytest.mark.parametrize("between", ["\n", "\r\n", "\r", "\x0b", "\u2028"])
def test_a_name_of_several_lines_is_one_line_in_an_e_mail(alert_of: AlertOf, smtp: MailServer, between: str):
    at = now()
    alert_of(name=f"Cut{between}Bcc: eve@example.com", emails=["ada@example.com"])
    turns(at, cut=1)
    alerts_judge(at)
    assert mails_send() == 1
    (message,) = smtp.messages
    assert "Subject: [Whystop] Cut Bcc: eve@example.com: firing" in message


def test_a_name_cannot_control_a_terminal_or_the_text_of_an_e_mail(alert_of: AlertOf, smtp: MailServer):
    at = now()
    alert_of(name="Cut\x1b[2J\u202eoff", model="m\u202em", emails=["ada@example.com"])
    turns(at, cut=1, model="m\u202em")
    alerts_judge(at)
    mail = Mail.objects.get()
    assert mail.subject == r"[Whystop] Cut\x1b[2J\u202eoff: firing"
    assert r"(model m\u202em)" in mail.body
    assert mails_send() == 1


def test_a_refused_e_mail_is_retried_and_shown_on_the_page(alert_of: AlertOf, smtp: MailServer, browser: Client):
    at = now()
    alert = alert_of(emails=["ada@example.com"])
    turns(at, cut=1)
    alerts_judge(at)
    smtp.refusing = True
    assert mails_send() == 0
    assert "451" in Mail.objects.get().fault
    page = compact(browser.get(f"/metrics-board/alerts/{alert.id}").content.decode())
    assert "E-mail to ada@example.com was not sent" in page
    smtp.refusing = False
    Mail.objects.update(next_at=timezone.now())
    assert mails_send() == 1
    assert Mail.objects.get().fault == ""


def test_alerts_are_deleted_with_their_project(alert_of: AlertOf):
    alert_of()
    other = Project.objects.create(name="other")
    assert not other.alert_set.exists()
