"""Alerts by page: previewed before they are saved, changed, disabled, deleted, and what is wrong said in words."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.test import Client

from dashboard.accounts.audit.models import Entry
from dashboard.accounts.models import User
from dashboard.board.alerts.models import Alert
from tests.dashboard.board.alerts.conftest import AlertOf, now, turns
from tests.dashboard.pages import compact, page

pytestmark = pytest.mark.django_db

NEW = "/metrics-board/alerts/new"
RULE: dict[str, Any] = {
    "name": "Cut off", "metric": "truncation_rate", "condition": "above", "number": "20", "window_minutes": "15",
    "least_turns": "1", "agent": "", "provider": "", "model": "", "emails": "",
}  # fmt: skip


def test_a_rule_is_previewed_on_past_data_and_nothing_is_saved(browser: Client):
    for days in (2, 9, 40):
        turns(now() - timedelta(days=days), cut=1, whole=1)
    shown = compact(browser.post(NEW, RULE).content.decode())
    assert "Would have fired 2 times" in shown
    assert "50 %" in shown
    assert 'href="/?since=' in shown
    assert "Save alert" in shown
    part = browser.post("/metrics-board/alerts/preview", {**RULE, "number": "60", "name": ""}).content.decode()
    assert "Would not have fired" in part
    assert not Alert.objects.exists()


@pytest.mark.parametrize(
    ("metric", "condition", "label"),
    [
        ("truncation_rate", "above", "Threshold (percent)"),
        ("dollars", "above", "Threshold (US dollars)"),
        ("dollars", "rises", "Threshold (percent)"),
        ("tokens", "above", "Threshold"),
        ("nonsense", "above", "Threshold"),
    ],
)
def test_the_threshold_shows_the_unit_of_the_rule(browser: Client, metric: str, condition: str, label: str):
    rule = {**RULE, "metric": metric, "condition": condition}
    for address in (NEW, "/metrics-board/alerts/preview"):
        shown = browser.post(address, rule).content.decode()
        assert re.search(rf'<label for="alert-number"[^>]*>{re.escape(label)}</label>', shown)


def test_creating_changing_and_deleting_an_alert_is_in_the_audit_log(browser: Client):
    answer = browser.post(NEW, {**RULE, "save": "1"})
    alert = Alert.objects.get()
    address = f"/metrics-board/alerts/{alert.id}"
    assert answer.headers["Location"] == address
    assert "Truncation rate is above 20 % in 15 minutes" in page(browser, address)
    browser.post(address, {**RULE, "number": "35", "save": "1"})
    assert Alert.objects.get().number == 35
    browser.post(f"{address}/disable")
    assert not Alert.objects.get().enabled
    assert "disabled" in page(browser, "/metrics-board/alerts")
    browser.post(f"{address}/enable")
    browser.post(f"{address}/delete")
    assert not Alert.objects.exists()
    assert [one.action.removeprefix("metrics-board/alerts/") for one in Entry.objects.order_by("id")] == [
        "new", "<uuid:alert_id>", "<uuid:alert_id>/disable", "<uuid:alert_id>/enable", "<uuid:alert_id>/delete",
    ]  # fmt: skip
    assert "created (" in page(browser, "/audit/")


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"name": ""}, "Name is required."),
        ({"number": "-1"}, "Threshold (percent) must be a number from 0 to 1,000,000,000,000,000."),
        ({"emails": "ada"}, "“ada” is not an e-mail address."),
        ({"emails": "ada@example.com"}, "E-mail is not configured"),
        ({"metric": "luck"}, "Metric must be one of the choices offered, not “luck”."),
    ],
)
def test_a_fault_is_reported_at_its_field(browser: Client, wrong: dict[str, str], words: str):
    answer = browser.post(NEW, {**RULE, **wrong, "save": "1"})
    assert answer.status_code == 422
    assert words in answer.content.decode()
    assert not Alert.objects.exists()


def test_a_preview_says_each_fault_once_at_its_field(browser: Client):
    wrong = {**RULE, "number": "-1", "least_turns": "x"}
    told = "Minimum turns must be a whole number from 0 to 1,000,000."
    page = browser.post(NEW, wrong).content.decode()
    assert page.count(told) == 1
    assert "No preview yet. Correct Threshold (percent), Minimum turns." in compact(page)
    part = browser.post("/metrics-board/alerts/preview", wrong).content.decode()
    assert part.count(told) == 1
    assert part.index('id="alert-least_turns_error"') < part.index(told)


def test_a_preview_takes_back_the_errors_of_fields_that_were_corrected(browser: Client):
    part = browser.post("/metrics-board/alerts/preview", {**RULE, "name": ""}).content.decode()
    assert '<div class="errors" id="alert-number_error" role="alert" hx-swap-oob="true"></div>' in part
    assert "alert-name_error" not in part, "a preview does not ask for a name"


def test_names_are_unique(browser: Client, alert_of: AlertOf):
    alert_of()
    answer = browser.post(NEW, {**RULE, "save": "1"})
    assert answer.status_code == 422
    assert "There is an alert of this name already." in answer.content.decode()


def test_the_form_is_prefilled_from_the_metrics_page(browser: Client):
    shown = page(browser, f"{NEW}?metric=dollars&agent=triage")
    assert '<option value="dollars" selected>' in shown
    assert '<option value="triage" selected>' in shown


def test_a_watcher_sees_alerts_and_creates_none(alert_of: AlertOf):
    alert = alert_of()
    watcher = User.objects.create(username="watcher")
    watcher.groups.add(Group.objects.get_or_create(name="watcher")[0])
    client = Client()
    client.force_login(watcher)
    shown = page(client, f"/metrics-board/alerts/{alert.id}")
    assert "Save alert" not in shown
    assert "Delete…" not in shown
    assert client.post(NEW, {**RULE, "save": "1"}).status_code == 403


def test_a_missing_alert_is_404(browser: Client):
    assert browser.get("/metrics-board/alerts/0192f7c1-0000-7000-8000-000000000000").status_code == 404
