"""Webhooks by page."""

import re

import pytest
from django.test import Client

from dashboard.accounts.models import User
from dashboard.accounts.services import api_token_create
from dashboard.exports.webhooks.models import Delivery, Webhook
from dashboard.exports.webhooks.services import webhook_test
from tests.dashboard.exports.webhooks.conftest import WebhookOf, send
from tests.dashboard.recording_server import Receiver

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def admins_browser() -> Client:
    client = Client()
    client.force_login(User.objects.create_superuser("root"))
    return client


def test_a_webhook_is_created_changed_and_deleted(admins_browser: Client, receiver: Receiver):
    given = {"name": "on-call", "url": receiver.address, "events": ["turn.ended"], "statuses": ["partial"]}
    html = admins_browser.post("/webhooks/", given).content.decode()
    (secret,) = set(re.findall(r"whsec_[\w+/=]{40,}", html))
    assert secret not in admins_browser.get("/webhooks/").content.decode()
    webhook = Webhook.objects.get()
    assert (webhook.events, webhook.statuses, webhook.enabled) == (["turn.ended"], ["partial"], True)
    page = f"/webhooks/{webhook.id}"
    admins_browser.post(page, {**given, "events": ["approval.wanted"]})
    webhook.refresh_from_db()
    assert webhook.events == ["approval.wanted"]
    assert "whsec_" in admins_browser.post(f"{page}/secret").content.decode()
    admins_browser.post(f"{page}/disable")
    assert "enable it first" in admins_browser.post(f"{page}/test", follow=True).content.decode()
    admins_browser.post(f"{page}/enable")
    admins_browser.post(f"{page}/delete")
    assert not Webhook.objects.exists()


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"url": "ftp://a"}, "begin with http"),
        ({"url": "http://me:pw@a/"}, "must not contain a user name"),
        ({"events": []}, "Choose at least one event."),
        ({"name": "taken"}, "already exists"),
    ],
)
def test_faults_of_a_webhook_are_reported(admins_browser: Client, webhook_of: WebhookOf, wrong: dict, words: str):
    webhook_of(name="taken")
    answer = admins_browser.post("/webhooks/", {"name": "a", "url": "http://a", "events": ["turn.ended"], **wrong})
    assert answer.status_code == 422
    assert words in answer.content.decode()
    assert Webhook.objects.count() == 1


def test_a_delivery_shows_its_request_and_response_and_can_be_sent_again(
    admins_browser: Client, webhook_of: WebhookOf, receiver: Receiver
):
    webhook, _ = webhook_of()
    admins_browser.post(f"/webhooks/{webhook.id}/test")
    send()
    delivery = Delivery.objects.get()
    html = admins_browser.get(f"/webhooks/deliveries/{delivery.id}").content.decode()
    assert "webhook-signature: v1," in html
    assert "seen" in html
    assert "This is a test from Whystop." in html
    assert "test" in admins_browser.get(f"/webhooks/{webhook.id}?state=delivered").content.decode()
    admins_browser.post(f"/webhooks/deliveries/{delivery.id}/again")
    send()
    assert len(receiver.requests) == 2


def test_a_failed_delivery_is_distinguished_from_one_not_sent_yet(admins_browser: Client, webhook_of: WebhookOf):
    webhook, _ = webhook_of()
    delivery = webhook_test(webhook)
    assert "failed, will retry" not in admins_browser.get(f"/webhooks/{webhook.id}").content.decode()
    Delivery.objects.update(tried=2)
    for page in (webhook.id, f"deliveries/{delivery.id}"):
        assert "failed, will retry" in admins_browser.get(f"/webhooks/{page}").content.decode()


def test_deliveries_have_pages(admins_browser: Client, webhook_of: WebhookOf):
    webhook, _ = webhook_of()
    made = [webhook_test(webhook) for _ in range(51)]
    first = admins_browser.get(f"/webhooks/{webhook.id}").content.decode()
    (older,) = re.findall(r"before=([\w-]+)", first)
    html = admins_browser.get(f"/webhooks/{webhook.id}?before={older}").content.decode()
    assert str(made[0].id) in html
    assert str(made[1].id) not in html


def test_a_user_without_permission_sees_no_url_and_changes_nothing(webhook_of: WebhookOf):
    webhook, _ = webhook_of()
    browser = Client()
    browser.force_login(User.objects.create_user("watcher"))
    html = browser.get(f"/webhooks/{webhook.id}").content.decode()
    assert "127.0.0.1" in html
    assert "key=k" not in html
    assert "Send a test" not in html
    assert browser.post(f"/webhooks/{webhook.id}/delete").status_code == 403
    assert browser.post("/webhooks/", {}).status_code == 403


def test_a_token_cannot_create_a_webhook_that_would_outlive_it(receiver: Receiver):
    _, secret = api_token_create(user=User.objects.create_superuser("root"), name="t")
    program = Client(headers={"Authorization": f"Bearer {secret}"})
    answer = program.post("/webhooks/", {"name": "a", "url": receiver.address, "events": ["turn.ended"]})
    assert answer.status_code == 403
    assert not Webhook.objects.exists()
